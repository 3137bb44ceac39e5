"""What does a sweep cost besides simulation? A thousand short runs, and their report.

    python benchmarks/overhead.py [--horizon 10000] [--runs 1000] [--workers 2]

Runs a sweep as a user would, and prints the share of the workers' time that was spent outside
`simulate` (target: below 10%): until the last table is written (this includes starting processes,
importing, building, writing tables and waiting), and until the command ends, after the report. It
then prints the time of the report alone (target: below 20 seconds). Every run has 40 seeds.
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


def time_command(*words: str) -> float:
    """Run a banditsrl command and return its time in seconds."""
    started = time.perf_counter()
    command = [sys.executable, "-c", PROGRAM, *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Run the sweep and the report, and print the costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=10_000, help="Steps of each run.")
    parser.add_argument("--runs", type=int, default=1000, help="Number of runs.")
    parser.add_argument("--workers", type=int, default=2, help="Processes of the sweep.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "sweep.yaml", Path(folder) / "out"
        seeds = SEEDS_PER_RUN * (arguments.runs // N_CURVES)
        file.write_text(SWEEP.format(horizon=arguments.horizon, seeds=seeds))
        options = ("--out", str(out), "--workers", str(arguments.workers), "--quiet")
        started = time.time()
        whole = time_command("sweep", str(file), *options)
        store = Store(out)
        runs = [run.hash for run in store.runs()]
        tables = [store.folder(run) / "table.parquet" for run in runs]
        last = max(table.stat().st_mtime for table in tables) - started
        inside = sum(float(store.read_table(run)["seconds"][0]) for run in runs)
        outside = [1.0 - inside / (arguments.workers * seconds) for seconds in (last, whole)]
        report = time_command("report", str(out))
    print(
        f"{len(runs)} runs of {arguments.horizon:,} steps x {SEEDS_PER_RUN} seeds on "
        f"{arguments.workers} workers: {last:.1f} s to the last table, {outside[0]:.1%} of it "
        f"outside simulation; "
        f"{whole:.1f} s including the report, {outside[1]:.1%}; report alone {report:.1f} s"
    )


if __name__ == "__main__":
    main()
