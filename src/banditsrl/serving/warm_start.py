"""How does a policy start from logged data? It learns the log, and is refreshed once."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.arguments import count, finite_array, known_index, moderate_value
from banditsrl.core.adapters import as_policy
from banditsrl.core.history import History, empty_history, write_rounds
from banditsrl.core.policy import AnyPolicy, Policy, State
from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.partition import Partitioned, partition
from banditsrl.numerics.precision import in_float64


@in_float64
def warm_start(
    policy: AnyPolicy, key: Array, *, contexts: Any, actions: Any, rewards: Any, capacity: int = 0
) -> tuple[State, History]:
    """Return a state that has learned from logged rounds, and the history that holds them.

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
    adapted = as_policy(policy)
    rewards = finite_array("rewards", rewards, "(n,)")
    moderate_value("rewards", rewards)
    actions, n = np.asarray(actions), len(rewards)
    if actions.shape != (n,) or not np.issubdtype(actions.dtype, np.integer):
        raise InvalidArgument(
            f"actions must be {n} integers, one per reward, got {actions.dtype} of shape "
            f"{actions.shape}."
        )
    contexts = _as_arrays(contexts)
    lengths = {len(leaf) for leaf in jax.tree.leaves(contexts)}
    if lengths != {n}:
        raise InvalidArgument(f"contexts must hold {n} rounds, got {sorted(lengths)}.")
    _check_log(adapted, contexts, actions)
    first = jax.tree.map(lambda leaf: jnp.asarray(leaf)[0], contexts)
    empty = empty_history(first, n + count("capacity", capacity, 0))
    history = write_rounds(empty, 0, contexts, actions, rewards, np.zeros(n, dtype=bool))
    return _learn_history(partition(adapted), history, key), history


def _as_arrays(contexts: Any) -> Context:
    """Return a list, or a tuple of numbers, as one array, and other contexts as they are."""
    is_numbers = isinstance(contexts, tuple) and all(np.ndim(context) == 0 for context in contexts)
    return np.asarray(contexts) if isinstance(contexts, list) or is_numbers else contexts


def _check_log(policy: Policy[Any], contexts: Context, actions: Any) -> None:
    """Refuse contexts that are not finite or enormous, and indices beyond the policy's sizes."""
    for leaf in jax.tree.leaves(contexts):
        moderate_value("contexts", leaf)
    if policy.n_actions is not None:
        known_index("actions", actions, policy.n_actions)
    for representation in policy.embeddings:
        if representation.n_contexts is not None:
            known_index("contexts", contexts, representation.n_contexts)


@jax.jit
def _learn_history(parts: Partitioned[Policy[Any]], history: History, key: Array) -> State:
    policy = parts.combine()
    init_key, refresh_key = jax.random.split(key)

    def learn_round(i: Array, state: State) -> State:
        context = jax.tree.map(lambda leaf: leaf[i], history.contexts)
        return policy.learn(state, context, history.actions[i], history.rewards[i], False)

    state = jax.lax.fori_loop(0, history.n, learn_round, policy.init(init_key))
    return policy.refresh(state, history, refresh_key)
