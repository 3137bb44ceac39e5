"""How does a policy start from logged data? Teach it the log, then refresh it once."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.arguments import count, finite_array, finite_value, known_index
from banditsrl.core.history import History, empty_history
from banditsrl.core.policy import embeddings, learned
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64


@in_float64
def warm_start(
    policy: Any, key: Array, *, contexts: Any, actions: Any, rewards: Any, capacity: int = 0
) -> tuple[Any, History]:
    """A state that has learned from logged rounds, and the history that holds them.

    The rounds count as explored. Estimates and certificates hold as with the policy's own data if
    the log's actions depended only on what the log contains (contexts, past actions and rewards).

    Args:
        policy: Any policy.
        key: For the policy's own initial state and its refresh.
        contexts: As the problem deals them; the first axis counts the rounds.
        actions: (n,) indices.
        rewards: (n,).
        capacity: Room for this many further rounds in the history.
    """
    rewards = finite_array("rewards", rewards, "(n,)")
    listed = isinstance(contexts, tuple) and all(np.ndim(context) == 0 for context in contexts)
    contexts = np.asarray(contexts) if isinstance(contexts, list) or listed else contexts
    actions = np.asarray(actions)
    n = len(rewards)
    if actions.shape != (n,) or not np.issubdtype(actions.dtype, np.integer):
        raise InvalidArgument(
            f"actions must be {n} integers, one per reward, got {actions.dtype} of shape "
            f"{actions.shape}."
        )
    lengths = {len(leaf) for leaf in jax.tree.leaves(contexts)}
    if lengths != {n}:
        raise InvalidArgument(f"contexts must hold {n} rounds, got {sorted(lengths)}.")
    _check_log(policy, contexts, actions)
    history = _filled(contexts, actions, rewards, n + count("capacity", capacity, 0))
    return _taught(policy, history, key), history


def _check_log(policy: Any, contexts: Any, actions: Any) -> None:
    for leaf in jax.tree.leaves(contexts):
        finite_value("contexts", leaf)
    for representation in embeddings(policy):
        known_index("actions", actions, representation.n_actions)
        if representation.n_contexts is not None:
            known_index("contexts", contexts, representation.n_contexts)


def _filled(contexts: Any, actions: Any, rewards: Any, capacity: int) -> History:
    first = jax.tree.map(lambda leaf: jnp.asarray(leaf)[0], contexts)
    empty = empty_history(first, capacity)
    return empty._replace(
        contexts=jax.tree.map(_put, empty.contexts, contexts),
        actions=_put(empty.actions, actions),
        rewards=_put(empty.rewards, rewards),
        n=jnp.asarray(len(rewards), dtype=jnp.int32),
    )


def _put(buffer: Array, values: Any) -> Array:
    """`buffer` with `values` at its beginning."""
    return buffer.at[: len(values)].set(jnp.asarray(values, dtype=buffer.dtype))


@eqx.filter_jit
def _taught(policy: Any, history: History, key: Array) -> Any:
    init_key, refresh_key = jax.random.split(key)

    def one(i: Array, state: Any) -> Any:
        context = jax.tree.map(lambda leaf: leaf[i], history.contexts)
        return learned(policy, state, context, history.actions[i], history.rewards[i], False)

    state = jax.lax.fori_loop(0, history.n, one, policy.init(init_key))
    refresh = getattr(policy, "refresh", None)
    return state if refresh is None else refresh(state, history, refresh_key)
