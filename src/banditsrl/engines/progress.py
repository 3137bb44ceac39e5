"""How far is a sweep? Steps, speed, regret so far and time left, from what workers tell."""

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from banditsrl.engines.engine import Engine
from banditsrl.engines.jobs import Job, Outcome, Status
from banditsrl.experiments.planning import Plan


class Snapshot(NamedTuple):
    """One look at a sweep."""

    n_finished: int  # runs, since this start
    n_jobs: int
    share: float  # of the expected work, between 0 and 1
    steps_per_second: float
    regret: float  # mean over the runs seen so far
    seconds_left: float
    workers: Mapping[str, Status]


class Display(Protocol):
    """Somewhere a snapshot is shown every `every` seconds."""

    every: float

    def show(self, snapshot: Snapshot) -> None:
        """Show how far it is."""

    def end(self, snapshot: Snapshot) -> None:
        """Show it for the last time."""


class Meter:
    """Adds up what is done."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = {job.spec.hash: job for job in jobs}
        self.outcomes: dict[str, Outcome] = {}
        self._started = time.monotonic()
        self._work = sum(job.seconds for job in jobs) or 1.0

    def add(self, outcome: Outcome) -> None:
        """A run is finished."""
        self.outcomes[outcome.run] = outcome

    def snapshot(self, workers: Mapping[str, Status]) -> Snapshot:
        """How far it is now."""
        open_runs = self.jobs.keys() - self.outcomes.keys()
        workers = {name: status for name, status in workers.items() if status.run in open_runs}
        running = workers.values()
        finished = [self.jobs[run] for run in self.outcomes]
        work = sum(job.seconds for job in finished)
        work += sum(self.jobs[s.run].seconds * s.done / max(s.total, 1) for s in running)
        steps = sum(job.n_steps for job in finished) + sum(s.done for s in running)
        share = min(work / self._work, 1.0)
        spent = max(time.monotonic() - self._started, 1e-9)
        good = [o.regret for o in self.outcomes.values() if o.error is None]
        seen = good + [s.regret for s in running]
        return Snapshot(
            n_finished=len(self.outcomes),
            n_jobs=len(self.jobs),
            share=share,
            steps_per_second=steps / spent,
            regret=sum(seen) / len(seen) if seen else float("nan"),
            seconds_left=spent * (1.0 - share) / share if share > 0 else float("inf"),
            workers=workers,
        )


def carry_out(
    plan: Plan, engine: Engine, *, command: str, display: Display | None
) -> list[Outcome]:
    """Do the runs that are missing; what failed is among the outcomes, the others are kept."""
    meter = Meter(plan.jobs)
    if not plan.jobs:
        return []
    with _shown(meter, engine, display):
        for outcome in engine.outcomes(plan.jobs, plan.store, command):
            meter.add(outcome)
    return list(meter.outcomes.values())


@contextlib.contextmanager
def _shown(meter: Meter, engine: Engine, display: Display | None) -> Iterator[None]:
    """Show snapshots from a second thread while the first one waits for outcomes."""
    if display is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(display.every):
            display.show(meter.snapshot(engine.statuses()))

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        display.end(meter.snapshot({}))
