"""Do the paper's findings on networks hold? NN-BanditSRL against its bases on five problems.

    python benchmarks/findings_networks.py [--horizon 10000] [--seeds 20] [--workers 2]
                                           [--problems wheel,...] [--only LABEL] [--out FILE]

Every policy has the `paper` preset. Each combination of a problem and a policy is one line of FILE,
which is written as soon as the run ends; later starts skip the lines that FILE has. `--table`
prints FILE as the tables of docs/findings.md. `--cells presets` compares the presets.
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")  # one core per worker

import numpy as np
from joblib import Parallel, delayed

import banditsrl
from banditsrl.display.numerals import format_plus_minus, format_share

FIRST_SEED_HELP = "First seed; seeds are numbered consecutively from here."

PROBLEMS = ("wheel", "shuttle", "magic", "mushroom", "covertype")


class Cell(NamedTuple):
    """One policy of the comparison."""

    label: str
    policy: str
    preset: str
    settings: dict[str, Any]


FINDINGS = (
    Cell("NN-BanditSRL ε-greedy", "nn-banditsrl-egreedy", "paper", {}),
    Cell("Neural-ε-greedy", "neural-egreedy", "paper", {}),
    Cell("NN-BanditSRL LinUCB", "nn-banditsrl-linucb", "paper", {}),
    Cell("Neural-LinUCB", "neural-linucb", "paper", {}),
    Cell("NN-BanditSRL LinTS", "nn-banditsrl-lints", "paper", {}),
    Cell("Neural-LinTS", "neural-lints", "paper", {}),
    Cell("NN-BanditSRL IGW", "nn-banditsrl-igw", "paper", {}),
    Cell("IGW-REF", "igw-ref", "paper", {}),
    Cell("ε-greedy, no test", "nn-banditsrl-egreedy", "paper", {"glrt_scale": None}),
    Cell("ε-greedy, test scale 1", "nn-banditsrl-egreedy", "paper", {"glrt_scale": 1.0}),
    Cell("LinUCB, no test", "nn-banditsrl-linucb", "paper", {"glrt_scale": None}),
    Cell("LinUCB, no spectral loss", "nn-banditsrl-linucb", "paper", {"loss": "none"}),
)
COMPARISONS = (
    ("ε-greedy: BanditSRL against the base", "NN-BanditSRL ε-greedy", "Neural-ε-greedy"),
    ("LinUCB: BanditSRL against the base", "NN-BanditSRL LinUCB", "Neural-LinUCB"),
    ("LinTS: BanditSRL against the base", "NN-BanditSRL LinTS", "Neural-LinTS"),
    ("IGW: BanditSRL against the base", "NN-BanditSRL IGW", "IGW-REF"),
    ("ε-greedy: test against no test", "NN-BanditSRL ε-greedy", "ε-greedy, no test"),
    ("LinUCB: test against no test", "NN-BanditSRL LinUCB", "LinUCB, no test"),
    ("ε-greedy: scale 1 against 5", "ε-greedy, test scale 1", "NN-BanditSRL ε-greedy"),
    ("LinUCB: spectral loss against none", "NN-BanditSRL LinUCB", "LinUCB, no spectral loss"),
)
PRESETS = (
    Cell("paper preset, ε-greedy", "nn-banditsrl-egreedy", "paper", {}),
    Cell("default preset, ε-greedy", "nn-banditsrl-egreedy", "default", {}),
)


def run_cell(problem_name: str, cell: Cell, horizon: int, seeds: range) -> dict[str, Any]:
    """Run one policy on one problem, and return its line of the file."""
    problem = banditsrl.make_problem(problem_name)
    policy = banditsrl.make_policy(cell.policy, problem, preset=cell.preset, **cell.settings)
    late = [horizon * 9 // 10, horizon]
    result = banditsrl.simulate(problem, policy, horizon=horizon, seeds=seeds, steps=late)
    return {
        "problem": problem_name,
        "label": cell.label,
        "horizon": horizon,
        "seeds": [seeds.start, seeds.stop],
        "final": result.regret[:, -1].tolist(),
        "certified": result.certificates.certified_in_last_tenth,
        "wrong": result.certificates.wrong_in_last_tenth,
        "wrong_regret": float(result.wrong_regret[:, -1].mean()),
        "seconds": result.seconds,
    }


def format_table(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table of regret with its standard error, and of certificates if any."""
    problems = [p for p in PROBLEMS if any(row["problem"] == p for row in rows)]
    labels = list(dict.fromkeys(row["label"] for row in rows))
    lines = ["| policy | " + " | ".join(problems) + " |", "|---" * (len(problems) + 1) + "|"]
    for label in labels:
        cells = [_format_cell(rows, problem, label) for problem in problems]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def format_differences(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table of mean differences of regret, seed by seed, with standard errors."""
    finals = {(row["problem"], row["label"]): np.asarray(row["final"]) for row in rows}
    known = [c for c in COMPARISONS if all((p, n) in finals for p in PROBLEMS for n in c[1:])]
    if not known:
        return ""
    lines = ["| difference | " + " | ".join(PROBLEMS) + " |", "|---" * (len(PROBLEMS) + 1) + "|"]
    for title, one, other in known:
        cells = []
        for problem in PROBLEMS:
            d = finals[problem, one] - finals[problem, other]
            cells.append(_format_signed(d.mean(), d.std(ddof=1) / math.sqrt(len(d))))
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _format_cell(rows: list[dict[str, Any]], problem: str, label: str) -> str:
    for row in rows:
        if row["problem"] == problem and row["label"] == label:
            final = np.asarray(row["final"])
            error = final.std(ddof=1) / math.sqrt(len(final))
            regret = f"{final.mean():,.0f} ± {error:,.0f}"
            shares = f"{format_share(row['certified'])}, {format_share(row['wrong'])}"
            if row["certified"] > 0 or row["wrong_regret"] > 0:
                return f"{regret} ({shares}, {row['wrong_regret']:,.0f})"
            return regret
    return ""


def _format_signed(mean: float, error: float) -> str:
    """Return a difference with its standard error, and with a sign unless it is zero."""
    return f"{'+' if mean > 0 else ''}{format_plus_minus(mean, error)}"


def main() -> int:
    """Run the combinations that are missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=10_000, help="Steps of each run.")
    parser.add_argument("--seeds", type=int, default=20, help="Number of seeds.")
    parser.add_argument("--first-seed", type=int, default=100, help=FIRST_SEED_HELP)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="Processes.")
    parser.add_argument(
        "--problems", default=",".join(PROBLEMS), help="Problems, separated by commas."
    )
    parser.add_argument(
        "--cells", choices=["findings", "presets", "all"], default="all", help="Policies to run."
    )
    parser.add_argument("--only", metavar="LABEL", help="Run one policy of the table only.")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("benchmarks/results/networks.jsonl"),
        help="File of the results, one line per run.",
    )
    parser.add_argument(
        "--table", action="store_true", help="Print the tables of FILE and run nothing."
    )
    arguments = parser.parse_args()
    chosen = {"findings": FINDINGS, "presets": PRESETS, "all": FINDINGS + PRESETS}
    rows = _read_rows(arguments.out)
    done = {(row["problem"], row["label"]) for row in rows}
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    jobs = [
        (problem, cell, arguments.horizon, seeds)
        for cell in chosen[arguments.cells]
        for problem in arguments.problems.split(",")
        if (problem, cell.label) not in done and arguments.only in (None, cell.label)
    ]
    if not arguments.table:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        workers = Parallel(n_jobs=arguments.workers, return_as="generator_unordered")
        for count, row in enumerate(workers(delayed(run_cell)(*job) for job in jobs), 1):
            with arguments.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{count}/{len(jobs)} {row['problem']} {row['label']}", file=sys.stderr)
    rows = _read_rows(arguments.out)
    print(format_table(rows), format_differences(rows), sep="\n\n")
    return 0


def _read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
