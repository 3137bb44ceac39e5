"""How long will a run take? As long as a finished run of its kind, or else a rough guess."""

from collections.abc import Iterable

from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.store import Run, Store

STEP_SECONDS_SIDE_BY_SIDE = 6e-5
"""Guess for one step of all seeds of a run, if the policy simulates several side by side."""

STEP_SECONDS_ONE_SEED = 7e-4
"""Guess for one step of a policy that simulates one seed at a time, including its training."""

START_SECONDS = 6.0
"""Expected time to compile the programs of a cell."""


class RunTimes:
    """Expected times of runs, from finished runs of the same policy on the same problem."""

    def __init__(self, store: Store, runs: Iterable[Run]) -> None:
        self.store = store
        self.examples = {_kind(run.spec): run for run in runs if run.finished}
        self.step_seconds: dict[tuple[str, str], float] = {}

    def estimate(self, spec: RunSpec, run_size: int) -> float:
        """Return the expected seconds of a run without compilation.

        Args:
            spec: The run.
            run_size: How many seeds the policy simulates side by side.
        """
        kind = _kind(spec)
        if kind not in self.step_seconds:
            measured = self._measure_step(kind)
            guess = STEP_SECONDS_ONE_SEED if run_size == 1 else STEP_SECONDS_SIDE_BY_SIDE
            self.step_seconds[kind] = guess if measured is None else measured
        return self.step_seconds[kind] * spec.horizon

    def _measure_step(self, kind: tuple[str, str]) -> float | None:
        """Return the seconds of one step in a finished run, or None if there is none to read."""
        run = self.examples.get(kind)
        if run is None:
            return None
        try:
            seconds = float(self.store.read_table(run.hash)["seconds"][0])
        except ValueError:
            return None
        return max(seconds - START_SECONDS / 2.0, 0.2 * seconds) / run.spec.horizon


def _kind(spec: RunSpec) -> tuple[str, str]:
    return spec.problem, spec.policy
