"""Can this be simulated, and did it keep to the rules? Checks before a run and after it."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.core.actions import ROUNDING
from banditsrl.core.policy import embeddings
from banditsrl.errors import BoundExceeded, ContractViolation, InvalidArgument, InvalidType
from banditsrl.simulation.result import Result

LONGEST = 2**31 - 1
"""Steps of a run: the history counts them in 32 bits."""

PROBLEM = ("name", "n_actions", "contexts", "noises", "means", "mask", "reward")
POLICY = ("init", "act", "learn")
"""What the two sides of a simulation must have."""

N_RECORDS = 100
"""Steps recorded when none are named."""


def check_players(problem: Any, policy: Any) -> None:
    """Refuse what is no problem or no policy, by what it lacks, and two that do not fit."""
    for name, thing, verbs in (("problem", problem, PROBLEM), ("policy", policy, POLICY)):
        if isinstance(thing, type):
            raise InvalidType(f"{name} must be an object, got the class {thing.__name__} itself.")
        missing = [verb for verb in verbs if not hasattr(thing, verb)]
        if missing:
            raise InvalidType(
                f"{name} must have {', '.join(verbs)}, "
                f"got {type(thing).__name__} without {', '.join(missing)}."
            )
    _agree(problem, policy)


def _agree(problem: Any, policy: Any) -> None:
    """Refuse representations that are not of this problem's size."""
    for representation in embeddings(policy):
        sizes = [("n_actions", representation.n_actions)]
        if representation.n_contexts is not None:
            sizes.append(("n_contexts", representation.n_contexts))
        for name, size in sizes:
            if size != getattr(problem, name, size):
                raise InvalidArgument(
                    f"representation must have the problem's {name} {getattr(problem, name)}, "
                    f"got {size}."
                )


def chosen_seeds(seeds: int | Sequence[int]) -> NDArray[np.int64]:
    """The seeds that are meant, (S,): so many, or those named."""
    if not isinstance(seeds, Iterable):
        return np.arange(count("seeds", seeds), dtype=np.int64)
    chosen = [count("seeds", seed, 0) for seed in seeds]
    if not chosen:
        raise InvalidArgument("seeds must name at least one seed, got none.")
    return np.asarray(chosen, dtype=np.int64)


def recorded_steps(steps: Sequence[int] | None, horizon: int) -> NDArray[np.int64]:
    """The steps that are recorded, (K,): those named, or about a hundred."""
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


def refuse_what_was_not_offered(result: Result) -> None:
    """Such an action pays minus infinity (see `rounds`), which stays in the regret."""
    if not np.isfinite(result.regret[:, -1]).all():
        raise ContractViolation(
            f"{result.policy} must choose available actions, got one that the problem did not "
            "offer; see check_policy."
        )


def warn_of_bounds(result: Result, policy: Any, reward_bound: float | None) -> None:
    """Of bounds that were given and did not hold."""
    largest = float(result.largest_reward.max())
    if reward_bound is not None and largest > reward_bound:
        _exceeded(f"reward_bound = {reward_bound:g} was given but a reward of {largest:g}")
    norms = np.asarray(getattr(result.state, "largest_norm", ())).reshape(-1, result.n_seeds)
    # the norms of a network are not those of its inputs
    given = () if hasattr(policy, "network") else embeddings(policy)
    for embedding, norm in zip(given, norms.max(axis=1, initial=0.0), strict=False):
        if embedding.L is not None and norm > embedding.L * (1.0 + ROUNDING):
            _exceeded(f"L = {embedding.L:g} was given but an embedding of norm {norm:g}")


def _exceeded(what: str) -> None:
    warnings.warn(f"{what} was observed.", BoundExceeded, stacklevel=5)
