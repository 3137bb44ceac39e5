"""How does an application call a policy? `act` and `learn`, checked at the border and compiled."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from banditsrl.arguments import (
    check_action,
    check_known_mask,
    check_reward,
    finite_value,
    one_index,
)
from banditsrl.core.history import History
from banditsrl.core.policy import Choice, embeddings, learned
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.partition import Partitioned, partition
from banditsrl.numerics.precision import in_float64


class Compiled(NamedTuple):
    """The verbs of an application; each compiles on its first call only."""

    act: Callable[..., Choice]
    learn: Callable[..., Any]
    refresh: Callable[..., Any]


def compiled(policy: Any) -> Compiled:
    """A policy's verbs, for a loop that lives outside.

    - ``act(state, context, mask, key)`` gives a choice of NumPy arrays; a mask of None means that
      every action is available (an outside policy needs an attribute `n_actions` for that).
    - ``learn(state, context, action, reward, certified)``: `certified` is what the choice said of
      itself; a policy with a test does not feed certified rounds to its base.
    - ``refresh(state, history, key)`` at the ends of phases, see `phase_ends`: BanditSRL selects
      its next representation there, other policies only undo the drift of their statistics.
    """
    held, n_actions = partition(policy), _n_actions(policy)

    @in_float64
    def act(state: Any, context: Any, mask: Any, key: Array) -> Choice:
        _known(policy, context)
        if mask is None and n_actions is None:
            raise InvalidArgument(
                f"mask must be given, since {type(policy).__name__} has no n_actions, got None."
            )
        available = check_known_mask(mask, n_actions or len(mask))
        choice: Choice = _act(held, state, _arrays(context), available, key)
        host: Choice = jax.tree.map(np.asarray, choice)
        return host

    @in_float64
    def learn(state: Any, context: Any, action: Any, reward: Any, certified: Any = False) -> Any:
        _known(policy, context)
        check_action(action, n_actions or np.iinfo(np.int32).max)
        rest = (_arrays(context), np.asarray(action), np.asarray(check_reward(reward)))
        return _learn(held, state, *rest, np.asarray(certified))

    @in_float64
    def refresh(state: Any, history: History, key: Array) -> Any:
        return _refresh(held, state, history, key)

    return Compiled(act, learn, refresh)


@jax.jit
def _act(held: Partitioned, state: Any, context: Any, mask: Array, key: Array) -> Choice:
    choice: Choice = held.combine().act(state, context, mask, key)
    return choice


@jax.jit
def _learn(
    held: Partitioned, state: Any, context: Any, action: Array, reward: Array, certified: Array
) -> Any:
    return learned(held.combine(), state, context, action, reward, certified)


@jax.jit
def _refresh(held: Partitioned, state: Any, history: History | None, key: Array) -> Any:
    return held.combine().refresh(state, history, key)


def _arrays(context: Any) -> Any:
    """As NumPy's, which a compiled program takes in at once."""
    return jax.tree.map(np.asarray, context)


def _n_actions(policy: Any) -> int | None:
    """How many actions a policy of ours chooses from; None if an outside one does not say."""
    found = embeddings(policy)
    return found[0].n_actions if found else getattr(policy, "n_actions", None)


def _known(policy: Any, context: Any) -> None:
    """Refuse a context that is not finite, or an index beyond a table."""
    for leaf in jax.tree.leaves(context):
        finite_value("context", leaf)
    for representation in embeddings(policy):
        if representation.n_contexts is not None:
            one_index("context", context, representation.n_contexts)
