"""How far is a sweep? Steps, speed, regret so far and time left, from what workers report."""

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from banditsrl.engines.engine import Engine
from banditsrl.engines.jobs import Outcome, Status
from banditsrl.experiments.planning import Job, SweepPlan


class Snapshot(NamedTuple):
    """The progress of a sweep at one moment."""

    n_finished: int  # runs, since this start
    n_jobs: int
    share: float  # of the expected work, between 0 and 1
    steps_per_second: float
    regret: float  # mean over the runs seen so far
    seconds_left: float
    workers: Mapping[str, Status]


class Display(Protocol):
    """Something that shows a snapshot every `every` seconds."""

    every: float

    def show(self, snapshot: Snapshot) -> None:
        """Show the progress."""

    def end(self, snapshot: Snapshot) -> None:
        """Show the progress for the last time."""


class Meter:
    """Adds up the progress of all jobs of a sweep."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = {job.spec.hash: job for job in jobs}
        self.outcomes: dict[str, Outcome] = {}
        self._started = time.monotonic()
        self._work = sum(job.seconds for job in jobs) or 1.0

    def add(self, outcome: Outcome) -> None:
        """Take note of a job that has ended."""
        self.outcomes[outcome.run] = outcome

    def snapshot(self, workers: Mapping[str, Status]) -> Snapshot:
        """Return the progress now, given what each worker is doing."""
        open_runs = self.jobs.keys() - self.outcomes.keys()
        workers = {name: status for name, status in workers.items() if status.run in open_runs}
        running = workers.values()
        finished = [self.jobs[run] for run in self.outcomes]
        work = sum(job.seconds for job in finished)
        work += sum(self.jobs[s.run].seconds * s.done / max(s.total, 1) for s in running)
        steps = sum(job.n_steps for job in finished) + sum(s.done for s in running)
        share = min(work / self._work, 1.0)
        spent = max(time.monotonic() - self._started, 1e-9)
        regrets = [outcome.regret for outcome in self.outcomes.values() if outcome.error is None]
        regrets += [status.regret for status in running]
        return Snapshot(
            n_finished=len(self.outcomes),
            n_jobs=len(self.jobs),
            share=share,
            steps_per_second=steps / spent,
            regret=sum(regrets) / len(regrets) if regrets else float("nan"),
            seconds_left=spent * (1.0 - share) / share if share > 0 else float("inf"),
            workers=workers,
        )


def run_plan(
    plan: SweepPlan, engine: Engine, *, command: str, display: Display | None
) -> list[Outcome]:
    """Do the missing runs of a plan and return their outcomes, failed runs included."""
    meter = Meter(plan.jobs)
    if not plan.jobs:
        return []
    with _show_progress(meter, engine, display):
        for outcome in engine.run_jobs(plan.jobs, plan.store, command):
            meter.add(outcome)
    return list(meter.outcomes.values())


@contextlib.contextmanager
def _show_progress(meter: Meter, engine: Engine, display: Display | None) -> Iterator[None]:
    """Show snapshots from a second thread while the first one waits for outcomes."""
    if display is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(display.every):
            display.show(meter.snapshot(engine.read_statuses()))

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        display.end(meter.snapshot({}))
