"""How fast is the package? Against NumPy programs of the same algorithms, and over the horizon.

    python benchmarks/speed.py [--json FILE] [--quick]

One core, one process, compilation excluded, best of several repeats. A cost is microseconds per
seed and step: the wall time of a whole run divided by the number of seeds and of steps. The two
rivals are the oracles of the tests, which give the same regret: a plain loop that computes
everything anew in each round, and a program vectorised over seeds. Both are handed their contexts
and noise, while the package's time includes dealing them. `--quick` has fewer steps and measures
once, to see that it runs: its ratios mean little.
"""
# ruff: noqa: E402  (threads and core are settled before any library is imported)

import os

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(ONE_THREAD, "1"), XLA_FLAGS="--xla_cpu_multi_thread_eigen=false")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import banditsrl

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
plain = importlib.import_module("oracles.plain")
vectorised = importlib.import_module("oracles.vectorised")

PACKAGE = "banditsrl"
N_SEEDS = 40

MOST_GROWTH = 1.2
"""What the cost per step may grow by from a shorter horizon to a longer one."""


class Effort(NamedTuple):
    """How much is measured."""

    horizon: int  # of the comparison with rivals
    repeats: int
    horizons: dict[int, int]  # horizons at which the cost per step is compared: repeats


FULL = Effort(10_000, 5, {1_000: 8, 10_000: 5, 100_000: 3, 1_000_000: 2})
QUICK = Effort(200, 1, {1_000: 1, 10_000: 1})


class Rival(NamedTuple):
    """A rival's program and how many times dearer than the package it should be."""

    name: str
    run: Callable[[], Any]
    n_seeds: int
    target: float


class Line(NamedTuple):
    """One line of the table; the ratio to a rival should be large, the growth small."""

    what: str
    program: str
    cost: float  # microseconds per seed and step
    ratio: float | None = None
    target: float | None = None
    ok: bool | None = None


def main() -> None:
    """Measure everything, print the table, and write it down if asked to."""
    parser = argparse.ArgumentParser(description="Speed of banditsrl against NumPy, on one core.")
    parser.add_argument("--json", type=Path, help="file to write the table to")
    parser.add_argument("--quick", action="store_true", help="few steps, measured once")
    arguments = parser.parse_args()
    effort = QUICK if arguments.quick else FULL
    show_title()
    lines = [*linucb_lines(effort), *banditsrl_lines(effort), *horizon_lines(effort)]
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([line._asdict() for line in lines], indent=2) + "\n")


def linucb_lines(effort: Effort) -> list[Line]:
    """LinUCB under the test, dimension 6, five actions, one representation."""
    problem, policy = certified_linucb()
    candidate = problem.representations[0]
    settings = {"B": float(np.linalg.norm(problem.claims[0].theta)), "sigma": problem.sigma}

    def run(program: Any, n_seeds: int) -> Callable[[], Any]:
        tables = candidate.features, problem.mean_rewards
        dealing = dealt(problem, effort.horizon, n_seeds)
        return partial(program.linucb_glrt, *tables, *dealing, **settings)

    rivals = [
        Rival("plain NumPy loop", run(plain, 1), 1, 300.0),
        Rival("vectorised NumPy", run(vectorised, N_SEEDS), N_SEEDS, 4.0),
    ]
    return compared("LinUCB+GLRT, d=6, A=5", problem, policy, rivals, effort)


def banditsrl_lines(effort: Effort) -> list[Line]:
    """BanditSRL with base LinUCB on thirteen candidates."""
    problem, policy = selecting_linucb()
    candidates = problem.representations
    bounds = [float(np.linalg.norm(claim.theta)) for claim in problem.claims]
    settings = {"bounds": bounds, "sigma": problem.sigma}

    def run(program: Any, n_seeds: int) -> Callable[[], Any]:
        tables = [candidate.features for candidate in candidates], problem.mean_rewards
        first = np.arange(n_seeds) % len(candidates)
        dealing = dealt(problem, effort.horizon, n_seeds)
        return partial(program.banditsrl_linucb, *tables, *dealing, first=first, **settings)

    rivals = [
        Rival("plain NumPy loop", run(plain, 1), 1, 100.0),
        Rival("vectorised NumPy", run(vectorised, N_SEEDS), N_SEEDS, 3.0),
    ]
    return compared("BanditSRL-LinUCB, 13 candidates", problem, policy, rivals, effort)


