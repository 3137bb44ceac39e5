"""Helpers for tests of phase ends: random rounds of a problem, as arrays and as a history."""

from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from banditsrl.core.history import History, empty_history
from banditsrl.numerics.precision import in_float64
from banditsrl.problems.finite import FiniteProblem

Rounds: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Contexts, actions and rewards, (n,) each."""

KEY = jax.random.key(11)
SIGMA = 0.3
CAPACITY = 9000
"""Capacity of every history here, so that one compiled program serves all lengths."""


def draw_rounds(problem: FiniteProblem, n: int, seed: int = 0) -> Rounds:
    """Return n random contexts and actions of a problem, and noisy rewards."""
    rng = np.random.default_rng(seed)
    contexts = rng.integers(problem.n_contexts, size=n)
    actions = rng.integers(problem.n_actions, size=n)
    rewards = problem.mean_rewards[contexts, actions] + SIGMA * rng.normal(size=n)
    return contexts, actions, rewards


@in_float64
def end_phase(policy: Any, rounds: Rounds, **changes: Any) -> Any:
    """Return the state after the end of a phase with these rounds.

    Args:
        policy: The policy, whose state starts new.
        rounds: The history.
        **changes: Parts of the state before the phase end, by name.
    """
    parts = {name: jnp.asarray(value) for name, value in changes.items()}
    state = policy.init(KEY)._replace(**parts)
    return eqx.filter_jit(policy.refresh)(state, history_of(rounds), KEY)


@in_float64
def history_of(rounds: Rounds, capacity: int = CAPACITY) -> History:
    """Return the history that holds these rounds, none of them certified."""
    contexts, actions, rewards = rounds
    n = len(rewards)
    empty = empty_history(jnp.zeros((), dtype=jnp.int32), capacity)
    return empty._replace(
        contexts=empty.contexts.at[:n].set(contexts.astype(np.int32)),
        actions=empty.actions.at[:n].set(actions.astype(np.int32)),
        rewards=empty.rewards.at[:n].set(rewards),
        n=jnp.asarray(n, dtype=jnp.int32),
    )
