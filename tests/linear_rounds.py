"""Rounds on a random table, ridge statistics of them by NumPy, and policies that saw them."""

import math
from typing import Any

import jax
import numpy as np

import banditsrl
from banditsrl.representations import Table

X, A, D, N, SIGMA, LAM, DELTA, B = 7, 4, 3, 25, 0.4, 0.7, 0.05, 1.3
RNG = np.random.default_rng(3)
FEATURES = RNG.normal(size=(X, A, D))
CONTEXTS, ACTIONS = RNG.integers(X, size=N), RNG.integers(A, size=N)
REWARDS = RNG.normal(size=N)
TABLE = Table(FEATURES, B=B)
SETTINGS: dict[str, Any] = {
    "representation": TABLE, "sigma": SIGMA, "lam": LAM, "delta": DELTA,
}  # fmt: skip
PLAYED = FEATURES[CONTEXTS, ACTIONS]
V = LAM * np.eye(D) + PLAYED.T @ PLAYED
THETA = np.linalg.solve(V, PLAYED.T @ REWARDS)

CONTEXT = 2
"""The context in which policies are asked."""

PHI = FEATURES[CONTEXT]
VALUES = PHI @ THETA
NORMS = np.sqrt(np.einsum("ai,ij,aj->a", PHI, np.linalg.inv(V), PHI))


def teach(policy: Any) -> Any:
    """The state after all rounds."""
    state = policy.init(jax.random.key(0))
    learn = banditsrl.compiled(policy).learn
    for context, action, reward in zip(CONTEXTS, ACTIONS, REWARDS, strict=True):
        state = learn(state, int(context), int(action), float(reward))
    return state


def pmf_of(policy: Any, mask: Any = None) -> Any:
    """The distribution over actions after all rounds."""
    choice = policy.act(teach(policy), CONTEXT, mask, jax.random.key(1))
    return np.asarray(choice.pmf)


def width(scale: float = 1.0) -> float:
    """C_UCB of the paper."""
    _, log_det = np.linalg.slogdet(V)
    ratio = log_det - D * math.log(LAM)
    return float(scale * SIGMA * math.sqrt(ratio + 2 * math.log(1 / DELTA)) + math.sqrt(LAM) * B)
