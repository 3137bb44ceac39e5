"""How well does boosting do? Epsilon-greedy on one LightGBM model per action, refitted at phases.

Between two fits the models do not change, so all predictions of a phase are computed at once.
"""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trust_rounds import Counts, Rounds, count_rounds

N_TREES, N_LEAVES = 100, 15
GROWTH, FIRST_PHASE = 1.2, 20
"""Phases end at FIRST_PHASE rounds and then grow by GROWTH; actions are random before."""


def run_lightgbm(rounds: Rounds, seed: int) -> Counts:
    """Play all rounds, exploring with probability t^-1/2."""
    rng = np.random.default_rng([seed, 2])
    n, n_actions = rounds.means.shape
    actions: NDArray[np.int64] = rng.integers(0, n_actions, size=(n,))  # to explore
    greedy = rng.random(n) >= np.arange(1, n + 1) ** -0.5
    start = min(FIRST_PHASE, n)
    while start < n:
        end = min(int(np.ceil(GROWTH * start)), n)
        values = predict(rounds, actions, known=max(start - rounds.delay, 0), upto=(start, end))
        # Ties are broken at random; actions without a reward are tied at infinity.
        leading = values == values.max(axis=1, keepdims=True)
        best = np.argmax(leading * rng.random(values.shape), axis=1)
        actions[start:end] = np.where(greedy[start:end], best, actions[start:end])
        start = end
    return count_rounds(rounds, actions, np.zeros(n, dtype=bool))


def predict(
    rounds: Rounds, actions: NDArray[np.int64], *, known: int, upto: tuple[int, int]
) -> NDArray[np.float64]:
    """Return what the models of the first `known` rounds predict for a phase, (phase, A).

    The prediction for an action without any reward so far is infinite.
    """
    ahead = rounds.contexts[slice(*upto)]
    values = np.full((len(ahead), rounds.means.shape[1]), np.inf)
    for action in range(values.shape[1]):
        rows = np.flatnonzero((actions[:known] == action) & rounds.seen[:known])
        if rows.size:
            values[:, action] = fit(rounds.contexts[rows], rounds.rewards[rows, action])(ahead)
    return values


def fit(contexts: NDArray[np.float32], rewards: NDArray[np.float64]) -> Any:
    """Return a function that predicts rewards."""
    # An optional package: trust.py leaves this reference out where it is not installed.
    lightgbm = importlib.import_module("lightgbm")
    if len(rewards) < 2:
        return lambda ahead: np.full(len(ahead), rewards.mean())
    settings = {"objective": "regression", "num_leaves": N_LEAVES, "num_threads": 1, "verbose": -1}
    data = lightgbm.Dataset(contexts, rewards, params={"verbose": -1})
    return lightgbm.train(settings, data, num_boost_round=N_TREES).predict
