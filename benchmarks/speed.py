"""How fast is the package? Compared with NumPy programs, and at growing horizons.

    python benchmarks/speed.py [--json FILE] [--quick]

Everything runs on one core in one process; compilation is excluded, and the best of several repeats
counts. Costs are in microseconds per seed and step: the wall time of a whole run divided by the
number of seeds and steps. The two rivals are the oracles of the tests, which have the same regret:
a plain loop that computes everything again in each round, and a program vectorised over seeds. They
are given their contexts and noise, while the time of the package includes drawing them. `--quick`
runs fewer steps once, to see that the script works; its ratios mean little.
"""
# ruff: noqa: E402  (threads and core must be set before any library is imported)

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

MAX_GROWTH = 1.2
"""Largest permitted ratio of the cost per step to that at a shorter horizon."""


class Effort(NamedTuple):
    """Horizons and numbers of repeats."""

    horizon: int  # for the comparison with rivals
    repeats: int
    horizons: dict[int, int]  # for the cost per step at growing horizons, with their repeats


FULL = Effort(10_000, 5, {1_000: 8, 10_000: 5, 100_000: 3, 1_000_000: 2})
QUICK = Effort(200, 1, {1_000: 1, 10_000: 1})


class Rival(NamedTuple):
    """A program to compare with, and by which factor the package should be faster."""

    name: str
    run: Callable[[], Any]
    n_seeds: int
    target: float


class Line(NamedTuple):
    """One line of the table: its ratio is a speed-up over a rival, or a growth of the cost."""

    what: str
    program: str
    cost: float  # microseconds per seed and step
    ratio: float | None = None
    target: float | None = None
    ok: bool | None = None


def main() -> None:
    """Measure everything, print the table, and write it to a file if one is given."""
    parser = argparse.ArgumentParser(description="Speed of banditsrl against NumPy, on one core.")
    parser.add_argument("--json", type=Path, help="File to write the table to.")
    parser.add_argument("--quick", action="store_true", help="Run few steps, once.")
    arguments = parser.parse_args()
    effort = QUICK if arguments.quick else FULL
    print_title()
    lines = [*measure_linucb(effort), *measure_banditsrl(effort), *measure_horizons(effort)]
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([line._asdict() for line in lines], indent=2) + "\n")


def measure_linucb(effort: Effort) -> list[Line]:
    """Measure LinUCB with the test, on one representation of dimension 6 with five actions."""
    problem, policy = certified_linucb()
    candidate = problem.representations[0]
    settings = {"B": float(np.linalg.norm(problem.claims[0].theta)), "sigma": problem.sigma}

    def run(program: Any, n_seeds: int) -> Callable[[], Any]:
        tables = candidate.features, problem.mean_rewards
        rounds = draw_rounds(problem, effort.horizon, n_seeds)
        return partial(program.linucb_glrt, *tables, *rounds, **settings)

    rivals = [
        Rival("plain NumPy loop", run(plain, 1), 1, 190.0),
        Rival("vectorised NumPy", run(vectorised, N_SEEDS), N_SEEDS, 6.0),
    ]
    return compare("LinUCB+GLRT, d=6, A=5", problem, policy, rivals, effort)


def measure_banditsrl(effort: Effort) -> list[Line]:
    """Measure BanditSRL with base LinUCB on thirteen candidates."""
    problem, policy = selecting_linucb()
    candidates = problem.representations
    bounds = [float(np.linalg.norm(claim.theta)) for claim in problem.claims]
    settings = {"bounds": bounds, "sigma": problem.sigma}

    def run(program: Any, n_seeds: int) -> Callable[[], Any]:
        tables = [candidate.features for candidate in candidates], problem.mean_rewards
        first = np.arange(n_seeds) % len(candidates)
        rounds = draw_rounds(problem, effort.horizon, n_seeds)
        return partial(program.banditsrl_linucb, *tables, *rounds, first=first, **settings)

    rivals = [
        Rival("plain NumPy loop", run(plain, 1), 1, 80.0),
        Rival("vectorised NumPy", run(vectorised, N_SEEDS), N_SEEDS, 3.0),
    ]
    return compare("BanditSRL-LinUCB, 13 candidates", problem, policy, rivals, effort)


