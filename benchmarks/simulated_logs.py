"""What do logs look like whose true values are known? Random problems, played by known policies.

Contexts have five independent normal columns, and there are four actions. Scores of actions are
linear, or bent by a wave and an absolute value. They are the mean rewards of Gaussian rewards, and
the log odds (times 1.5) of Bernoulli ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.logs.log import LogBatch, LogSchema

Floats = NDArray[np.float64]

N_COLUMNS, N_ACTIONS, EPSILON, NOISE = 5, 4, 0.1, 0.5
FAMILIES = ("linear Gaussian", "linear Bernoulli", "nonlinear Gaussian", "nonlinear Bernoulli")
LEAST_PROPENSITY = {
    "uniform": 1.0 / N_ACTIONS,
    "softmax": None,
    "epsilon-greedy": EPSILON / N_ACTIONS,
}
"""Logging policies, and the least propensity of each, if there is one."""

TARGETS = ("greedy", "softmax", "constant")
N_CONTEXTS = 200_000
"""Contexts that define a true value; its error is about 0.002."""


@dataclass(frozen=True)
class Problem:
    """Mean rewards of every action, and the scores by which the old policy plays."""

    family: str
    slopes: Floats  # (A, m)
    waves: Floats  # (A, m)
    folds: Floats  # (A, m)
    intercepts: Floats  # (A,)
    old: Floats  # (A, m)

    @property
    def is_bernoulli(self) -> bool:
        """Whether rewards are 0 or 1."""
        return "Bernoulli" in self.family

    def score(self, x: Floats) -> Floats:
        """Return what decides the mean rewards, (n, A)."""
        linear = x @ self.slopes.T + self.intercepts
        if not self.family.startswith("nonlinear"):
            return np.asarray(linear)
        bent = np.sin(2.0 * (x @ self.waves.T)) + np.abs(x @ self.folds.T) - 0.8
        return np.asarray(0.5 * linear + bent)

    def mean(self, x: Floats) -> Floats:
        """Return the mean reward of every action, (n, A)."""
        score = self.score(x)
        return np.asarray(1.0 / (1.0 + np.exp(-1.5 * score))) if self.is_bernoulli else score

    def log_pmf(self, policy: str, x: Floats) -> Floats:
        """Return the probabilities of a logging policy, (n, A)."""
        if policy == "uniform":
            return np.full((len(x), N_ACTIONS), 1.0 / N_ACTIONS)
        score = 0.5 * self.score(x) + x @ self.old.T
        if policy == "softmax":
            return soften(score)
        return EPSILON / N_ACTIONS + (1.0 - EPSILON) * one_hot(score.argmax(axis=1))

    def target_pmf(self, target: str, x: Floats) -> Floats:
        """Return the probabilities of a target, (n, A)."""
        if target == "constant":
            return one_hot(np.zeros(len(x), dtype=np.int64))
        score = self.score(x) + 0.3 * (x @ self.old.T)
        return soften(2.0 * score) if target == "softmax" else one_hot(score.argmax(axis=1))


def soften(score: Floats) -> Floats:
    """Return probabilities in proportion to exp(score), (n, A)."""
    mass = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def one_hot(actions: NDArray[np.int64]) -> Floats:
    """Return the probabilities of certain actions, (n, A)."""
    return np.asarray(np.eye(N_ACTIONS)[actions])


def draw_problem(family: str, rng: np.random.Generator) -> Problem:
    """Return a random problem; all directions have length one."""
    directions = rng.normal(size=(4, N_ACTIONS, N_COLUMNS))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    slopes, waves, folds, old = directions
    return Problem(family, slopes, waves, folds, rng.normal(0.0, 0.5, N_ACTIONS), old)


class SimulatedLog(NamedTuple):
    """A log in memory, with the names that a log has."""

    batch: LogBatch

    @property
    def schema(self) -> LogSchema:
        """Actions and columns."""
        actions = tuple(f"a{i}" for i in range(N_ACTIONS))
        return LogSchema(actions, tuple(f"x{i}" for i in range(N_COLUMNS)))

    def batches(self) -> Iterator[LogBatch]:
        """Yield the only batch."""
        yield self.batch


def draw_log(problem: Problem, policy: str, n: int, rng: np.random.Generator) -> SimulatedLog:
    """Return n rounds that a logging policy decided."""
    x = rng.normal(size=(n, N_COLUMNS))
    pmf = problem.log_pmf(policy, x)
    actions = (rng.random((n, 1)) > pmf.cumsum(axis=1)).sum(axis=1).clip(max=N_ACTIONS - 1)
    at = np.arange(n), actions
    mean = problem.mean(x)[at]
    noisy = mean + NOISE * rng.normal(size=n)
    rewards = (rng.random(n) < mean).astype(float) if problem.is_bernoulli else noisy
    rows = np.arange(1, n + 1)
    return SimulatedLog(
        LogBatch(rows, x, actions.astype(np.int32), rewards, pmf[at], pmf, None, None, None)
    )


def true_values(problem: Problem, rng: np.random.Generator) -> dict[str, float]:
    """Return the value of each target."""
    x = rng.normal(size=(N_CONTEXTS, N_COLUMNS))
    mean = problem.mean(x)
    return {t: float((problem.target_pmf(t, x) * mean).sum(axis=1).mean()) for t in TARGETS}
