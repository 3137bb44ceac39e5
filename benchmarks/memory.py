"""How much memory does a long run take? A million steps of NN-BanditSRL on Covertype.

    python benchmarks/memory.py [--horizon 1000000] [--max-updates 200]

Prints the most that the process had resident. The number of training steps per phase is cut, since
memory does not depend on it: buffers are allocated for the horizon and updated in place. The data
come from where `banditsrl data covertype` finds them.
"""

import argparse
import os
import resource
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import banditsrl

LIMIT_MB = 2048


def main() -> int:
    """Run, and print the peak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=1_000_000)
    parser.add_argument("--max-updates", type=int, default=200)
    arguments = parser.parse_args()
    problem = banditsrl.make_problem("covertype")
    policy = banditsrl.make_policy(
        "nn-banditsrl-egreedy", problem, preset="paper", max_updates=arguments.max_updates
    )
    start = time.perf_counter()
    banditsrl.simulate(problem, policy, horizon=arguments.horizon, seeds=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = time.perf_counter() - start
    print(
        f"{arguments.horizon:,} steps in {seconds:.0f} s, at most {peak:.0f} MB (limit {LIMIT_MB})"
    )
    return int(peak > LIMIT_MB)


if __name__ == "__main__":
    raise SystemExit(main())
