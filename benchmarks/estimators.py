"""Do intervals cover, and does doubly robust win? Simulated logs whose true values are known.

    python benchmarks/estimators.py [--logs 50] [--sizes 300,1000,5000] [--seed 0]
                                    [--model ridge] [--out FILE.json] [--quick]

There are four kinds of rewards (linear or nonlinear means, Gaussian or Bernoulli), three logging
policies (uniform, softmax, epsilon-greedy with a floor of 2.5%), three targets (greedy, softmax,
constant) and three sizes; a setting is a combination of these. All targets are judged on the same
logs, and the problem is drawn anew for every 5 logs.

Printed are the coverage of 95% intervals, the share of logs in which the anytime-valid interval,
watched at every row, misses the true value at least once (Bernoulli rewards only, as Gaussian ones
have no range), the root mean square errors, and in how many settings doubly robust has the smallest
one. Beside them is doubly robust with the true mean rewards as its model: no reward model can do
better, so where another estimator wins against this one, it wins by trading bias for variance. The
difference is that of the greedy and the constant target. The tables are printed again after every
five logs of each kind and size.
"""

import argparse
import itertools
import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from simulated_logs import (
    FAMILIES,
    LEAST_PROPENSITY,
    TARGETS,
    Problem,
    SimulatedLog,
    draw_log,
    draw_problem,
    true_values,
)

from banditsrl.estimation.always_intervals import (
    KnownBounds,
    Wager,
    evidence_at_each_row,
    mirror_terms,
    value_wagers,
)
from banditsrl.estimation.estimator_formulas import ESTIMATORS
from banditsrl.estimation.estimators import estimate
from banditsrl.estimation.paired_comparison import compare, difference_wagers, measure_disagreement
from banditsrl.estimation.reward_models import fit_reward_model
from banditsrl.estimation.target_terms import TargetTerms, make_terms

LEVEL = 0.05
LOGS_PER_PROBLEM = 5
PERFECT = "dr, true means"
"""Doubly robust with a reward model without error."""
Row = dict[str, Any]


def judge_log(log: SimulatedLog, problem: Problem, truth: Row, setting: Row) -> Iterator[Row]:
    """Yield what every estimator says about each target on one log."""
    fitted = fit_reward_model(log, kind=setting["model"])
    predictions = fitted.predict(log.batch)
    earlier = fitted.predict_from_earlier(log.batch)
    pmfs = {t: problem.target_pmf(t, log.batch.contexts) for t in TARGETS}
    given = {"predictions": predictions, "earlier": earlier}
    terms = {t: make_terms(log.batch, pmfs[t], **given) for t in TARGETS}
    means = problem.mean(log.batch.contexts)
    known = None
    if problem.is_bernoulli:
        known = KnownBounds(0.0, 1.0, LEAST_PROPENSITY[setting["logging"]])
    for target in TARGETS:
        found = judge_target(terms[target], truth[target], known)
        perfect = estimate("dr", make_terms(log.batch, pmfs[target], predictions=means)).value
        found[PERFECT] = perfect - truth[target]
        yield {**setting, "target": target, **found}
    apart = measure_disagreement(pmfs["greedy"], pmfs["constant"])
    found = judge_pair(terms["greedy"], terms["constant"], truth, known, apart)
    yield {**setting, "target": "difference", **found}


def judge_target(terms: TargetTerms, truth: float, known: KnownBounds | None) -> Row:
    """Return error and coverage of every estimator, and whether the other interval is violated."""
    found: Row = {}
    for name in ESTIMATORS:
        given = estimate(name, terms, level=LEVEL)
        found[name] = given.value - truth
        found[f"{name} covers"] = given.low <= truth <= given.high
    if known is None:
        return found
    below, above = value_wagers(terms, known), value_wagers(mirror_terms(terms), known.mirror())
    found["violated"] = is_violated(below, above, (truth - known.low, known.high - truth))
    if known.least_propensity is not None:
        given = estimate(
            "dr",
            terms,
            level=LEVEL,
            interval="bernstein",
            reward_range=(known.low, known.high),
            least_propensity=known.least_propensity,
        )
        found["bernstein covers"] = given.low <= truth <= given.high
    return found


def judge_pair(
    first: TargetTerms, second: TargetTerms, truth: Row, known: KnownBounds | None, apart: Any
) -> Row:
    """Return error and coverage for the difference of two targets."""
    difference = truth["greedy"] - truth["constant"]
    found: Row = {}
    for name in ESTIMATORS:
        given = compare(first, second, name=name, level=LEVEL)
        found[name] = given.value - difference
        found[f"{name} covers"] = given.low <= difference <= given.high
    if known is not None:
        below = difference_wagers(first, second, known, disagreement=apart)
        above = difference_wagers(second, first, known, disagreement=apart)
        found["violated"] = is_violated(below, above, (difference, -difference))
    return found


def is_violated(below: list[Wager], above: list[Wager], truth: tuple[float, float]) -> bool:
    """Return whether the capital against the truth ever reaches 2 / level, on either side."""
    limit = math.log(2.0 / LEVEL)
    return any(
        bool((evidence_at_each_row(wagers, quantity) >= limit).any())
        for wagers, quantity in zip((below, above), truth, strict=True)
    )


