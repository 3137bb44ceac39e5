"""Do the paper's linear findings hold? The full-size tables of docs/findings.md.

    python benchmarks/findings.py [--reference DIR] [--out FILE.md] [--problems mixing,...]
                                  [--seeds 40]

Policies have the settings of the theory. They run on the authors' instances (if DIR is given) and
on three generated ones (problem seeds 0, 1 and 2). Each line of the table has a claim, the
observation, and whether the claim holds.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import banditsrl
from banditsrl.simulation.measured_times import measured_times

FLAT, SETTLED = 0.95, 0.85  # shares of seeds that a claim requires: 38 and 34 of 40
SHORT, LONG = 10_000, 50_000


class Finding(NamedTuple):
    """One line of the table."""

    claim: str
    seen: str
    holds: bool


class Setting(NamedTuple):
    """A problem and the number of seeds that run on it."""

    problem: Any
    n_seeds: int

    def run(self, name: str, horizon: int, **settings: Any) -> banditsrl.Result:
        """Run one policy, recorded at half of the horizon and at its end."""
        policy = banditsrl.make_policy(name, self.problem, **settings)
        return banditsrl.simulate(
            self.problem, policy, horizon=horizon, seeds=self.n_seeds, steps=[horizon // 2, horizon]
        )


def second_half_regret(result: banditsrl.Result) -> NDArray[np.float64]:
    """Return the regret of each seed in the second half of the steps, (S,)."""
    return np.asarray(result.regret[:, -1] - result.regret[:, 0])


def measure_growth(result: banditsrl.Result) -> tuple[str, bool]:
    """Return the mean regret of the second half, and whether it exceeds two standard errors."""
    added = second_half_regret(result)
    error = added.std(ddof=1) / np.sqrt(len(added))
    seen = f"{added.mean():.2f} ± {error:.2f}" if added.any() else "0"
    return seen, bool(added.mean() > 2 * error)


def realizable(on: Setting) -> Iterator[Finding]:
    """Check that exploration ends if a candidate is HLS."""
    linucb = on.run("banditsrl-linucb", SHORT, offset="paper")
    flat = int((second_half_regret(linucb) == 0).sum())
    times = measured_times(linucb, hls=0)
    yield Finding(
        "BanditSRL-LinUCB (eig) adds no regret in the last half of 10,000 steps (≥ 95% of seeds)",
        f"{flat} of {on.n_seeds}; regret {linucb.mean[-1]:.1f} ± {linucb.stderr[-1]:.1f}; HLS "
        f"chosen for good from step {np.median(times.first_hls):,.0f} (median), last regret at "
        f"step {np.median(times.last_regret):,.0f} (median)",
        flat >= FLAT * on.n_seeds,
    )
    selecting, alone = on.run("banditsrl-egreedy", LONG, offset="paper"), on.run("egreedy", LONG)
    flat, still = (
        int((second_half_regret(selecting) == 0).sum()),
        int((second_half_regret(alone) == 0).sum()),
    )
    yield Finding(
        "BanditSRL-ε-greedy has flat regret before 50,000 steps, ε-greedy alone does not",
        f"{flat} of {on.n_seeds} seeds flat in the last half, against {still}; regret "
        f"{selecting.mean[-1]:,.0f} against {alone.mean[-1]:,.0f}",
        flat >= FLAT * on.n_seeds and still == 0,
    )
    wrong = int((linucb.wrong[:, -1] > 0).sum() + (selecting.wrong[:, -1] > 0).sum())
    yield Finding(
        "no certificate is wrong", f"{wrong} of {2 * on.n_seeds} seeds have a wrong one", wrong == 0
    )


def no_hls(on: Setting) -> Iterator[Finding]:
    """Check that regret keeps growing if no candidate is HLS."""
    for name in ("banditsrl-linucb", "banditsrl-egreedy"):
        seen, holds = measure_growth(on.run(name, SHORT, offset="paper"))
        yield Finding(
            f"the regret of {name} keeps growing (by more than two standard errors in the last "
            "half of 10,000 steps)",
            seen,
            holds,
        )


def weak_hls(on: Setting) -> Iterator[Finding]:
    """Check that the weak losses find the weakly HLS candidate on redundant features."""
    for loss in ("weak", "weak-normalised", "span", "eig"):
        result = on.run("banditsrl-linucb", SHORT, loss=loss, offset="paper")
        hits = int((result.final_representation == 0).sum())
        seen = f"{hits} of {on.n_seeds}; regret {result.mean[-1]:.1f} ± {result.stderr[-1]:.1f}"
        if loss == "eig":
            chance = on.n_seeds / 6 + 2 * np.sqrt(on.n_seeds * 5 / 36)
            yield Finding(
                "the loss eig selects the weakly HLS candidate no more often than chance (1 in 6)",
                seen,
                hits <= chance,
            )
        else:
            enough = hits >= SETTLED * on.n_seeds
            yield Finding(
                f"the loss {loss} selects the weakly HLS candidate in the end (≥ 85% of seeds)",
                seen,
                enough,
            )


def misspecified(on: Setting) -> Iterator[Finding]:
    """Check that misspecified candidates are eliminated and realizable ones are not."""
    result = on.run("banditsrl-linucb", SHORT, offset="tight")
    claims = np.array([claim.realizable for claim in on.problem.claims])
    active = result.reports["active"]
    left = int(active[:, -1][:, ~claims].sum())
    lost = int((~active[:, :, claims]).sum())
    times = measured_times(result)
    yield Finding(
        "every misspecified candidate is eliminated within 10,000 steps (tight offset)",
        f"{left} of {on.n_seeds * int((~claims).sum())} remain; last elimination at step "
        f"{times.last_elimination.max():,.0f}",
        left == 0,
    )
    yield Finding("no realizable candidate is ever eliminated", f"{lost} times", lost == 0)


def mixing(on: Setting) -> Iterator[Finding]:
    """Check that LEADER mixes representations and BanditSRL does not."""
    leader, selecting = (
        on.run(name, LONG, offset="paper") for name in ("leader", "banditsrl-linucb")
    )
    seen, goes = measure_growth(leader)
    flat = int((second_half_regret(leader) == 0).sum())
    yield Finding(
        "the regret of LEADER is flat in the last half of 50,000 steps",
        f"{seen}; {flat} of {on.n_seeds} seeds add no regret",
        not goes,
    )
    seen, goes = measure_growth(selecting)
    yield Finding("the regret of BanditSRL-LinUCB is not flat there", seen, goes)


CHECKS = {
    "vardim-realizable": realizable,
    "vardim-misspecified": misspecified,
    "vardim-no-hls": no_hls,
    "vardim-weak-hls": weak_hls,
    "mixing": mixing,
}

FILES = {"vardim-misspecified": "vardim-misspecified-nohls"}


def instances(name: str, reference: Path | None) -> Iterator[tuple[str, Any]]:
    """Yield the authors' instance, if there is one, and three generated ones."""
    if reference is not None:
        yield "authors'", banditsrl.read_problem(reference / f"{FILES.get(name, name)}.json")
    for seed in range(3):
        yield f"seed {seed}", banditsrl.make_problem(name, seed=seed)


