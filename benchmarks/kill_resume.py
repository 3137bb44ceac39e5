"""Does a sweep that is killed many times produce the same tables?

    python benchmarks/kill_resume.py --times 20

Starts a small sweep as a separate process, kills it with SIGKILL at random moments (the whole
process group, or the parent alone), starts it again, and compares every table with that of a sweep
that was never killed. Only processes that were started here are killed.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from banditsrl.experiments.store import Store

SWEEP = """
title: To be killed
horizon: {horizon}
seeds: {seeds}
problems: [vardim-realizable]
curves: {policies}
"""

MEAN_SECONDS = 1.0
"""Mean time between the start of a run and the kill."""

PROGRAM = "from banditsrl.cli import main; main()"


def start(file: Path, out: Path, *, workers: int, cache: Path | None) -> subprocess.Popen[bytes]:
    """Start the sweep as the leader of its own process group."""
    environment = {**os.environ, "BANDITSRL_CHECKPOINT_SECONDS": "0.05"}
    if cache is not None:
        environment["JAX_COMPILATION_CACHE_DIR"] = str(cache)
        environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"
    command = [sys.executable, "-c", PROGRAM, "sweep", str(file), "--out", str(out), "--quiet"]
    return subprocess.Popen(
        [*command, "--json", "--workers", str(workers)],
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> None:
    """Wait until the sweep ends; raise an error if it failed."""
    _, errors = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"The sweep exited with {process.returncode}: {errors.decode()}")


def kill(process: subprocess.Popen[bytes], *, whole_group: bool) -> bool:
    """Kill the sweep, and return whether it was still running."""
    running = process.poll() is None
    if running and whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    elif running:
        process.kill()
    process.wait()
    if process.stderr is not None:
        process.stderr.close()
    return running


def same_tables(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Tell whether two tables are equal to the last bit in everything but wall time."""
    return one.drop("seconds").equals(other.drop("seconds"))


def find_differences(undisturbed: Path, disturbed: Path) -> list[str]:
    """Return the runs whose tables differ or are missing."""
    one, other = Store(undisturbed), Store(disturbed)
    runs = {run.hash for run in one.runs()} | {run.hash for run in other.runs()}
    return [
        run
        for run in sorted(runs)
        if not (one.is_finished(run) and other.is_finished(run))
        or not same_tables(one.read_table(run), other.read_table(run))
    ]


def trial(
    folder: Path,
    *,
    times: int,
    seed: int = 0,
    workers: int = 2,
    horizon: int = 60_000,
    seeds: int = 80,
    policies: Sequence[str] = ("banditsrl-egreedy", "glrt-linucb"),
    cache: Path | None = None,
) -> tuple[int, list[str]]:
    """Kill sweeps `times` times; return the number of sweeps and the runs that differ."""
    rng = random.Random(seed)
    file = folder / "sweep.yaml"
    file.write_text(SWEEP.format(horizon=horizon, seeds=seeds, policies=list(policies)))
    quiet, n_killed, n_sweeps = folder / "undisturbed", 0, 0
    finish(start(file, quiet, workers=workers, cache=cache))
    wrong: list[str] = []
    while n_killed < times:
        n_sweeps += 1
        out = folder / f"disturbed{n_sweeps}"
        while n_killed < times:
            process = start(file, out, workers=workers, cache=cache)
            wait_for_work(process, out)
            time.sleep(rng.expovariate(1.0 / MEAN_SECONDS))
            if not kill(process, whole_group=rng.random() < 0.5):
                break
            n_killed += 1
        finish(start(file, out, workers=workers, cache=cache))
        wrong += find_differences(quiet, out)
    return n_sweeps, wrong


def wait_for_work(process: subprocess.Popen[bytes], out: Path) -> None:
    """Wait until the sweep works on an unfinished run, or ends."""
    while process.poll() is None:
        for environment in out.glob("runs/*/environment.json"):
            recent = time.time() - environment.stat().st_mtime < 1.0
            if recent and not (environment.parent / "table.parquet").exists():
                return
        time.sleep(0.01)


def main() -> int:
    """Run the trial and print the number of tables that differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=20, help="Number of kills.")
    parser.add_argument("--workers", type=int, default=2, help="Processes of the sweep.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the random moments.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        n_sweeps, wrong = trial(
            Path(folder), times=arguments.times, workers=arguments.workers, seed=arguments.seed
        )
    print(f"{arguments.times} kills in {n_sweeps} sweeps; tables that differ: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
