"""Do the paper's linear findings hold? The full-size table of docs/findings.md.

    python benchmarks/findings.py [--reference DIR] [--out FILE.md] [--problems mixing,...]

40 seeds, theoretical settings, on the authors' instances (if DIR is given) and on three generated
ones (problem seeds 0, 1, 2). Each line is a claim, what was seen, and whether it holds.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import banditsrl
from banditsrl.experiments.times import measured_times

N_SEEDS = 40
SHORT, LONG = 10_000, 50_000


class Finding(NamedTuple):
    """One line of the table."""

    claim: str
    seen: str
    holds: bool


def run(problem: Any, name: str, horizon: int, **settings: Any) -> banditsrl.Result:
    """One policy, recorded at half and at the end."""
    policy = banditsrl.make_policy(name, problem, **settings)
    steps = [horizon // 2, horizon]
    return banditsrl.simulate(problem, policy, horizon=horizon, seeds=N_SEEDS, steps=steps)


def half(result: banditsrl.Result) -> NDArray[np.float64]:
    """Regret per seed of the second half."""
    return np.asarray(result.regret[:, -1] - result.regret[:, 0])


def goes_on(result: banditsrl.Result) -> tuple[str, bool]:
    """Whether the mean increment of the second half exceeds two standard errors."""
    added = half(result)
    error = added.std(ddof=1) / np.sqrt(N_SEEDS)
    return f"{added.mean():.2f} ± {error:.2f}", bool(added.mean() > 2 * error)


def realizable(problem: Any) -> Iterator[Finding]:
    """With an HLS candidate, exploration ends."""
    linucb = run(problem, "banditsrl-linucb", SHORT)
    flat = int((half(linucb) == 0).sum())
    times = measured_times(linucb, hls=0)
    yield Finding(
        "BanditSRL-LinUCB (eig) adds no regret in the last half of 10,000 steps (≥ 38 of 40)",
        f"{flat} of 40; regret {linucb.mean[-1]:.1f} ± {linucb.stderr[-1]:.1f}; HLS chosen for "
        f"good from step {np.median(times.first_hls):.0f} (median), last regret at step "
        f"{np.median(times.last_regret):.0f} (median)",
        flat >= 38,
    )
    selecting, alone = (run(problem, name, LONG) for name in ("banditsrl-egreedy", "egreedy"))
    flat, still = int((half(selecting) == 0).sum()), int((half(alone) == 0).sum())
    yield Finding(
        "BanditSRL-ε-greedy is flat before 50,000 steps, ε-greedy alone is not",
        f"{flat} of 40 seeds flat in the last half, against {still}; regret "
        f"{selecting.mean[-1]:.0f} against {alone.mean[-1]:.0f}",
        flat >= 38 and still == 0,
    )
    wrong = int((linucb.wrong[:, -1] > 0).sum() + (selecting.wrong[:, -1] > 0).sum())
    yield Finding("no certificate is wrong", f"{wrong} of 80 seeds with one", wrong == 0)


def no_hls(problem: Any) -> Iterator[Finding]:
    """Without an HLS candidate, regret goes on."""
    for name in ("banditsrl-linucb", "banditsrl-egreedy"):
        seen, holds = goes_on(run(problem, name, SHORT))
        yield Finding(
            f"{name} goes on (last half of 10,000 above two standard errors)", seen, holds
        )


def weak_hls(problem: Any) -> Iterator[Finding]:
    """On redundant features the weak losses should find the weakly HLS candidate."""
    for loss in ("weak", "weak-normalised", "span", "eig"):
        result = run(problem, "banditsrl-linucb", SHORT, loss=loss)
        hits = int((result.final_representation == 0).sum())
        seen = f"{hits} of 40; regret {result.mean[-1]:.1f} ± {result.stderr[-1]:.1f}"
        if loss == "eig":
            chance = 40 / 6 + 2 * np.sqrt(40 * 5 / 36)
            yield Finding("loss eig does no better than chance (7 of 40)", seen, hits <= chance)
        else:
            yield Finding(f"loss {loss} settles on the weakly HLS one (≥ 34)", seen, hits >= 34)


def misspecified(problem: Any) -> Iterator[Finding]:
    """Misspecified candidates leave, realizable ones stay."""
    result = run(problem, "banditsrl-linucb", SHORT, offset="tight")
    claims = np.array([c.realizable for c in problem.representations])
    active = result.reports["active"]
    left = int(active[:, -1][:, ~claims].sum())
    lost = int((~active[:, :, claims]).sum())
    times = measured_times(result)
    yield Finding(
        "every misspecified candidate is out by 10,000 steps (tight offset)",
        f"{left} of {40 * int((~claims).sum())} still in; last elimination at step "
        f"{times.last_elimination.max():.0f}",
        left == 0,
    )
    yield Finding("no realizable candidate is ever out", f"{lost} times", lost == 0)


def mixing(problem: Any) -> Iterator[Finding]:
    """LEADER mixes representations."""
    leader, selecting = (run(problem, name, LONG) for name in ("leader", "banditsrl-linucb"))
    seen, goes = goes_on(leader)
    flat = int((half(leader) == 0).sum())
    yield Finding(
        "LEADER goes flat (last half of 50,000)", f"{seen}; {flat} of 40 seeds add none", not goes
    )
    seen, goes = goes_on(selecting)
    yield Finding("BanditSRL-LinUCB does not", seen, goes)


CHECKS = {
    "vardim-realizable": realizable,
    "vardim-misspecified": misspecified,
    "vardim-no-hls": no_hls,
    "vardim-weak-hls": weak_hls,
    "mixing": mixing,
}

FILES = {"vardim-misspecified": "vardim-misspecified-nohls"}


def instances(name: str, reference: Path | None) -> Iterator[tuple[str, Any]]:
    """The authors' instance, if there, and three generated ones."""
    if reference is not None:
        yield "authors'", banditsrl.read_problem(reference / f"{FILES.get(name, name)}.json")
    for seed in range(3):
        yield f"seed {seed}", banditsrl.make_problem(name, seed=seed)


def main() -> None:
    """Run every check and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--problems", default=",".join(CHECKS))
    arguments = parser.parse_args()
    lines = ["| problem | instance | claim | seen | holds |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for name in arguments.problems.split(","):
        for instance, problem in instances(name, arguments.reference):
            for finding in CHECKS[name](problem):
                verdict = "yes" if finding.holds else "**no**"
                lines.append(
                    f"| {name} | {instance} | {finding.claim} | {finding.seen} | {verdict} |"
                )
                print(lines[-1], flush=True)
    if arguments.out is not None:
        arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
