"""How are runs done on one machine? In this process, or in several that share its cores."""

import contextlib
import gc
import json
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from itertools import groupby
from pathlib import Path
from typing import Any

import jax

from banditsrl.datasets.sources import cache_dir
from banditsrl.engines.jobs import Job, Outcome, Status, done_in_store
from banditsrl.experiments.environment import n_cores
from banditsrl.experiments.store import Store

BATCH_SECONDS = 5.0
"""Runs of one cell are handed to a worker together up to this much expected time."""

MAX_BATCH = 50

ATTEMPTS = 3
"""How often in a row workers may die without finishing anything before we give up."""

ONE_THREAD_PER_PRODUCT = "--xla_cpu_multi_thread_eigen=false"
"""Matrix products on one thread: their sums are then the same however many cores there are."""


class InProcess:
    """One run after the other, here."""

    def __init__(self) -> None:
        self._status: dict[str, Status] = {}

    def outcomes(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        """Do the jobs in order."""
        use_compilation_cache()
        with _environment(limits(n_cores())):  # read when the first program is compiled
            for outcome in done_in_store(
                jobs, store, command=command, tell=self._tell, say=to_stderr
            ):
                self._status.clear()
                yield outcome

    def statuses(self) -> Mapping[str, Status]:
        """What is being done."""
        return dict(self._status)

    def _tell(self, status: Status) -> None:
        self._status["1"] = status


class Processes:
    """Worker processes on this machine, each with its share of the cores, through joblib."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._board: Path | None = None

    def outcomes(self, jobs: Sequence[Job], store: Store, command: str) -> Iterator[Outcome]:
        """Do the jobs; when a worker dies, what it had not finished is done again."""
        waiting, attempts = {job.spec.hash: job for job in jobs}, ATTEMPTS
        with tempfile.TemporaryDirectory(prefix="banditsrl-") as board:
            self._board = Path(board)
            while waiting and attempts:
                before = len(waiting)
                try:
                    for outcome in self._round(list(waiting.values()), store, command):
                        del waiting[outcome.run]
                        yield outcome
                except BrokenProcessPool:
                    for run in [run for run in waiting if store.is_finished(run)]:
                        del waiting[run]
                        yield Outcome(run, 0.0)
                    attempts = ATTEMPTS if len(waiting) < before else attempts - 1
        for run in waiting:
            yield Outcome(run, 0.0, error="its worker was killed, perhaps for lack of memory")

    def statuses(self) -> Mapping[str, Status]:
        """What the workers wrote on the board last."""
        found: dict[str, Status] = {}
        for path in sorted(self._board.glob("*.json")) if self._board else []:
            with contextlib.suppress(OSError, ValueError, TypeError):
                found[path.stem] = Status(*json.loads(path.read_text()))
        return found

    def _round(self, jobs: list[Job], store: Store, command: str) -> Iterator[Outcome]:
        from joblib import Parallel, delayed

        pieces = batches(jobs, self.n_workers)
        with _environment(limits(max(1, n_cores() // self.n_workers))):
            parallel = Parallel(
                n_jobs=self.n_workers,
                backend="loky",
                return_as="generator_unordered",
                batch_size=1,
                pre_dispatch=2 * self.n_workers,
                initializer=_start_worker,
            )
            arguments = (store.directory, command, self._board, os.getpid())
            for done in parallel(delayed(_work)(piece, *arguments) for piece in pieces):
                yield from done


def batches(jobs: Sequence[Job], n_workers: int) -> list[list[Job]]:
    """Consecutive short jobs of one cell together, so that each worker compiles few programs."""
    pieces: list[list[Job]] = []
    for _, group in groupby(jobs, key=lambda job: job.spec.cell):
        members = list(group)
        fair = -(-len(members) // (2 * n_workers))
        fitting = int(BATCH_SECONDS / max(1e-9, *(job.seconds for job in members)))
        size = max(1, min(fair, fitting, MAX_BATCH))
        pieces += [members[i : i + size] for i in range(0, len(members), size)]
    return pieces


def limits(n_threads: int) -> dict[str, str]:
    """Environment variables that keep a process to its share of the cores."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_cpu_multi_thread_eigen" not in flags:
        flags = f"{flags} {ONE_THREAD_PER_PRODUCT}".strip()
    names = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
    return {"XLA_FLAGS": flags, **dict.fromkeys(names, str(n_threads))}


def use_compilation_cache() -> None:
    """Share compiled programs between processes and starts, unless a folder is set already."""
    config: Any = jax.config
    if not config.jax_compilation_cache_dir:
        config.update("jax_compilation_cache_dir", str(cache_dir() / "compiled"))
        config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
    if config.jax_logging_level == "NOTSET":
        # XLA takes tuning preferences of many processors for missing features, and prints pages
        # about them whenever a program comes from the cache (openxla/xla issue 44565)
        config.update("jax_logging_level", "CRITICAL")


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    use_compilation_cache()
    _set_garbage_aside()


def _set_garbage_aside() -> None:
    """Keep what is alive out of later collections: loky asks for one every second."""
    gc.collect()
    gc.freeze()


def _work(jobs: list[Job], directory: Path, command: str, board: Path, parent: int) -> Any:
    """Do a few runs in a worker process."""
    store, place = Store(directory), board / f"{os.getpid()}.json"

    def tell(status: Status) -> None:
        if os.getppid() != parent:
            os._exit(1)  # whoever asked for this is gone
        partial = place.with_suffix(".partial")
        with contextlib.suppress(OSError):
            partial.write_text(json.dumps(status))
            partial.replace(place)

    done = list(done_in_store(jobs, store, command=command, tell=tell, say=to_stderr))
    place.unlink(missing_ok=True)
    _set_garbage_aside()
    return done


@contextlib.contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for child processes that start now."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def to_stderr(sentence: str) -> None:
    """A line of its own, whole, whoever else is writing."""
    os.write(2, f"{sentence}\n".encode())
