"""How much memory does a long run take? A million steps of NN-BanditSRL on Covertype.

    python benchmarks/memory.py [--horizon 1000000] [--max-updates 200]

Prints the peak resident memory of the process. The number of training steps per phase is limited,
because memory does not depend on it: buffers are allocated for the horizon and updated in place.
The data set is read from where `banditsrl data covertype` stores it.
"""

import argparse
import os
import resource
import time
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import banditsrl

LIMIT_MB = 2048


def peak_mb() -> float:
    """Return the peak resident memory; ru_maxrss would include that of the parent process."""
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Run the simulation and print the peak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=1_000_000, help="Steps of the run.")
    parser.add_argument("--max-updates", type=int, default=200, help="Training steps per phase.")
    arguments = parser.parse_args()
    problem = banditsrl.make_problem("covertype")
    policy = banditsrl.make_policy(
        "nn-banditsrl-egreedy", problem, preset="paper", max_updates=arguments.max_updates
    )
    start = time.perf_counter()
    banditsrl.simulate(problem, policy, horizon=arguments.horizon, seeds=1)
    seconds, peak = time.perf_counter() - start, peak_mb()
    print(
        f"{arguments.horizon:,} steps in {seconds:.0f} s, at most {peak:.0f} MB (limit {LIMIT_MB})"
    )
    return int(peak > LIMIT_MB)


if __name__ == "__main__":
    raise SystemExit(main())
