"""How often does a gate let through a candidate that is not good enough? Simulated attempts.

    python benchmarks/gate.py [--attempts 1000] [--rounds 20000] [--level 0.05] [--quick]

In every attempt a current policy decides and keeps a share of the rounds for every action, as a
loop with audits does, and a candidate is watched after every round: an attempt counts as soon as
the gate is open once. The candidate disagrees with the current policy in some of the contexts. It
is worse, equal, or as good as the margin allows and not better; the last rows have candidates that
should pass, and say how many rounds that takes.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.evaluation.promotion_gate import PromotionGate

Floats = NDArray[np.float64]

LARGEST_SHARE = 0.2
"""Share of its rounds that the candidate keeps for every action, at most."""

OUT = Path("benchmarks/results/gate.json")
QUICK_OUT = Path("build/gate.json")


class Setting(NamedTuple):
    """A kind of attempt.

    The candidate differs from the current policy in half of the contexts, and its true difference
    in value is `gain`.
    """

    name: str
    gain: float
    gate: str
    share: float  # of the rounds that is kept for every action
    n_actions: int
    may_pass: bool


SETTINGS = (
    Setting("worse by 0.02", -0.02, "better:0", 0.05, 4, False),
    Setting("worse by 0.02, rare audits", -0.02, "better:0", 0.01, 4, False),
    Setting("equal", 0.0, "better:0", 0.05, 4, False),
    Setting("equal, even log", 0.0, "better:0", 1.0, 4, False),
    Setting("equal, rare audits", 0.0, "better:0", 0.01, 10, False),
    Setting("better by the margin only", 0.02, "better:0.02", 0.2, 4, False),
    Setting("worse by the margin", -0.05, "not-worse:0.05", 0.2, 4, False),
    Setting("better by 0.05", 0.05, "better:0.01", 0.2, 4, True),
    Setting("better by 0.05, even log", 0.05, "better:0.01", 1.0, 4, True),
    Setting("equal, not worse", 0.0, "not-worse:0.05", 0.2, 4, True),
)


def play(setting: Setting, rounds: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the candidate's weights and the rewards of one attempt, (n,) each.

    Action 0 is what the current policy plays, and action 1 what the candidate plays where they
    differ. Means drift slowly, since a gate must not rely on a constant difference.
    """
    kept, own = setting.share, min(setting.share, LARGEST_SHARE)
    n_actions, differ = setting.n_actions, rng.random(rounds) < 0.5
    audited = rng.random(rounds) < kept
    actions = np.where(audited, rng.integers(n_actions, size=rounds), 0)
    base = 0.5 + 0.15 * np.sin(np.arange(rounds) / 500.0)
    more_often = 0.5 * (1.0 - own) + own / n_actions - kept / n_actions  # action 1 is played
    means = base + (actions == 1) * setting.gain / more_often
    rewards = (rng.random(rounds) < means).astype(float)
    law = (actions == 0) * (1.0 - kept) + kept / n_actions
    mine = (actions == np.where(differ, 1, 0)) * (1.0 - own) + own / n_actions
    return mine / law, rewards


def run(setting: Setting, attempts: int, rounds: int, level: float) -> dict[str, object]:
    """Return how many attempts were ever let through, and after how many rounds."""
    firsts = []
    for attempt in range(attempts):
        rng = np.random.default_rng([attempt, SETTINGS.index(setting)])
        weights, rewards = play(setting, rounds, rng)
        gate = PromotionGate(setting.gate, reward_range=(0.0, 1.0), level=level)
        first = gate.add(weights, np.ones(rounds), rewards).first_round
        if first is not None:
            firsts.append(first)
    return {
        "setting": setting.name,
        "gate": setting.gate,
        "share": setting.share,
        "attempts": attempts,
        "promoted": len(firsts),
        "promoted_share": len(firsts) / attempts,
        "median_round": float(np.median(firsts)) if firsts else None,
        "may_pass": setting.may_pass,
    }


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--attempts", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--level", type=float, default=0.05)
    parser.add_argument("--quick", action="store_true", help="20 attempts of 500 rounds.")
    options = parser.parse_args()
    if options.quick:
        options.attempts, options.rounds = 20, 500
    return options


def main() -> None:
    """Run all settings, print a table, and fail if a gate let too many through."""
    options = read_options()
    rows = [run(s, options.attempts, options.rounds, options.level) for s in SETTINGS]
    print("| candidate | gate | share kept | promoted | median round |")
    print("|---|---|---|---|---|")
    for row in rows:
        middle = "none" if row["median_round"] is None else f"{row['median_round']:,.0f}"
        print(
            f"| {row['setting']} | {row['gate']} | {row['share']:g} | "
            f"{row['promoted']} of {row['attempts']} | {middle} |"
        )
    out = QUICK_OUT if options.quick else OUT
    out.parent.mkdir(parents=True, exist_ok=True)
    document = {"level": options.level, "rounds": options.rounds, "rows": rows}
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    allowed = options.level * options.attempts
    spare = 3.0 * np.sqrt(allowed * (1.0 - options.level))  # three standard deviations
    wrong = [r for r in rows if not r["may_pass"] and int(str(r["promoted"])) > allowed + spare]
    if wrong:
        raise SystemExit(f"The gate lets too many through: {[row['setting'] for row in wrong]}.")


if __name__ == "__main__":
    main()
