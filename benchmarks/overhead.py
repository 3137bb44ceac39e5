"""What does a sweep cost beside simulation? A thousand short runs, and the report about them.

    python benchmarks/overhead.py [--horizon 10000] [--runs 1000] [--workers 2]

Runs a sweep as a user would and prints the share of the workers' time that was not spent inside
`simulate` (asked: below 10%): from the command to the last table (starting processes, importing,
building, writing tables, waiting), and to its end, where it writes the report. Then the time of
the report alone (asked: below 20 seconds). Runs are of 40 seeds each.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from banditsrl.experiments.store import Store

SWEEP = """
title: A thousand short runs
horizon: {horizon}
seeds: {seeds}
problems: [vardim-realizable]
curves: [linucb, glrt-linucb, egreedy, glrt-egreedy, lints, greedy, igw, glrt-igw, leader, uniform]
"""

N_CURVES = 10

SEEDS_PER_RUN = 40

PROGRAM = "from banditsrl.cli import main; main()"


def timed(*arguments: str) -> float:
    """Seconds that a command of ours takes."""
    started = time.perf_counter()
    command = [sys.executable, "-c", PROGRAM, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Run, report, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "sweep.yaml", Path(folder) / "out"
        seeds = SEEDS_PER_RUN * (asked.runs // N_CURVES)
        file.write_text(SWEEP.format(horizon=asked.horizon, seeds=seeds))
        options = ("--out", str(out), "--workers", str(asked.workers), "--quiet")
        started = time.time()
        whole = timed("sweep", str(file), *options)
        store = Store(out)
        runs = [run.hash for run in store.runs()]
        tables = [store.folder(run) / "table.parquet" for run in runs]
        last = max(table.stat().st_mtime for table in tables) - started
        inside = sum(float(store.read_table(run)["seconds"][0]) for run in runs)
        outside = [1.0 - inside / (asked.workers * seconds) for seconds in (last, whole)]
        report = timed("report", str(out))
    print(
        f"{len(runs)} runs of {asked.horizon:,} steps x {SEEDS_PER_RUN} seeds on {asked.workers} "
        f"workers: {last:.1f} s to the last table, {outside[0]:.1%} of it outside simulation; "
        f"{whole:.1f} s with the report at the end, {outside[1]:.1%}; report alone {report:.1f} s"
    )


if __name__ == "__main__":
    main()