def measure_horizons(effort: Effort) -> list[Line]:
    """Measure the cost per step at growing horizons, for policies with and without a history."""
    games = {"LinUCB+GLRT": certified_linucb(), "BanditSRL-LinUCB": selecting_linucb()}
    return [line for name, game in games.items() for line in measure_growth(name, *game, effort)]


def measure_growth(
    name: str, problem: banditsrl.FiniteProblem, policy: banditsrl.Policy[Any], effort: Effort
) -> list[Line]:
    """Return one line per horizon, with its cost relative to the least at shorter horizons."""
    lines: list[Line] = []
    for horizon, repeats in effort.horizons.items():
        (seconds,) = best_times([run_package(problem, policy, horizon)], repeats)
        line = Line(f"{name}, horizon {horizon:,}", PACKAGE, per_step(seconds, horizon))
        if lines:
            growth = line.cost / min(shorter.cost for shorter in lines)
            line = line._replace(ratio=growth, target=MAX_GROWTH, ok=growth <= MAX_GROWTH)
        lines.append(print_line(line))
    return lines


def certified_linucb() -> tuple[banditsrl.FiniteProblem, banditsrl.Policy[Any]]:
    """Return LinUCB with the test, on the HLS representation."""
    problem = banditsrl.make_problem("vardim-realizable")
    base = banditsrl.LinUCB(problem.representations[0], sigma=problem.sigma)
    return problem, banditsrl.GLRT(base=base)


def selecting_linucb() -> tuple[banditsrl.FiniteProblem, banditsrl.Policy[Any]]:
    """Return BanditSRL with base LinUCB, on thirteen candidates."""
    problem = banditsrl.make_problem("vardim-misspecified")
    policy = banditsrl.BanditSRL(
        problem.representations, base=banditsrl.LinUCB(), sigma=problem.sigma, offset="paper"
    )
    return problem, policy


def compare(
    what: str,
    problem: banditsrl.FiniteProblem,
    policy: banditsrl.Policy[Any],
    rivals: list[Rival],
    effort: Effort,
) -> list[Line]:
    """Return the line of the package, then one per rival with its cost relative to ours."""
    ours = run_package(problem, policy, effort.horizon)
    ours()  # compiles
    seconds = best_times([ours, *[rival.run for rival in rivals]], effort.repeats)
    cost = per_step(seconds[0], effort.horizon)
    lines = [print_line(Line(what, PACKAGE, cost))]
    for rival, rival_seconds in zip(rivals, seconds[1:], strict=True):
        rival_cost = per_step(rival_seconds, effort.horizon, rival.n_seeds)
        ratio = rival_cost / cost
        line = Line(what, rival.name, rival_cost, ratio, rival.target, ratio >= rival.target)
        lines.append(print_line(line))
    return lines


def run_package(
    problem: banditsrl.FiniteProblem, policy: banditsrl.Policy[Any], horizon: int
) -> Callable[[], Any]:
    """Return a function that runs the package."""
    return partial(banditsrl.simulate, problem, policy, horizon=horizon, seeds=N_SEEDS)


def best_times(runs: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Return the shortest wall time of each run in seconds; the runs take turns, to be fair."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, taken in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def per_step(seconds: float, horizon: int, n_seeds: int = N_SEEDS) -> float:
    """Return microseconds per seed and step."""
    return 1e6 * seconds / (horizon * n_seeds)


def draw_rounds(
    problem: banditsrl.FiniteProblem, horizon: int, n_seeds: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return contexts and noise of every step and seed, (horizon, n_seeds) each."""
    rng = np.random.default_rng(0)
    contexts = rng.integers(problem.n_contexts, size=(horizon, n_seeds))
    return contexts, problem.noise_std * rng.standard_normal((horizon, n_seeds))


def print_title() -> None:
    """Print the head of the table."""
    print(f"One core, {N_SEEDS} seeds; us = microseconds per seed and step.")
    print(f"{'':38}{'us':>8}{'ratio':>10}{'target':>10}")


def print_line(line: Line) -> Line:
    """Print one line and return it."""
    label = line.what if line.program == PACKAGE else f"  {line.program}"
    columns = f"{label:38}{line.cost:8.3f}"
    if line.ratio is not None:
        sign = "<=" if line.target == MAX_GROWTH else ">="
        columns += f"{line.ratio:10.2f}{f'{sign} {line.target:g}':>10}"
        columns += "  ok" if line.ok else "  missed"
    print(columns, flush=True)
    return line


if __name__ == "__main__":
    main()
