"""Random rounds of a problem, as arrays and as a history, and a phase end on them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from banditsrl.core.history import History, empty_history

KEY = jax.random.key(11)
SIGMA = 0.3
CAPACITY = 9000
"""Of every history here, however short, so that one program serves all lengths."""


def played(problem: Any, n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Random rounds of a problem, as arrays."""
    rng = np.random.default_rng(seed)
    contexts = rng.integers(problem.n_contexts, size=n)
    actions = rng.integers(problem.n_actions, size=n)
    rewards = problem.mean_rewards[contexts, actions] + SIGMA * rng.normal(size=n)
    return contexts, actions, rewards


def refreshed(policy: Any, rounds: tuple[Any, Any, Any], phase: int = 0) -> Any:
    with jax.enable_x64(True):
        state = policy.init(KEY)._replace(phase=jnp.asarray(phase, dtype=jnp.int32))
        return eqx.filter_jit(policy.refresh)(state, history_of(rounds), KEY)


def history_of(rounds: tuple[Any, Any, Any]) -> History:
    contexts, actions, rewards = rounds
    n = len(rewards)
    empty = empty_history(jnp.zeros((), dtype=jnp.int32), CAPACITY)
    return empty._replace(
        contexts=empty.contexts.at[:n].set(contexts.astype(np.int32)),
        actions=empty.actions.at[:n].set(actions.astype(np.int32)),
        rewards=empty.rewards.at[:n].set(rewards),
        n=jnp.asarray(n, dtype=jnp.int32),
    )
