"""Are the stated levels kept where there is nothing to find? Certificates without a signal, alarms.

    python benchmarks/false_alarms.py [--seeds 200] [--first-seed 1000] [--part signal|drift]
        [--policies banditsrl-auto nn-banditsrl-linucb] [--quick]

Signal: all actions have the same mean reward in every round (the family `no-signal`: 3,000 rounds,
six columns, Gaussian rewards of standard deviation one). Counted are the runs with any certificate;
their share should be at most `delta`. The noise level is given, or estimated by the policy.

Drift: nothing changes in 20,000 rounds. Alarms are counted, and divided by the rounds of all runs;
there should be at most one alarm in `drift` rounds. Ten situations of each family are dealt, each
to a tenth of the seeds.
"""

import argparse
import os
import time
from collections.abc import Iterator

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np

import banditsrl

NOISE = 1.0
"""Standard deviation of the rewards of `no-signal`."""

FAMILIES = ("linear-boundary", "noise-2", "heavy-columns", "flags")
"""Stationary situations: one that is linear, one with much noise, and two that are not linear."""

WATCHED = ("linucb-disjoint", "glrt-linucb")
AVERAGE_RUN = 1e4
N_SITUATIONS = 10


def count_certified(name: str, seeds: range, *, rounds: int, sigma: float | None) -> Iterator[bool]:
    """Yield for each seed whether any round was certified."""
    settings = {} if name == "banditsrl-auto" else {"preset": "default"}
    for seed in seeds:
        situation = banditsrl.make_situation("no-signal", rounds=rounds, seed=seed)
        policy = banditsrl.make_policy(name, situation, sigma=sigma, **settings)
        result = banditsrl.simulate(
            situation, policy, horizon=rounds, seeds=[seed], steps=[rounds], name=name
        )
        yield bool(result.certified[0, -1] > 0)


def print_signal(names: list[str], seeds: range, rounds: int) -> None:
    """Print in how many runs anything was certified."""
    for name in names:
        for sigma in (None, NOISE):
            started = time.perf_counter()
            found = list(count_certified(name, seeds, rounds=rounds, sigma=sigma))
            print(
                f"{name:24} noise level {'estimated' if sigma is None else 'given':9} "
                f"{sum(found):4} of {len(found)} runs have a certificate "
                f"({time.perf_counter() - started:.0f} s)",
                flush=True,
            )


def count_alarms(name: str, family: str, seeds: range, rounds: int) -> int:
    """Return the number of alarms in all runs."""
    alarms = 0
    for k in range(N_SITUATIONS):
        some = list(seeds)[k::N_SITUATIONS]
        if not some:
            continue
        situation = banditsrl.make_situation(family, rounds=rounds, seed=seeds.start + k)
        policy = banditsrl.make_policy(name, situation, drift=AVERAGE_RUN)
        result = banditsrl.simulate(
            situation, policy, horizon=rounds, seeds=some, steps=[rounds], name=name
        )
        alarms += int(np.asarray(result.state.n_alarms).sum())
    return alarms


def print_drift(seeds: range, rounds: int) -> None:
    """Print how many alarms there were without a change."""
    for name in WATCHED:
        for family in FAMILIES:
            alarms = count_alarms(name, family, seeds, rounds)
            total = len(seeds) * rounds
            print(
                f"{name:24} {family:16} {alarms:4} alarms in {total:,} rounds; "
                f"at most {total / AVERAGE_RUN:.0f} are stated",
                flush=True,
            )


def main() -> None:
    """Count both kinds of false alarms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200, help="Number of runs.")
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--part", choices=("signal", "drift"), help="Only one of the two parts.")
    parser.add_argument("--policies", nargs="+", default=["banditsrl-auto", "nn-banditsrl-linucb"])
    parser.add_argument("--quick", action="store_true", help="Two runs of 200 rounds.")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + (2 if options.quick else options.seeds))
    if options.part != "drift":
        print_signal(options.policies, seeds, 200 if options.quick else 3_000)
    if options.part != "signal":
        print_drift(seeds, 200 if options.quick else 20_000)


if __name__ == "__main__":
    main()
