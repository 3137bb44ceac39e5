"""Do our numbers agree with the authors'? Their regret and ours, on the authors' instances.

    python benchmarks/parity.py --reference DIR [--seeds 40] [--network-seeds 20] [--first-seed 0]

DIR holds the instances (vardim-*.json, wheel-100.json) and the regret of the authors' code
(`regret-linear.json`, `regret-wheel.json`). Each row is run with `conventions=authors`, one process
per core; z is Welch's statistic for the difference of means at each recorded step. The exit status
is 1 if any |z| is 3 or more.
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

import banditsrl

LIMIT = 3.0

FIRST_SEED_HELP = "First seed; seeds are numbered consecutively from here."

WHEEL_POLICIES = {
    "nn-banditsrl egreedy (t^-1/3)": "nn-banditsrl-egreedy",
    "nn-banditsrl linucb (alpha_UCB 1)": "nn-banditsrl-linucb",
}


class Row(NamedTuple):
    """One curve of the authors' figures."""

    problem: str
    policy: str
    settings: dict[str, Any]
    steps: list[int]
    mean: NDArray[np.float64]
    stderr: NDArray[np.float64]
    is_network: bool


def read_linear_rows(folder: Path) -> list[Row]:
    """Return the rows of `regret-linear.json`."""
    rows = json.loads((folder / "regret-linear.json").read_text())["rows"]
    return [
        Row(
            row["problem"],
            row["policy"],
            {} if row["loss"] is None else {"loss": row["loss"]},
            row["steps"],
            np.asarray(row["mean"]),
            np.asarray(row["stderr"]),
            False,
        )
        for row in rows
    ]


def read_wheel_rows(folder: Path) -> list[Row]:
    """Return the rows of `regret-wheel.json`, which have the paper's settings and the weak loss."""
    document = json.loads((folder / "regret-wheel.json").read_text())
    return [
        Row(
            document["problem"],
            WHEEL_POLICIES[name],
            {"loss": "weak"},
            row["steps"],
            np.asarray(row["mean"]),
            np.asarray(row["stderr"]),
            True,
        )
        for name, row in document["regret"].items()
    ]


def compare(row: Row, folder: Path, seeds: range) -> tuple[str, float]:
    """Run one row; return the lines to print and the largest |z|."""
    problem = banditsrl.read_problem(folder / f"{row.problem}.json")
    policy = banditsrl.make_policy(
        row.policy, problem, preset="paper", conventions="authors", **row.settings
    )
    ours = banditsrl.simulate(problem, policy, horizon=row.steps[-1], seeds=seeds, steps=row.steps)
    pairs = zip(ours.stderr, row.stderr, strict=True)
    scores = (ours.mean - row.mean) / np.array([math.hypot(a, b) for a, b in pairs])
    lines = [
        f"{row.problem:18} {row.policy:20} {row.settings.get('loss', '-'):5} {step:6d} "
        f"{ours.mean[k]:7.1f} ± {ours.stderr[k]:4.1f} "
        f"{row.mean[k]:7.1f} ± {row.stderr[k]:5.1f} {scores[k]:6.2f}"
        for k, step in enumerate(row.steps)
    ]
    return "\n".join(lines), float(np.abs(scores).max())


def main() -> int:
    """Print our regret, the authors' regret and z for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, required=True, help="Folder DIR.")
    parser.add_argument("--seeds", type=int, default=40, help="Seeds of linear policies.")
    parser.add_argument("--network-seeds", type=int, default=20, help="Seeds of networks.")
    parser.add_argument("--first-seed", type=int, default=0, help=FIRST_SEED_HELP)
    arguments = parser.parse_args()
    folder, first = arguments.reference, arguments.first_seed
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"  # one core per worker
    jobs = [
        (row, folder, range(first, first + n))
        for row in read_wheel_rows(folder) + read_linear_rows(folder)
        for n in [arguments.network_seeds if row.is_network else arguments.seeds]
    ]
    titles = f"{'problem':18} {'policy':20} {'loss':5} {'step':>6}"
    print(f"{titles} {'ours':>14} {'theirs':>15} {'z':>6}")
    worst = 0.0
    workers = Parallel(n_jobs=os.cpu_count(), return_as="generator")
    for lines, score in workers(delayed(compare)(*job) for job in jobs):
        print(lines, flush=True)
        worst = max(worst, score)
    print(f"largest |z| {worst:.2f} (limit {LIMIT:g})")
    return int(worst >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
