"""How far is a sweep? Steps, speed, regret so far and time left, from what workers report."""

import contextlib
import threading
import time
from collections import defaultdict
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
        self._steps: dict[str, int] = {}  # most steps that were reported of each run
        self._started = time.monotonic()
        self._share = 0.0

    def add(self, outcome: Outcome) -> None:
        """Take note of a job that has ended."""
        self.outcomes[outcome.run] = outcome

    def snapshot(self, workers: Mapping[str, Status]) -> Snapshot:
        """Return the progress now, given what each worker is doing.

        The share never falls: neither when a worker that died starts its run again, nor when a
        measured run shows that there is more work than was expected.
        """
        open_runs = self.jobs.keys() - self.outcomes.keys()
        workers = {name: status for name, status in workers.items() if status.run in open_runs}
        for status in workers.values():
            self._steps[status.run] = max(self._steps.get(status.run, 0), status.done)
        share = self._measure_share()
        self._share = max(self._share, share)
        spent = max(time.monotonic() - self._started, 1e-9)
        regrets = [outcome.regret for outcome in self.outcomes.values() if outcome.error is None]
        regrets += [status.regret for status in workers.values() if status.done]
        return Snapshot(
            n_finished=len(self.outcomes),
            n_jobs=len(self.jobs),
            share=self._share,
            steps_per_second=sum(map(self._count_steps, self.jobs)) / spent,
            regret=sum(regrets) / len(regrets) if regrets else float("nan"),
            seconds_left=spent * (1.0 - share) / share if share > 0 else float("inf"),
            workers=workers,
        )

    def _count_steps(self, run: str) -> int:
        return self.jobs[run].n_steps if run in self.outcomes else self._steps.get(run, 0)

    def _measure_share(self) -> float:
        """Return the share of the work that is done; expected times are corrected by measured ones.

        The correction of a run is the one of its own cell, or else that of all finished runs.
        """
        measured: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for run, outcome in self.outcomes.items():
            if outcome.error is None and outcome.seconds > 0:
                pair = (outcome.seconds, self.jobs[run].seconds)
                measured[self.jobs[run].spec.cell_hash].append(pair)
                measured[""].append(pair)
        factors = {cell: _divide(pairs) for cell, pairs in measured.items()}
        done = work = 0.0
        for run, job in self.jobs.items():
            factor = factors.get(job.spec.cell_hash, factors.get("", 1.0))
            work += factor * job.seconds
            done += factor * job.seconds * self._count_steps(run) / max(job.n_steps, 1)
        return min(done / work, 1.0) if work > 0 else 0.0


def _divide(pairs: Sequence[tuple[float, float]]) -> float:
    """Return measured over expected time."""
    expected = sum(pair[1] for pair in pairs)
    return sum(pair[0] for pair in pairs) / expected if expected > 0 else 1.0


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
