"""How do the libraries compare? All runs of the benchmark, one process at a time.

    python benchmarks/peers/run.py [--seeds 5] [--first-seed 100] [--steps 10000]
        [--problems wheel magic] [--only vw "ours/linucb-disjoint"] [--folder build/peers]

Every run is a separate process with one thread, and writes one JSON file into the folder. Finished
runs are not repeated. The error of a failed run is recorded, and the run is tried again the next
time. The exit status is 1 if any run failed. `report.py` makes the tables and the figure.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from provenance import write_provenance
from settings import SETTINGS
from streams import PROBLEMS, stream_path

HERE = Path(__file__).resolve().parent
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
N_ERROR_LINES = 5


class Job(NamedTuple):
    """One run."""

    runner: str
    setting: str
    problem: str
    seed: int
    steps: int

    def path(self, folder: Path) -> Path:
        """Return the file of its record, whose name depends on the job alone."""
        digest = hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:12]
        return folder / "runs" / f"{self.runner}-{self.problem}-{self.seed}-{digest}.json"


def main() -> int:
    """Run the jobs that are missing."""
    arguments = _parse_arguments()
    jobs = plan_jobs(arguments)
    (arguments.folder / "runs").mkdir(parents=True, exist_ok=True)
    write_provenance(arguments.folder)
    failed = 0
    for index, job in enumerate(jobs, start=1):
        status, what = read_finished(job, arguments.folder), "kept"
        if status is None:
            what = "ran"
            status = execute(job, arguments.folder, arguments.timeout)
        failed += status["status"] == "failed"
        print(f"[{index}/{len(jobs)}] {what} {_format_line(job, status)}", flush=True)
    print(f"{len(jobs)} runs, {failed} failed; records in {arguments.folder / 'runs'}")
    return 1 if failed else 0


def plan_jobs(arguments: argparse.Namespace) -> list[Job]:
    """Return the jobs of a command, fast libraries first, then seed by seed."""
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    return [
        Job(runner, setting, problem, seed, arguments.steps)
        for runner, settings in SETTINGS.items()
        for seed in seeds
        for problem in arguments.problems
        for setting in settings
        if not arguments.only or {runner, f"{runner}/{setting}"} & set(arguments.only)
    ]


def read_finished(job: Job, folder: Path) -> dict[str, object] | None:
    """Return the record of a finished run, or None."""
    path = job.path(folder)
    record: dict[str, object] = json.loads(path.read_text()) if path.is_file() else {}
    return record if record.get("status") == "done" else None


def execute(job: Job, folder: Path, timeout: float) -> dict[str, object]:
    """Run one job in a separate process and write its record."""
    path, part = job.path(folder), job.path(folder).with_suffix(".part")
    started = time.perf_counter()
    error = _write_stream(job, folder) or _run_command(
        [*_command(job, folder), "--out", str(part)], timeout=timeout
    )
    outcome: dict[str, object] = (
        {"status": "failed", "error": error} if error else json.loads(part.read_text())
    )
    seconds = time.perf_counter() - started
    record = {**job._asdict(), **outcome, "process_seconds": seconds}
    part.write_text(json.dumps(record, indent=1))
    part.replace(path)
    return record


def _write_stream(job: Job, folder: Path) -> str:
    """Write the stream if it is missing; return an error message, or an empty string."""
    if stream_path(folder, job.problem, job.seed, job.steps).is_file():
        return ""
    words = [job.problem, str(job.seed), str(job.steps), str(folder)]
    return _run_command([sys.executable, str(HERE / "dealing.py"), *words], timeout=None)


def _command(job: Job, folder: Path) -> list[str]:
    words = [f"--{name}={value}" for name, value in job._asdict().items()]
    return [sys.executable, str(HERE / "play.py"), *words, f"--folder={folder}"]


def _run_command(command: list[str], *, timeout: float | None) -> str:
    """Run a command; return the last lines of its error, or an empty string."""
    environment = {**os.environ, **ONE_THREAD}
    try:
        done = subprocess.run(
            command, env=environment, timeout=timeout, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return f"The run took longer than {timeout:g} s."
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines()[-N_ERROR_LINES:]
    return "\n".join(lines) or f"The run exited with status {done.returncode}."


def _format_line(job: Job, record: dict[str, object]) -> str:
    name = f"{job.runner}/{job.setting} on {job.problem}, seed {job.seed}:"
    if record["status"] != "done":
        return f"{name} {record['status']}: {record.get('error', record.get('reason'))}"
    curve, cost = record["curve"], record["microseconds"]
    if not isinstance(curve, list) or not isinstance(cost, float):
        raise TypeError(f"{name} the record is damaged.")
    return f"{name} regret {curve[-1][1]:.1f}, {cost:.0f} us per step"


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run banditsrl and its peers on the same streams.")
    parser.add_argument("--seeds", type=int, default=5, help="Number of seeds.")
    parser.add_argument(
        "--first-seed",
        type=int,
        default=100,
        help="First seed; seeds are numbered consecutively from here.",
    )
    parser.add_argument("--steps", type=int, default=10_000, help="Steps of each run.")
    parser.add_argument(
        "--problems", nargs="+", default=PROBLEMS, choices=PROBLEMS, help="Problems."
    )
    parser.add_argument(
        "--only", nargs="+", default=(), help='Runners, or "runner/setting", to run.'
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("build/peers"), help="Folder of streams and records."
    )
    parser.add_argument(
        "--timeout", type=float, default=7_200.0, help="Longest time of one run, in seconds."
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
