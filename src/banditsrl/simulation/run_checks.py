"""Can this be simulated, and did it keep to the rules? Checks before a run and after it."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.core.policy import Policy
from banditsrl.core.problem import Problem
from banditsrl.errors import (
    BoundExceeded,
    ContractViolation,
    InvalidArgument,
    InvalidType,
    TooFewSteps,
)
from banditsrl.simulation.result import Result

LONGEST = 2**31 - 1
"""Largest horizon: the history counts steps in 32 bits."""

NORM_ROUNDING = 1e-6
"""A norm may exceed its bound by this share: columns are kept in float32."""

N_RECORDS = 100
"""Steps recorded when none are named."""


def check_sizes(problem: Problem, policy: Policy[Any]) -> None:
    """Refuse a policy whose representations are not of this problem's size."""
    for representation in policy.embeddings:
        pairs = (
            ("n_actions", representation.n_actions, problem.n_actions),
            ("n_contexts", representation.n_contexts, problem.n_contexts),
        )
        for name, size, wanted in pairs:
            if size is not None and wanted is not None and size != wanted:
                raise InvalidArgument(
                    f"representation must have the problem's {name} {wanted}, got {size}."
                )


def check_seeds(seeds: int | Sequence[int]) -> NDArray[np.int64]:
    """Return the seeds that are meant, (S,): so many from zero on, or those named."""
    if not isinstance(seeds, Iterable):
        return np.arange(count("seeds", seeds), dtype=np.int64)
    chosen = [count("seeds", seed, 0) for seed in seeds]
    if not chosen:
        raise InvalidArgument("seeds must name at least one seed, got none.")
    if len(set(chosen)) < len(chosen):
        double = next(seed for seed in chosen if chosen.count(seed) > 1)
        raise InvalidArgument(f"seeds must differ, got {double} more than once.")
    return np.asarray(chosen, dtype=np.int64)


def check_steps(steps: Sequence[int] | None, horizon: int) -> NDArray[np.int64]:
    """Return the steps that are recorded, (K,): those named, or about a hundred."""
    if count("horizon", horizon) > LONGEST:
        raise InvalidArgument(f"horizon must be at most {LONGEST}, got {horizon}.")
    if steps is None:
        spaced = np.linspace(horizon / N_RECORDS, horizon, N_RECORDS)
        return np.unique(np.maximum(np.round(spaced), 1).astype(np.int64))
    if not isinstance(steps, Iterable):
        raise InvalidType(f"steps must be a sequence of steps, got {steps!r}.")
    recorded = np.asarray([count("steps", step) for step in steps], dtype=np.int64)
    increasing = (np.diff(recorded) > 0).all()
    if recorded.size == 0 or not increasing or recorded[0] < 1 or recorded[-1] > horizon:
        raise InvalidArgument(
            f"steps must increase within 1 and the horizon {horizon}, got {list(steps)}."
        )
    return recorded


def warn_of_few_steps(policy: Policy[Any], problem: Problem, horizon: int) -> None:
    """Warn of what cannot work within the horizon, before it is simulated."""
    for sentence in policy.foresee(problem, horizon):
        warnings.warn(sentence, TooFewSteps, stacklevel=4)


def check_means(result: Result) -> None:
    """Refuse a problem whose means are NaN, which stays in the regret."""
    if np.isnan(result.regret[:, -1]).any():
        raise ContractViolation(
            f"{result.problem} must return finite means, got NaN; see check_problem."
        )


def check_offered(result: Result) -> None:
    """Refuse a policy that chose an action that was not offered.

    Such an action pays minus infinity (see `loop`), which stays in the regret.
    """
    if not np.isfinite(result.regret[:, -1]).all():
        raise ContractViolation(
            f"{result.policy} must choose available actions, got one that the problem did not "
            "offer; see check_policy."
        )


def warn_of_exceeded_bounds(
    result: Result, policy: Policy[Any], reward_bound: float | None
) -> None:
    """Warn of bounds that were given and did not hold."""
    largest = float(result.largest_reward.max())
    if reward_bound is not None and largest > reward_bound:
        _warn(describe_exceeded_reward(reward_bound, largest))
    norms = policy.largest_norms(result.state)
    if norms is None:
        return
    seen = np.asarray(norms).reshape(-1, result.n_seeds).max(axis=1)
    for sentence in describe_exceeded_norms(policy, seen):
        _warn(sentence)


def describe_exceeded_reward(reward_bound: float, largest: float) -> str:
    """Return the sentence about a reward that exceeds its bound."""
    return f"reward_bound = {reward_bound:g} was given but a reward of {largest:g} was observed."


def describe_exceeded_norms(policy: Policy[Any], seen: NDArray[np.float64]) -> list[str]:
    """Return one sentence for each embedding whose largest norm seen, (M,), exceeds its L."""
    return [
        f"L = {embedding.L:g} was given but an embedding of norm {norm:g} was observed."
        for embedding, norm in zip(policy.embeddings, seen, strict=True)
        if embedding.L is not None and norm > embedding.L * (1.0 + NORM_ROUNDING)
    ]


def _warn(sentence: str) -> None:
    warnings.warn(sentence, BoundExceeded, stacklevel=5)