def write_table(found: list[tuple[str, Finding]]) -> list[str]:
    """Return the lines of a Markdown table; a claim stands beside its first instance only."""
    lines = ["| claim | instance | observation | holds |", "|---|---|---|---|"]
    for claim in dict.fromkeys(finding.claim for _, finding in found):
        shown = claim
        for instance, (_, seen, holds) in [(i, f) for i, f in found if f.claim == claim]:
            lines.append(f"| {shown} | {instance} | {seen} | {'yes' if holds else '**no**'} |")
            shown = ""
    return lines


def main() -> None:
    """Run every check and print a Markdown table for each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, help="Folder of the authors' instances.")
    parser.add_argument("--out", type=Path, help="File to write the tables to.")
    parser.add_argument(
        "--problems", default=",".join(CHECKS), help="Problems, separated by commas."
    )
    parser.add_argument("--seeds", type=int, default=40, help="Number of seeds.")
    arguments = parser.parse_args()
    lines: list[str] = []
    for name in arguments.problems.split(","):
        found = [
            (instance, finding)
            for instance, problem in instances(name, arguments.reference)
            for finding in CHECKS[name](Setting(problem, arguments.seeds))
        ]
        section = [f"### {name}", "", *write_table(found), ""]
        print("\n".join(section), flush=True)
        lines += section
    if arguments.out is not None:
        arguments.out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
