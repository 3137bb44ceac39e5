"""Random rounds of a finite problem, as arrays and as a history, and a phase end on them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from banditsrl.core.history import History, empty_history
from banditsrl.numerics.precision import in_float64

KEY = jax.random.key(11)
SIGMA = 0.3
CAPACITY = 9000
"""Capacity of every history here, so that one compiled program serves all lengths."""


def random_rounds(problem: Any, n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return contexts, actions and rewards of n random rounds, as arrays."""
    rng = np.random.default_rng(seed)
    contexts = rng.integers(problem.n_contexts, size=n)
    actions = rng.integers(problem.n_actions, size=n)
    rewards = problem.mean_rewards[contexts, actions] + SIGMA * rng.normal(size=n)
    return contexts, actions, rewards


@in_float64
def history_of(rounds: tuple[Any, Any, Any], capacity: int = CAPACITY) -> History:
    """Return the rounds as a history, of which none was certified."""
    contexts, actions, rewards = rounds
    n = len(rewards)
    empty = empty_history(jnp.zeros((), dtype=jnp.int32), capacity)
    return empty._replace(
        contexts=empty.contexts.at[:n].set(contexts.astype(np.int32)),
        actions=empty.actions.at[:n].set(actions.astype(np.int32)),
        rewards=empty.rewards.at[:n].set(rewards),
        n=jnp.asarray(n, dtype=jnp.int32),
    )


def refresh_after(policy: Any, rounds: tuple[Any, Any, Any], **changes: Any) -> Any:
    """Return the state after the first phase end, with the rounds as history and a changed state."""
    with jax.enable_x64(True):
        arrays = {name: jnp.asarray(value) for name, value in changes.items()}
        state = policy.init(KEY)._replace(**arrays)
        return eqx.filter_jit(policy.refresh)(state, history_of(rounds), KEY)