def horizon_lines(effort: Effort) -> list[Line]:
    """The cost of a step at longer and longer horizons, with and without a history to keep."""
    games = {"LinUCB+GLRT": certified_linucb(), "BanditSRL-LinUCB": selecting_linucb()}
    return [line for name, game in games.items() for line in growth_lines(name, *game, effort)]


def growth_lines(
    name: str, problem: banditsrl.FiniteProblem, policy: banditsrl.Policy, effort: Effort
) -> list[Line]:
    """One line per horizon, with the cost over the least at a shorter one."""
    lines: list[Line] = []
    for horizon, repeats in effort.horizons.items():
        (seconds,) = best_times([package(problem, policy, horizon)], repeats)
        line = Line(f"{name}, horizon {horizon:,}", PACKAGE, per_step(seconds, horizon))
        if lines:
            growth = line.cost / min(shorter.cost for shorter in lines)
            line = line._replace(ratio=growth, target=MOST_GROWTH, ok=growth <= MOST_GROWTH)
        lines.append(show(line))
    return lines


def certified_linucb() -> tuple[banditsrl.FiniteProblem, banditsrl.Policy]:
    """LinUCB under the test on the HLS representation."""
    problem = banditsrl.make_problem("vardim-realizable")
    base = banditsrl.LinUCB(problem.representations[0], sigma=problem.sigma)
    return problem, banditsrl.GLRT(base=base)


def selecting_linucb() -> tuple[banditsrl.FiniteProblem, banditsrl.Policy]:
    """BanditSRL with base LinUCB on thirteen candidates."""
    problem = banditsrl.make_problem("vardim-misspecified")
    policy = banditsrl.BanditSRL(
        problem.representations, base=banditsrl.LinUCB(), sigma=problem.sigma
    )
    return problem, policy


def compared(
    what: str,
    problem: banditsrl.FiniteProblem,
    policy: banditsrl.Policy,
    rivals: list[Rival],
    effort: Effort,
) -> list[Line]:
    """The package's line, then one per rival with how many times dearer it is."""
    ours = package(problem, policy, effort.horizon)
    ours()  # compiles
    seconds = best_times([ours, *[rival.run for rival in rivals]], effort.repeats)
    cost = per_step(seconds[0], effort.horizon)
    lines = [show(Line(what, PACKAGE, cost))]
    for rival, rival_seconds in zip(rivals, seconds[1:], strict=True):
        rival_cost = per_step(rival_seconds, effort.horizon, rival.n_seeds)
        ratio = rival_cost / cost
        line = Line(what, rival.name, rival_cost, ratio, rival.target, ratio >= rival.target)
        lines.append(show(line))
    return lines


def package(
    problem: banditsrl.FiniteProblem, policy: banditsrl.Policy, horizon: int
) -> Callable[[], Any]:
    """A run of the package, to be timed."""
    return partial(banditsrl.simulate, problem, policy, horizon=horizon, seeds=N_SEEDS)


def best_times(runs: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """The shortest of several wall times of each, in seconds; taken in turn, to be fair."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, taken in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def per_step(seconds: float, horizon: int, n_seeds: int = N_SEEDS) -> float:
    """Microseconds per seed and step."""
    return 1e6 * seconds / (horizon * n_seeds)


def dealt(
    problem: banditsrl.FiniteProblem, horizon: int, n_seeds: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Contexts and noise of every step and seed, (horizon, n_seeds) each."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(problem.n_contexts, size=(horizon, n_seeds))
    return contexts, problem.noise_std * rng.standard_normal((horizon, n_seeds))


def show_title() -> None:
    """The head of the table."""
    print(f"One core, {N_SEEDS} seeds; us = microseconds per seed and step.")
    print(f"{'':38}{'us':>8}{'ratio':>10}{'target':>10}")


def show(line: Line) -> Line:
    """Print one line as soon as it is known."""
    label = line.what if line.program == PACKAGE else f"  {line.program}"
    columns = f"{label:38}{line.cost:8.3f}"
    if line.ratio is not None:
        sign = "<=" if line.target == MOST_GROWTH else ">="
        columns += f"{line.ratio:10.2f}{f'{sign} {line.target:g}':>10}"
        columns += "  ok" if line.ok else "  short"
    print(columns, flush=True)
    return line


if __name__ == "__main__":
    main()
