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

WARM_SHARE, WARM_SECONDS = 0.02, 60.0
"""Speed is measured after this share of a run, or this time: first phases compile programs too."""


class Snapshot(NamedTuple):
    """The progress of a sweep at one moment."""

    n_finished: int  # runs, since this start
    n_jobs: int
    share: float  # of the expected work, between 0 and 1
    steps_per_second: float  # after compilation; zero before it is known
    regret: float  # mean over the runs seen so far
    seconds_left: float  # infinite before the speed is known
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
        self._since: tuple[float, dict[str, int]] | None = None  # when speed began to be measured
        self._first_steps = float("inf")

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
        now = time.monotonic()
        began, before = self._move_start(now)
        steps = {run: self._count_steps(run) for run in self.jobs}
        share = self._measure_share(steps)
        self._share = max(self._share, share)
        spent, gained = max(now - began, 1e-9), share - self._measure_share(before)
        regrets = [outcome.regret for outcome in self.outcomes.values() if outcome.error is None]
        regrets += [status.regret for status in workers.values() if status.done]
        return Snapshot(
            n_finished=len(self.outcomes),
            n_jobs=len(self.jobs),
            share=self._share,
            steps_per_second=(sum(steps.values()) - sum(before.values())) / spent,
            regret=sum(regrets) / len(regrets) if regrets else float("nan"),
            seconds_left=spent * (1.0 - share) / gained if gained > 0 else float("inf"),
            workers=workers,
        )

    def _move_start(self, now: float) -> tuple[float, dict[str, int]]:
        """Return when the measurement of speed began, and the steps that were done then.

        It begins with the first steps that are seen, and begins again while all runs are young. If
        a run has ended by then, it begins with the sweep.
        """
        steps = {run: done for run, done in self._steps.items() if done}
        if self._since is None and self.outcomes:
            self._since = (self._started, {})
        if self._since is None and not steps:
            return now, {}
        self._first_steps = min(self._first_steps, now)
        young = all(done < WARM_SHARE * self.jobs[run].n_steps for run, done in steps.items())
        warming = young and not self.outcomes and now - self._first_steps < WARM_SECONDS
        if self._since is None or warming:
            self._since = (now, steps)
        return self._since

    def _count_steps(self, run: str) -> int:
        return self.jobs[run].n_steps if run in self.outcomes else self._steps.get(run, 0)

    def _measure_share(self, steps: Mapping[str, int]) -> float:
        """Return the share of the work in these steps; measured times correct expected ones.

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
            done += factor * job.seconds * steps.get(run, 0) / max(job.n_steps, 1)
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
