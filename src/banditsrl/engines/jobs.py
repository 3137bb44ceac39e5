"""How is one run carried out? Built, simulated with a checkpoint, and turned into a table."""

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from banditsrl.errors import StateFileError
from banditsrl.experiments.building import build
from banditsrl.experiments.environment import versions
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.run_tables import table_of
from banditsrl.experiments.store import Store
from banditsrl.simulation.checkpoint import FileCheckpoint
from banditsrl.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl

CHECKPOINT_SECONDS = 30.0
"""Between two saves, unless the variable BANDITSRL_CHECKPOINT_SECONDS says otherwise."""

TELL_SECONDS = 0.5
"""Between two reports of progress of one worker."""

SHORT_SECONDS = 1.0
"""Runs below this are so short that waiting for their files matters."""


class Job(NamedTuple):
    """A run that is to be done."""

    spec: RunSpec
    label: str
    seconds: float  # expected

    @property
    def n_steps(self) -> int:
        """Steps over all seeds."""
        return self.spec.horizon * len(self.spec.seeds)


class Status(NamedTuple):
    """What a worker is doing."""

    run: str
    label: str
    done: int  # steps over all seeds
    total: int
    regret: float  # mean over seeds, so far


class Outcome(NamedTuple):
    """What came of a run: an error, or none."""

    run: str
    seconds: float
    regret: float = float("nan")
    error: str | None = None


Tell = Callable[[Status], None]
Say = Callable[[str], None]


class Reporter:
    """Progress of one run, passed on at most every half second."""

    def __init__(self, job: Job, tell: Tell) -> None:
        self.job = job
        self.tell = tell
        self._next = 0.0

    def __call__(self, done: int, total: int, regret: float) -> None:
        """Called by `simulate`."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + TELL_SECONDS
            self.tell(Status(self.job.spec.hash, self.job.label, done, total, regret))


def simulated(job: Job, checkpoint: Path, *, tell: Tell, say: Say) -> tuple["pl.DataFrame", float]:
    """The table of a run and its mean final regret; it goes on from its checkpoint."""
    spec = job.spec
    problem, policy = build(spec)
    kept = FileCheckpoint(
        checkpoint,
        identity=f"{spec.hash} {dict(versions())}",
        every=float(os.environ.get("BANDITSRL_CHECKPOINT_SECONDS", CHECKPOINT_SECONDS)),
        say=say,
    )
    result = simulate(
        problem,
        policy,
        horizon=spec.horizon,
        seeds=spec.seeds,
        steps=spec.steps,
        progress=Reporter(job, tell),
        checkpoint=kept,
    )
    return table_of(result, seconds=kept.spent + result.seconds), float(result.mean[-1])


class Attempt(NamedTuple):
    """An outcome with its table, or with the trace of its error."""

    outcome: Outcome
    table: "pl.DataFrame | None"
    trace: str


def attempted(job: Job, checkpoint: Path, *, tell: Tell, say: Say) -> Attempt:
    """Do a run; an error becomes part of the outcome, so that other runs go on."""
    started = time.perf_counter()
    try:
        try:
            table, regret = simulated(job, checkpoint, tell=tell, say=say)
        except StateFileError as error:
            say(f"{checkpoint}: {error} It is ignored; the run starts again.")
            checkpoint.unlink()
            table, regret = simulated(job, checkpoint, tell=tell, say=say)
    except Exception as error:
        sentence = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        failed = Outcome(job.spec.hash, time.perf_counter() - started, error=sentence)
        return Attempt(failed, None, traceback.format_exc())
    seconds = time.perf_counter() - started
    return Attempt(Outcome(job.spec.hash, seconds, regret), table, "")


def done_in_store(
    jobs: Sequence[Job], store: Store, *, command: str, tell: Tell, say: Say
) -> Iterator[Outcome]:
    """Do runs and put each into its folder, where an error is written down too.

    While a short run is simulated, a second thread writes the table of the one before and makes
    the folder of the next. An outcome comes when its table is in place.
    """
    with ThreadPoolExecutor(max_workers=1) as files:
        waiting: list[Future[Outcome]] = []
        begun: dict[int, Future[Path]] = {}

        def begin(index: int) -> None:
            if index < len(jobs) and index not in begun:
                begun[index] = files.submit(store.begin, jobs[index].spec, command=command)

        for index, job in enumerate(jobs):
            begin(index)
            try:
                checkpoint = begun.pop(index).result() / "checkpoint.npz"
                if job.seconds < SHORT_SECONDS:
                    begin(index + 1)
                attempt = attempted(job, checkpoint, tell=tell, say=say)
            except OSError as error:
                attempt = Attempt(_unwritten(job, store, error), None, "")
            yield from (future.result() for future in waiting)
            waiting = [files.submit(_filed, job, store, attempt)]
            if attempt.outcome.seconds > SHORT_SECONDS:
                yield waiting.pop().result()
        yield from (future.result() for future in waiting)


def _filed(job: Job, store: Store, attempt: Attempt) -> Outcome:
    """Write what came of a run."""
    try:
        if attempt.table is not None:
            store.finish(job.spec, attempt.table)
        elif attempt.trace:
            store.fail(job.spec, attempt.trace)
    except OSError as error:
        return _unwritten(job, store, error)
    return attempt.outcome


def _unwritten(job: Job, store: Store, error: OSError) -> Outcome:
    return Outcome(job.spec.hash, 0.0, error=f"{store.folder(job.spec.hash)}: {error}")
