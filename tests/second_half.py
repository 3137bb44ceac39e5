"""Helpers for tests of findings: a run of forty seeds, and the regret of its second half."""

import numpy as np
from numpy.typing import NDArray

import banditsrl

N_SEEDS = 40


def simulate_seeds(
    problem: banditsrl.FiniteProblem, name: str, horizon: int, **settings: object
) -> banditsrl.Result:
    """Simulate a policy with forty seeds, recorded at half of the horizon and at its end."""
    policy = banditsrl.make_policy(name, problem, **settings)
    steps = [horizon // 2, horizon]
    return banditsrl.simulate(problem, policy, horizon=horizon, seeds=N_SEEDS, steps=steps)


def second_half_regret(result: banditsrl.Result) -> NDArray[np.float64]:
    """Return the regret of each seed in the second half of the steps, (S,)."""
    return np.asarray(result.regret[:, -1] - result.regret[:, 0])
