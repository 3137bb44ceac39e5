"""How does an application call a policy? `act` and `learn`, checked at the border and compiled."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.arguments import finite_value
from banditsrl.linear.glrt import checked_mask
from banditsrl.linear.lanes import double
from banditsrl.policies.policy import Choice, learned


class Compiled(NamedTuple):
    """The two verbs of an application; both compile on the first call only."""

    act: Callable[..., Choice]
    learn: Callable[..., Any]


def compiled(policy: Any) -> Compiled:
    """`act(state, context, mask, key)` and `learn(state, context, action, reward, certified)`.

    Choices come back as NumPy arrays. A mask of None means that every action is available.
    `certified` is what the choice said of itself; a policy with a test does not feed certified
    rounds to its base.
    """

    @double
    def act(state: Any, context: Any, mask: Any, key: Array) -> Choice:
        _finite(context)
        available = None if mask is None else checked_mask(mask, len(mask))
        choice: Choice = _act(policy, state, _arrays(context), available, key)
        host: Choice = jax.tree.map(np.asarray, choice)
        return host

    @double
    def learn(state: Any, context: Any, action: Any, reward: Any, certified: Any = False) -> Any:
        _finite(context)
        finite_value("reward", reward)
        rest = (_arrays(context), jnp.asarray(action), jnp.asarray(reward, dtype=jnp.float64))
        return _learn(policy, state, *rest, jnp.asarray(certified))

    return Compiled(act, learn)


@eqx.filter_jit
def _act(policy: Any, state: Any, context: Any, mask: Any, key: Array) -> Choice:
    choice: Choice = policy.act(state, context, mask, key)
    return choice


@eqx.filter_jit
def _learn(
    policy: Any, state: Any, context: Any, action: Array, reward: Array, certified: Array
) -> Any:
    return learned(policy, state, context, action, reward, certified)


def _arrays(context: Any) -> Any:
    return jax.tree.map(jnp.asarray, context)


def _finite(context: Any) -> None:
    for leaf in jax.tree.leaves(context):
        if np.issubdtype(np.asarray(leaf).dtype, np.inexact):
            finite_value("context", leaf)
