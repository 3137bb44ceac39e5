"""Does exploration end in practice? `banditsrl-auto` over 100,000 steps.

    python benchmarks/constant_regret.py [--problems wheel,mushroom] [--seeds 10] [--first-seed 400]
                                         [--set NAME=VALUE]...

For each problem: regret, the slope of regret in the last tenth relative to the first tenth (asked:
below 5%), the share of the rounds of the last tenth that were certified (above 90%), and the share
of those certificates that were wrong (below 1%).
"""

import argparse
import os
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import banditsrl
from banditsrl.experiments.run_spec import parse_settings

FIRST_SEED_HELP = "First seed; seeds are numbered consecutively from here."


def measure(problem: Any, horizon: int, seeds: range, **settings: Any) -> str:
    """Run `banditsrl-auto` on one problem, and return its line of the output."""
    policy = banditsrl.make_policy("banditsrl-auto", problem, **settings)
    tenth = horizon // 10
    steps = [tenth, horizon - tenth, horizon]
    result = banditsrl.simulate(problem, policy, horizon=horizon, seeds=seeds, steps=steps)
    late = result.regret_between(steps[1], horizon)
    slope = late.mean() / result.regret[:, 0].mean()
    certified = result.certificates.certified_in_last_tenth
    wrong = result.certificates.wrong_in_last_tenth
    return (
        f"{problem.name:10} regret {result.mean[-1]:.0f} ± {result.stderr[-1]:.0f} "
        f"(first tenth {result.mean[0]:.0f}, last tenth {late.mean():.1f}), slope {slope:.1%}, "
        f"certified {certified:.1%}, wrong {wrong:.2%}, {result.seconds / len(seeds):.0f} s a seed"
    )


def main() -> None:
    """Measure every problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--problems", default="wheel,mushroom", help="Problems, separated by commas."
    )
    parser.add_argument("--horizon", type=int, default=100_000, help="Steps of each run.")
    parser.add_argument("--seeds", type=int, default=10, help="Number of seeds.")
    parser.add_argument("--first-seed", type=int, default=400, help=FIRST_SEED_HELP)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    settings = parse_settings(arguments.set)
    for name in arguments.problems.split(","):
        problem = banditsrl.make_problem(name)
        print(measure(problem, arguments.horizon, seeds, **settings), flush=True)


if __name__ == "__main__":
    main()