def run(arguments: argparse.Namespace, block: int) -> Iterator[Row]:
    """Judge the logs of one problem of each kind and size, one row for each log and target."""
    sizes = [int(word) for word in arguments.sizes.split(",")]
    for family, logging, n in itertools.product(FAMILIES, LEAST_PROPENSITY, sizes):
        rng = np.random.default_rng([arguments.seed, block, n, *map(ord, family + logging)])
        problem = draw_problem(family, rng)
        truth = true_values(problem, rng)
        setting = {"family": family, "logging": logging, "n": n, "model": arguments.model}
        for _ in range(LOGS_PER_PROBLEM):
            yield from judge_log(draw_log(problem, logging, n, rng), problem, truth, setting)


def share(rows: list[Row], key: str) -> float:
    """Return how often something is true, among the rows that know."""
    found = [row[key] for row in rows if key in row]
    return float(np.mean(found)) if found else math.nan


def root_mean_square(rows: list[Row], name: str) -> float:
    """Return the root mean square error of an estimator."""
    return float(np.sqrt(np.mean([row[name] ** 2 for row in rows])))


def group(rows: list[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by the values of some keys."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def coverage_table(rows: list[Row]) -> list[str]:
    """Return the lines of the table of coverage, in percent."""
    names = [*ESTIMATORS]
    lines = [
        "| logs | " + " | ".join(names) + " | Bernstein (dr) | violated |",
        "|---" * (len(names) + 3) + "|",
    ]
    parts = {"all": rows}
    for key in ("n", "logging", "family", "target"):
        parts |= {f"{key} {label[0]}": some for label, some in group(rows, key).items()}
    for label, some in parts.items():
        shares = [share(some, f"{name} covers") for name in [*names, "bernstein"]]
        cells = [f"{100 * value:.1f}" for value in [*shares, share(some, "violated")]]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return lines


def error_table(rows: list[Row]) -> tuple[list[str], dict[str, int]]:
    """Return the lines of the table of errors, and how many settings each estimator wins.

    Doubly robust with the true means competes with the others in the place of "dr".
    """
    names = [*ESTIMATORS, PERFECT]
    lines = ["| setting | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    wins = dict.fromkeys([*ESTIMATORS, "dr or switch-dr", PERFECT, "settings"], 0)
    values = [row for row in rows if row["target"] != "difference"]
    for label, some in group(values, "family", "logging", "target", "n").items():
        errors = {name: root_mean_square(some, name) for name in ESTIMATORS}
        least, perfect = min(errors.values()), root_mean_square(some, PERFECT)
        wins[PERFECT] += perfect <= min(e for name, e in errors.items() if name != "dr")
        best = [name for name, error in errors.items() if error <= least * (1 + 1e-12)]
        for name in best:
            wins[name] += 1
        wins["dr or switch-dr"] += bool({"dr", "switch-dr"} & set(best))
        wins["settings"] += 1
        cells = [f"**{e:.4f}**" if name in best else f"{e:.4f}" for name, e in errors.items()]
        cells.append(f"{perfect:.4f}")
        lines.append(f"| {', '.join(map(str, label))} | " + " | ".join(cells) + " |")
    return lines, wins


def ratio_table(rows: list[Row]) -> list[str]:
    """Return the lines of a table of errors, as shares of that of "dr" (geometric means)."""
    names = [name for name in [*ESTIMATORS, PERFECT] if name != "dr"]
    lines = ["| settings | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    values = [row for row in rows if row["target"] != "difference"]
    parts = {"all": values}
    for key in ("family", "logging", "n"):
        parts |= {str(label[0]): some for label, some in group(values, key).items()}
    for label, some in parts.items():
        settings = group(some, "family", "logging", "target", "n").values()
        logs = {
            name: [
                math.log(root_mean_square(s, name) / root_mean_square(s, "dr")) for s in settings
            ]
            for name in names
        }
        cells = [f"{math.exp(np.mean(logs[name])):.2f}" for name in names]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Run all settings and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--logs", type=int, default=50, help="Logs of each kind and size.")
    parser.add_argument("--sizes", default="300,1000,5000", help="Rounds of a log.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of all logs.")
    parser.add_argument("--model", default="ridge", help="Reward model: ridge or portfolio.")
    parser.add_argument("--out", type=Path, help="JSON file for the results.")
    parser.add_argument("--quick", action="store_true", help="Five logs of 100 rounds each.")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.logs, arguments.sizes = LOGS_PER_PROBLEM, "100"
    rows: list[Row] = []
    for block in range(math.ceil(arguments.logs / LOGS_PER_PROBLEM)):
        start = time.perf_counter()
        rows += run(arguments, block)
        print(f"block {block}: {time.perf_counter() - start:.0f} s", flush=True)
        report(rows, arguments.out)


def report(rows: list[Row], out: Path | None) -> None:
    """Print the tables of all rows so far, and write them to a file."""
    errors, wins = error_table(rows)
    coverage, ratios = coverage_table(rows), ratio_table(rows)
    n_logs = len(rows) // (len(TARGETS) + 1)
    print(f"\n{n_logs} logs, coverage in %:\n", *coverage, "\nErrors:\n", *errors, sep="\n")
    print("\nErrors as shares of that of dr:\n", *ratios, sep="\n")
    print(f"\nSettings with the smallest error: {wins}", flush=True)
    if out:
        result = {"logs": n_logs, "coverage": coverage, "errors": errors, "ratios": ratios}
        out.write_text(json.dumps({**result, "wins": wins}, indent=1))


if __name__ == "__main__":
    main()
