"""Do intervals cover, and does doubly robust win? Simulated logs whose true values are known.

    python benchmarks/estimators.py [--logs 50] [--sizes 300,1000,5000] [--seed 0]
                                    [--model ridge] [--out FILE.json] [--errors-only] [--quick]

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

With few logs, estimators that are nearly as good win settings by luck. So the settings are also
counted in which an estimator is better than another one beyond chance: problems are drawn again and
their logs within them (a paired bootstrap), and the mean squared error is smaller in 97.5% of the
draws. `--errors-only` leaves out intervals, so that many logs can be judged.
"""

import argparse
import itertools
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from estimator_tables import PERFECT, Row, print_tables
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
        if setting["errors only"]:
            found = {n: estimator_value(n, terms[target]) - truth[target] for n in ESTIMATORS}
        else:
            found = judge_target(terms[target], truth[target], known)
        perfect = estimate("dr", make_terms(log.batch, pmfs[target], predictions=means)).value
        found[PERFECT] = perfect - truth[target]
        yield {**setting, "target": target, **found}
    if setting["errors only"]:
        return
    apart = measure_disagreement(pmfs["greedy"], pmfs["constant"])
    found = judge_pair(terms["greedy"], terms["constant"], truth, known, apart)
    yield {**setting, "target": "difference", **found}


def estimator_value(name: str, terms: TargetTerms) -> float:
    """Return the value that an estimator gives."""
    return estimate(name, terms, level=LEVEL).value


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
        setting |= {"block": block, "errors only": arguments.errors_only}
        for _ in range(LOGS_PER_PROBLEM):
            yield from judge_log(draw_log(problem, logging, n, rng), problem, truth, setting)


def main() -> None:
    """Run all settings and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--logs", type=int, default=50, help="Logs of each kind and size.")
    parser.add_argument("--sizes", default="300,1000,5000", help="Rounds of a log.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of all logs.")
    parser.add_argument("--model", default="ridge", help="Reward model: ridge or portfolio.")
    parser.add_argument("--out", type=Path, help="JSON file for the results.")
    parser.add_argument("--errors-only", action="store_true", help="Leave out intervals.")
    parser.add_argument("--quick", action="store_true", help="Five logs of 100 rounds each.")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.logs, arguments.sizes = LOGS_PER_PROBLEM, "100"
    rows: list[Row] = []
    for block in range(math.ceil(arguments.logs / LOGS_PER_PROBLEM)):
        start = time.perf_counter()
        rows += run(arguments, block)
        print(f"block {block}: {time.perf_counter() - start:.0f} s", flush=True)
        print_tables(rows, arguments.out)


if __name__ == "__main__":
    main()
