"""How are jobs done on one machine? In this process, or in several that share its cores."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from itertools import groupby
from multiprocessing import resource_tracker
from pathlib import Path

from banditsrl.core.files import cache_dir, write_bytes
from banditsrl.core.scratch import scratch_folder
from banditsrl.engines.jobs import Outcome, Status, run_jobs_into_store
from banditsrl.experiments.environment import count_cores
from banditsrl.experiments.planning import Job
from banditsrl.experiments.store import Store
from banditsrl.numerics.process import (
    environment_variables,
    keep_live_objects_out_of_garbage_collection,
    thread_limits,
    use_compilation_cache,
)

BATCH_SECONDS = 5.0
"""Runs of one cell are given to a worker together, up to this much expected time."""

MAX_BATCH = 50
"""Most runs that are given to a worker together."""

ATTEMPTS = 3
"""How often in a row workers may die without finishing anything before the sweep gives up."""


class InProcess:
    """An engine that does one job after the other in this process."""

    def __init__(self) -> None:
        self._status: dict[str, Status] = {}

    def run_jobs(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        """Do the jobs in order and yield their outcomes."""
        use_compilation_cache(compiled_programs())
        with environment_variables(thread_limits(count_cores())):  # XLA reads them when it starts
            for outcome in run_jobs_into_store(
                jobs, store, command=command, report=self._report, print_message=print_line
            ):
                self._status.clear()
                yield outcome

    def read_statuses(self) -> Mapping[str, Status]:
        """Return the status of the run that is being made, if any."""
        return dict(self._status)

    def _report(self, status: Status) -> None:
        self._status["1"] = status


class Processes:
    """An engine of several processes on this machine, each with its share of the cores.

    The workers belong to joblib. Each writes its status into a file of its own in a scratch folder,
    the status board.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._board: Path | None = None

    def run_jobs(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        """Do the jobs and yield their outcomes; jobs of a worker that dies are done again."""
        waiting, attempts = {job.spec.hash: job for job in jobs}, ATTEMPTS
        with scratch_folder() as board:
            self._board = board
            while waiting and attempts:
                before = len(waiting)
                try:
                    for outcome in self._run_batches(list(waiting.values()), store, command):
                        del waiting[outcome.run]
                        yield outcome
                except BrokenProcessPool:
                    for run in [run for run in waiting if store.is_finished(run)]:
                        del waiting[run]
                        yield Outcome(run, 0.0)
                    attempts = ATTEMPTS if len(waiting) < before else attempts - 1
        for run in waiting:
            yield Outcome(run, 0.0, error="its worker was killed, perhaps for lack of memory")

    def read_statuses(self) -> Mapping[str, Status]:
        """Return what each worker wrote on the board last."""
        found: dict[str, Status] = {}
        for path in sorted(self._board.glob("*.json")) if self._board else []:
            with contextlib.suppress(OSError, ValueError, TypeError):
                found[path.stem] = Status(*json.loads(path.read_text()))
        return found

    def _run_batches(self, jobs: list[Job], store: Store, command: str) -> Iterator[Outcome]:
        """Give batches of jobs to worker processes and yield outcomes as they come."""
        from joblib import Parallel, delayed

        batches = split_into_batches(jobs, self.n_workers)
        with environment_variables(thread_limits(max(1, count_cores() // self.n_workers))):
            parallel = Parallel(
                n_jobs=self.n_workers,
                backend="loky",
                return_as="generator_unordered",
                batch_size=1,
                pre_dispatch=2 * self.n_workers,
                initializer=_start_worker,
            )
            arguments = (store.directory, command, self._board, os.getpid())
            with _hold_interruption():
                found = parallel(
                    delayed(_run_jobs_in_worker)(batch, *arguments) for batch in batches
                )
            for outcomes in found:
                yield from outcomes


def split_into_batches(jobs: Sequence[Job], n_workers: int) -> list[list[Job]]:
    """Group consecutive short jobs of one cell, so that each worker compiles few programs."""
    batches: list[list[Job]] = []
    for _, group in groupby(jobs, key=lambda job: job.spec.cell_hash):
        members = list(group)
        fair = -(-len(members) // (2 * n_workers))
        fitting = int(BATCH_SECONDS / max(1e-9, *(job.seconds for job in members)))
        size = max(1, min(fair, fitting, MAX_BATCH))
        batches += [members[i : i + size] for i in range(0, len(members), size)]
    return batches


def compiled_programs() -> Path:
    """Return the folder in which processes share compiled programs."""
    return cache_dir() / "compiled"


def print_line(sentence: str) -> None:
    """Print a line to standard error in one piece, whichever processes print at the same time."""
    os.write(2, f"{sentence}\n".encode())


@contextlib.contextmanager
def _hold_interruption() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block; processes that start in it never see it.

    Ctrl-C is for the parent, which ends its workers. A worker that is still importing would print a
    traceback. The tracker of `multiprocessing` is started first: its start lets Ctrl-C through.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    """Prepare a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # also where signals cannot be held back
    use_compilation_cache(compiled_programs())
    keep_live_objects_out_of_garbage_collection()


def _run_jobs_in_worker(
    jobs: list[Job], directory: Path, command: str, board: Path, parent: int
) -> list[Outcome]:
    """Do a few jobs in a worker process."""
    place = board / f"{os.getpid()}.json"

    def report(status: Status) -> None:
        if os.getppid() != parent:
            os._exit(1)  # the parent was killed, so nobody waits for the outcome
        with contextlib.suppress(OSError):
            write_bytes(place, json.dumps(status).encode(), sync=False)

    outcomes = list(
        run_jobs_into_store(
            jobs, Store(directory), command=command, report=report, print_message=print_line
        )
    )
    place.unlink(missing_ok=True)
    keep_live_objects_out_of_garbage_collection()
    return outcomes
