"""Do our numbers agree with the authors'? Regret on their instances, ours against theirs.

    python benchmarks/parity.py --reference DIR [--seeds 40] [--first-seed 0]

DIR holds the instances (vardim-*.json) and `regret-linear.json`, the regret of the authors' code.
Each row is run with `conventions=authors`; z is Welch's statistic of the difference of means at
each recorded step. Exits with status 1 if any |z| is 3 or more.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

import banditsrl
from banditsrl.policies.catalogue import make_policy

LIMIT = 3.0


def run(row: dict[str, Any], folder: Path, seeds: range) -> banditsrl.Result:
    """Our run of one reference row."""
    problem = banditsrl.read_problem(folder / f"{row['problem']}.json")
    settings = {"conventions": "authors"}
    if row["loss"] is not None:
        settings["loss"] = row["loss"]
    policy = make_policy(row["policy"], problem, **settings)
    return banditsrl.simulate(
        problem, policy, horizon=row["steps"][-1], seeds=seeds, steps=row["steps"]
    )


def welch(row: dict[str, Any], ours: banditsrl.Result) -> list[float]:
    """Z of the difference of means at every recorded step."""
    differences = ours.mean - np.asarray(row["mean"])
    errors = [math.hypot(a, b) for a, b in zip(ours.stderr, row["stderr"], strict=True)]
    return [float(d / e) for d, e in zip(differences, errors, strict=True)]


def main() -> int:
    """Print ours, theirs and z for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = json.loads((arguments.reference / "regret-linear.json").read_text())["rows"]
    first = arguments.first_seed
    seeds = range(first, first + arguments.seeds)
    worst = 0.0
    print(
        f"{'problem':18} {'policy':18} {'loss':5} {'step':>6} {'ours':>14} {'theirs':>14} {'z':>6}"
    )
    for row in rows:
        ours = run(row, arguments.reference, seeds)
        scores = welch(row, ours)
        worst = max(worst, *map(abs, scores))
        for k, step in enumerate(row["steps"]):
            print(
                f"{row['problem']:18} {row['policy']:18} {row['loss'] or '-':5} {step:6d} "
                f"{ours.mean[k]:7.1f} ± {ours.stderr[k]:4.1f} "
                f"{row['mean'][k]:7.1f} ± {row['stderr'][k]:4.1f} {scores[k]:6.2f}",
                flush=True,
            )
    print(f"largest |z| {worst:.2f} (limit {LIMIT:g})")
    return int(worst >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
