"""How long will a run take? As long as a finished run of its kind, or else a rough guess."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from banditsrl.core.policy import Policy
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.store import Run, Store
from banditsrl.policies.banditsrl_auto import BanditSRLAuto
from banditsrl.policies.neuralucb import NeuralUCB
from banditsrl.policies.nn_banditsrl import NNBanditSRL

STEP_SECONDS_SIDE_BY_SIDE = 6e-5
"""Guess for one step of all seeds of a run, if the policy simulates several side by side."""

STEP_SECONDS_ONE_SEED = 2e-4
"""Guess for one step of a policy that simulates one seed at a time, without its training."""

AUTO_STEP_SECONDS = 4e-3
"""Guess for one step of `banditsrl-auto`, with the training of its trees and networks.

Measured on a table with three columns and three classes: 16 seconds for 4,000 steps.
"""

TRAINING_SECONDS = 3.3e-10
"""Guess for one weight of a network in one of the samples that training looks at.

With the settings of the paper (8,000 weights, 30 passes, phases that grow by 1.2) a step takes
0.7 milliseconds; 500,000 steps take four to eight minutes of one core.
"""

DESIGN_SECONDS = 2e-8
"""Guess for one entry of the design matrix of an embedding in one step.

With 1,000 columns, 72,000 steps take at least 25 minutes of one core.
"""

START_SECONDS, NETWORK_START_SECONDS, AUTO_START_SECONDS = 6.0, 20.0, 60.0
"""Expected time to compile the programs of a cell, without a network, with one, and of the
portfolio: 45 seconds of one core for 1,000 steps, and more for phases that come later."""


class RunTimes:
    """Expected times of runs, from finished runs that differ in seeds and horizon only."""

    def __init__(self, store: Store, runs: Iterable[Run]) -> None:
        self.store = store
        self.examples = {_kind(run.spec): run for run in runs if run.finished}
        self.step_seconds: dict[RunSpec, float] = {}

    def estimate(self, spec: RunSpec, policy: Policy[Any], run_size: int) -> float:
        """Return the expected seconds of a run without compilation.

        Args:
            spec: The run.
            policy: The policy of the run; the width of its network matters.
            run_size: How many seeds the policy simulates side by side.
        """
        kind = _kind(spec)
        if kind not in self.step_seconds:
            measured = self._measure_step(kind)
            guess = guess_step_seconds(policy, run_size) if measured is None else measured
            self.step_seconds[kind] = guess
        return self.step_seconds[kind] * spec.horizon

    def _measure_step(self, kind: RunSpec) -> float | None:
        """Return the seconds of one step in a finished run, or None if there is none to read."""
        run = self.examples.get(kind)
        if run is None:
            return None
        try:
            seconds = float(self.store.read_table(run.hash)["seconds"][0])
        except ValueError:
            return None
        return max(seconds - START_SECONDS / 2.0, 0.2 * seconds) / run.spec.horizon


def guess_step_seconds(policy: Policy[Any], run_size: int) -> float:
    """Return a rough guess for one step of all seeds of a run, its share of the training included.

    Phases that grow by gamma look at gamma / (gamma - 1) times as many samples as there are steps.
    """
    if isinstance(policy, BanditSRLAuto):
        return AUTO_STEP_SECONDS
    if not isinstance(policy, NNBanditSRL | NeuralUCB):
        return STEP_SECONDS_ONE_SEED * 3.5 if run_size == 1 else STEP_SECONDS_SIDE_BY_SIDE
    widths = (policy.network.inputs.dim, *policy.network.layers)
    n_weights = sum(before * after for before, after in pairwise(widths))
    n_samples = policy.training.passes * policy.gamma / (policy.gamma - 1.0)
    seconds = STEP_SECONDS_ONE_SEED + TRAINING_SECONDS * n_weights * n_samples
    columns = policy.network.dim if isinstance(policy, NNBanditSRL) else 0
    return seconds + DESIGN_SECONDS * columns**2


def guess_start_seconds(policy: Policy[Any]) -> float:
    """Return the expected time to compile the programs of a policy."""
    if isinstance(policy, BanditSRLAuto):
        return AUTO_START_SECONDS
    has_network = isinstance(policy, NNBanditSRL | NeuralUCB)
    return NETWORK_START_SECONDS if has_network else START_SECONDS


def _kind(spec: RunSpec) -> RunSpec:
    """Return what runs have in common whose steps take the same time."""
    return replace(spec, horizon=1, seeds=(), steps=())
