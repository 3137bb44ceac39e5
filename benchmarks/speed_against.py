"""How long does a step take, compared with another version? Both are installed, and run in turns.

    python benchmarks/speed_against.py OTHER_PYTHON [--repeats 7] [--horizons 10000,60000,100000]
    python benchmarks/speed_against.py OTHER_PYTHON --auto shuttle --horizons 10000

OTHER_PYTHON is the interpreter of an environment in which the other version is installed; this
version is that of the interpreter that runs the script. The policy is BanditSRL with LinUCB on the
13 candidates of vardim-misspecified, 40 seeds side by side, or, with `--auto`, `banditsrl-auto` on
the named problem with one seed. Printed are microseconds of processor time per seed and step,
without compilation: the least and the median of the repeats, and the ratio of this version to the
other one; and before them the seconds of the first run, with compilation. If the system allows it,
both use the same core.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

SEEDS = 40
"""Seeds that BanditSRL runs side by side."""

PROGRAM = """
import os, sys, time, warnings
warnings.simplefilter("ignore")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
import banditsrl
problem = banditsrl.make_problem(sys.argv[1] or "vardim-misspecified")
if sys.argv[1]:
    policy = banditsrl.make_policy("banditsrl-auto", problem)
else:
    chosen = {"base": banditsrl.LinUCB(), "sigma": problem.sigma, "offset": "paper"}
    policy = banditsrl.BanditSRL(problem.representations, **chosen)
for line in sys.stdin:
    horizon, seeds = map(int, line.split())
    started = time.process_time()
    banditsrl.simulate(problem, policy, horizon=horizon, seeds=seeds)
    print(1e6 * (time.process_time() - started) / horizon / seeds, flush=True)
"""
"""What each version runs: for every line with a horizon and a number of seeds, print the time."""

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


class Version:
    """One version of the package, in a process that waits for horizons."""

    def __init__(self, python: str, auto: str) -> None:
        pipe = subprocess.PIPE
        self.python, self.n_seeds = python, 1 if auto else SEEDS
        self.process: Any = subprocess.Popen(
            [python, "-c", PROGRAM, auto],
            stdin=pipe,
            stdout=pipe,
            text=True,
            env={**os.environ, **ONE_THREAD},
        )

    def measure(self, horizon: int) -> float:
        """Return the processor time of one run, in microseconds per seed and step."""
        self.process.stdin.write(f"{horizon} {self.n_seeds}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.python} ended with status {self.process.wait()}; see above.")
        return float(answer)

    def stop(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


def describe(other: Sequence[float], this: Sequence[float], horizon: int) -> str:
    """Return the line of one horizon."""
    parts = [f"{horizon:>9,}"]
    for summary in (min, statistics.median):
        before, now = summary(other), summary(this)
        parts.append(f"{before:8.3f} {now:8.3f} {now / before:6.2f}")
    return "   ".join(parts)


def main() -> None:
    """Print a line for every horizon."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", help="Python of the environment with the other version.")
    parser.add_argument("--repeats", type=int, default=7, help="Runs of each version.")
    parser.add_argument("--horizons", default="10000,60000,100000", help="Numbers of steps.")
    parser.add_argument(
        "--auto", default="", metavar="PROBLEM", help="Run banditsrl-auto on this problem instead."
    )
    options = parser.parse_args()
    versions = [Version(python, options.auto) for python in (options.other, sys.executable)]
    print("  horizon   minima: other, this, ratio   medians: other, this, ratio")
    for horizon in map(int, options.horizons.split(",")):
        first = [1e-6 * one.measure(horizon) * horizon * one.n_seeds for one in versions]
        print(f"{horizon:>9,}   first run: {first[0]:.1f} s, {first[1]:.1f} s", flush=True)
        repeats = range(options.repeats)
        times = [[version.measure(horizon) for version in versions] for _ in repeats]
        other, this = zip(*times, strict=True)
        print(describe(other, this, horizon), flush=True)
    for version in versions:
        version.stop()


if __name__ == "__main__":
    main()
