"""How is a job carried out? It is simulated with a checkpoint, and its table goes into the store.

run_jobs_into_store     does several jobs and writes what came of each into its folder
try_job                 does one job and turns an error into part of the outcome
run_job                 builds the problem and the policy, simulates, and returns the table
"""

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from banditsrl.errors import StateFileError
from banditsrl.experiments.building import build_policy, build_problem
from banditsrl.experiments.environment import read_versions
from banditsrl.experiments.planning import Job
from banditsrl.experiments.run_tables import make_table
from banditsrl.experiments.store import Store
from banditsrl.simulation.checkpoint import FileCheckpoint
from banditsrl.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl

CHECKPOINT_SECONDS = 30.0
"""Time between two saves, unless the variable BANDITSRL_CHECKPOINT_SECONDS is set."""

REPORT_SECONDS = 0.5
"""Time between two reports of the progress of one worker."""

SHORT_SECONDS = 1.0
"""Runs below this time are so short that waiting for their files would matter."""


class Status(NamedTuple):
    """What a worker is doing; no step is done while programs are compiled or a state is read."""

    run: str
    label: str
    done: int  # steps over all seeds
    total: int
    regret: float  # mean over seeds, so far


class Outcome(NamedTuple):
    """How a job ended: with a regret, or with an error."""

    run: str
    seconds: float
    regret: float = float("nan")
    error: str | None = None


ReportStatus = Callable[[Status], None]
PrintMessage = Callable[[str], None]


class StatusReporter:
    """Passes the progress of one run on, at most every half second."""

    def __init__(self, job: Job, report: ReportStatus) -> None:
        self.job = job
        self.report = report
        self._next = 0.0

    def __call__(self, done: int, total: int, regret: float) -> None:
        """Take the progress that `simulate` reports."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + REPORT_SECONDS
            self.report(Status(self.job.spec.hash, self.job.label, done, total, regret))


class Attempt(NamedTuple):
    """An outcome with the table of the run, or with the traceback of its error."""

    outcome: Outcome
    table: "pl.DataFrame | None"
    trace: str


def run_jobs_into_store(
    jobs: Sequence[Job],
    store: Store,
    *,
    command: str,
    report: ReportStatus,
    print_message: PrintMessage,
) -> Iterator[Outcome]:
    """Do jobs in order, and write the table or the error of each into its folder.

    While a short run is simulated, a second thread writes the table of the previous run and makes
    the folder of the next one. An outcome is yielded when its table is in place.
    """
    with ThreadPoolExecutor(max_workers=1) as writer:
        unwritten: list[Future[Outcome]] = []
        folders: dict[int, Future[Path]] = {}

        def begin(index: int) -> None:
            if index < len(jobs) and index not in folders:
                folders[index] = writer.submit(store.begin, jobs[index].spec, command=command)

        for index, job in enumerate(jobs):
            begin(index)
            try:
                checkpoint = folders.pop(index).result() / "checkpoint.npz"
                if job.seconds < SHORT_SECONDS:
                    begin(index + 1)
                attempt = try_job(job, checkpoint, report=report, print_message=print_message)
            except OSError as error:
                attempt = Attempt(_storage_failure(job, store, error), None, "")
            yield from (future.result() for future in unwritten)
            unwritten = [writer.submit(_write_attempt, job, store, attempt)]
            if attempt.outcome.seconds > SHORT_SECONDS:
                yield unwritten.pop().result()
        yield from (future.result() for future in unwritten)


def try_job(
    job: Job, checkpoint: Path, *, report: ReportStatus, print_message: PrintMessage
) -> Attempt:
    """Do one job; an error becomes part of the outcome, so that other jobs go on."""
    started = time.perf_counter()
    try:
        try:
            table, regret = run_job(job, checkpoint, report=report, print_message=print_message)
        except StateFileError as error:
            print_message(f"{checkpoint}: {error} It is ignored; the run starts again.")
            checkpoint.unlink()
            table, regret = run_job(job, checkpoint, report=report, print_message=print_message)
    except Exception as error:
        sentence = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        failed = Outcome(job.spec.hash, time.perf_counter() - started, error=sentence)
        return Attempt(failed, None, traceback.format_exc())
    seconds = time.perf_counter() - started
    return Attempt(Outcome(job.spec.hash, seconds, regret), table, "")


def run_job(
    job: Job, checkpoint: Path, *, report: ReportStatus, print_message: PrintMessage
) -> tuple["pl.DataFrame", float]:
    """Simulate a run and return its table and its mean final regret.

    If the file `checkpoint` exists, the simulation continues from it.
    """
    spec = job.spec
    report(Status(spec.hash, job.label, 0, job.n_steps, float("nan")))
    saved = FileCheckpoint(
        checkpoint,
        identity=f"{spec.hash} {dict(read_versions())}",
        every=float(os.environ.get("BANDITSRL_CHECKPOINT_SECONDS", CHECKPOINT_SECONDS)),
        say=print_message,
    )
    result = simulate(
        build_problem(spec),
        build_policy(spec),
        horizon=spec.horizon,
        seeds=spec.seeds,
        steps=spec.steps,
        progress=StatusReporter(job, report),
        checkpoint=saved,
    )
    return make_table(result, seconds=saved.spent + result.seconds), float(result.mean[-1])


def _write_attempt(job: Job, store: Store, attempt: Attempt) -> Outcome:
    """Write the table or the error of a run into its folder."""
    try:
        if attempt.table is not None:
            store.finish(job.spec, attempt.table)
        elif attempt.trace:
            store.fail(job.spec, attempt.trace)
    except OSError as error:
        return _storage_failure(job, store, error)
    return attempt.outcome


def _storage_failure(job: Job, store: Store, error: OSError) -> Outcome:
    """Return the outcome of a job whose folder cannot be written."""
    return Outcome(job.spec.hash, 0.0, error=f"{store.folder(job.spec.hash)}: {error}")
