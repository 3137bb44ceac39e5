"""How do the libraries compare? All runs of the benchmark, one process at a time.

    python benchmarks/peers/run.py [--seeds 5] [--first-seed 100] [--steps 10000]
        [--problems wheel magic] [--only vw "ours/linucb-disjoint"] [--folder build/peers]

Every run is a process of its own with one thread, and leaves one JSON file in the folder; a run
that is finished is not repeated, a failed one is written down with its error and tried again the
next time. The command fails if any run failed. `report.py` makes the table and the figure.
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

from provenance import note
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
        """Where its record is kept: named by what is run, never by position."""
        told = hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:12]
        return folder / "runs" / f"{self.runner}-{self.problem}-{self.seed}-{told}.json"


def main() -> int:
    """Run what is missing."""
    asked = _arguments()
    jobs = planned(asked)
    (asked.folder / "runs").mkdir(parents=True, exist_ok=True)
    note(asked.folder)
    failed = 0
    for index, job in enumerate(jobs, start=1):
        status, what = finished(job, asked.folder), "kept"
        if status is None:
            what = "ran"
            status = executed(job, asked.folder, asked.timeout)
        failed += status["status"] == "failed"
        print(f"[{index}/{len(jobs)}] {what} {_line(job, status)}", flush=True)
    print(f"{len(jobs)} runs, {failed} failed; records in {asked.folder / 'runs'}")
    return 1 if failed else 0


def planned(asked: argparse.Namespace) -> list[Job]:
    """All runs that were asked for, fast libraries first, then seed by seed."""
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    return [
        Job(runner, setting, problem, seed, asked.steps)
        for runner, settings in SETTINGS.items()
        for seed in seeds
        for problem in asked.problems
        for setting in settings
        if not asked.only or {runner, f"{runner}/{setting}"} & set(asked.only)
    ]


def finished(job: Job, folder: Path) -> dict[str, object] | None:
    """The record of a run that is done."""
    path = job.path(folder)
    record: dict[str, object] = json.loads(path.read_text()) if path.is_file() else {}
    return record if record.get("status") == "done" else None


def executed(job: Job, folder: Path, timeout: float) -> dict[str, object]:
    """Run one job in a process of its own and keep its record."""
    path, part = job.path(folder), job.path(folder).with_suffix(".part")
    started = time.perf_counter()
    error = _dealt(job, folder) or _called(
        [*_command(job, folder), "--out", str(part)], timeout=timeout
    )
    told: dict[str, object] = (
        {"status": "failed", "error": error} if error else json.loads(part.read_text())
    )
    seconds = time.perf_counter() - started
    record = {**job._asdict(), **told, "process_seconds": seconds}
    part.write_text(json.dumps(record, indent=1))
    part.replace(path)
    return record


def _dealt(job: Job, folder: Path) -> str:
    """Make sure that the stream is there; returns an error or nothing."""
    if stream_path(folder, job.problem, job.seed, job.steps).is_file():
        return ""
    words = [job.problem, str(job.seed), str(job.steps), str(folder)]
    return _called([sys.executable, str(HERE / "dealing.py"), *words], timeout=None)


def _command(job: Job, folder: Path) -> list[str]:
    words = [f"--{name}={value}" for name, value in job._asdict().items()]
    return [sys.executable, str(HERE / "play.py"), *words, f"--folder={folder}"]


def _called(command: list[str], *, timeout: float | None) -> str:
    """The last lines of the error of a command, or nothing."""
    environment = {**os.environ, **ONE_THREAD}
    try:
        done = subprocess.run(
            command, env=environment, timeout=timeout, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {timeout:g} s"
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines()[-N_ERROR_LINES:]
    return "\n".join(lines) or f"ended with code {done.returncode}"


def _line(job: Job, record: dict[str, object]) -> str:
    name = f"{job.runner}/{job.setting} on {job.problem}, seed {job.seed}:"
    if record["status"] != "done":
        return f"{name} {record['status']}: {record.get('error', record.get('reason'))}"
    curve, cost = record["curve"], record["microseconds"]
    if not isinstance(curve, list) or not isinstance(cost, float):
        raise TypeError(f"{name} the record is damaged.")
    return f"{name} regret {curve[-1][1]:.1f}, {cost:.0f} us per step"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run banditsrl and its peers on the same streams.")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=100, help="the first of them")
    parser.add_argument("--steps", type=int, default=10_000, help="steps of a run")
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, choices=PROBLEMS)
    parser.add_argument("--only", nargs="+", default=(), help='runners, or "runner/setting"')
    parser.add_argument("--folder", type=Path, default=Path("build/peers"), help="where to work")
    parser.add_argument("--timeout", type=float, default=7_200.0, help="seconds of one run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
