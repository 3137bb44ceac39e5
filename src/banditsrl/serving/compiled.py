"""How does an application call a policy? By `act` and `learn`, checked and compiled."""

import warnings
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import (
    check_action,
    check_known_mask,
    check_reward,
    moderate_value,
    one_index,
)
from banditsrl.core.adapters import as_policy
from banditsrl.core.history import History
from banditsrl.core.policy import AnyPolicy, Choice, Policy, State
from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.draws import is_key
from banditsrl.numerics.partition import Partitioned, partition
from banditsrl.numerics.precision import holds_broken_numbers, in_float64


class Act(Protocol):
    """`Policy.act`, compiled."""

    def __call__(self, state: State, context: Context, mask: Any, key: Array) -> Choice:
        """Choose an action."""


class Learn(Protocol):
    """`Policy.learn`, compiled."""

    def __call__(
        self, state: State, context: Context, action: Any, reward: Any, certified: Any = False
    ) -> State:
        """Learn a reward."""


class Watch(Protocol):
    """`Policy.watch`, compiled."""

    def __call__(self, state: State, context: Context, choice: Choice, reward: Any) -> State:
        """See a whole choice and its reward."""


class Refresh(Protocol):
    """`Policy.refresh`, compiled."""

    def __call__(self, state: State, history: History | None, key: Array) -> State:
        """End a phase."""


class Compiled(NamedTuple):
    """The methods of a policy, each compiled on its first call."""

    act: Act
    learn: Learn
    refresh: Refresh
    watch: Watch


def compiled(policy: AnyPolicy) -> Compiled:
    """Return a policy's methods for a loop that lives outside the package.

    - ``act(state, context, mask, key)`` gives a choice of NumPy arrays; a mask of None means that
      every action is available (an outside policy needs an attribute `n_actions` for that).
    - ``learn(state, context, action, reward, certified)``: `certified` is `Choice.certified` of
      that round; a policy with a test does not feed certified rounds to its base.
    - ``watch(state, context, choice, reward)`` right before `learn`: a policy with audits needs it,
      and others return the state as it is.
    - ``refresh(state, history, key)`` at the ends of phases, see `phase_ends`: BanditSRL selects
      its next representation there, other policies only undo the drift of their statistics. If a
      network diverges in training, it warns and returns the state that it was given.

    Contexts and rewards that are not finite, or so large that sums would overflow, are refused
    before they reach the state.
    """
    adapted = as_policy(policy)
    parts, n_actions = partition(adapted), adapted.n_actions

    @in_float64
    def act(state: State, context: Context, mask: Any, key: Array) -> Choice:
        _check_context(adapted, context)
        if mask is None and n_actions is None:
            raise InvalidArgument(
                f"mask must be given, since {adapted.display_name} has no n_actions, got None."
            )
        available = check_known_mask(mask, len(mask) if n_actions is None else n_actions)
        choice: Choice = _act(parts, state, _as_numpy(context), available, key)
        host: Choice = jax.tree.map(np.asarray, choice)
        return host

    @in_float64
    def learn(
        state: State, context: Context, action: Any, reward: Any, certified: Any = False
    ) -> State:
        _check_context(adapted, context)
        check_action(action, n_actions)
        rest = (_as_numpy(context), np.asarray(action), np.asarray(check_reward(reward)))
        return _learn(parts, state, *rest, np.asarray(certified))

    @in_float64
    def refresh(state: State, history: History | None, key: Array) -> State:
        refreshed, is_sound = _refresh(parts, state, history, key)
        if is_sound:
            return refreshed
        warnings.warn(
            f"{adapted.display_name}: the end of a phase gave numbers that are not finite, so the "
            "state before it is kept.",
            RuntimeWarning,
            stacklevel=3,
        )
        return state

    @in_float64
    def watch(state: State, context: Context, choice: Choice, reward: Any) -> State:
        if not adapted.watches:
            return state
        seen = jax.tree.map(np.asarray, choice)
        return _watch(parts, state, _as_numpy(context), seen, np.asarray(check_reward(reward)))

    return Compiled(act, learn, refresh, watch)


@jax.jit
def _act(
    parts: Partitioned[Policy[Any]], state: State, context: Context, mask: ArrayLike, key: Array
) -> Choice:
    return parts.combine().act(state, context, mask, key)


@jax.jit
def _learn(
    parts: Partitioned[Policy[Any]],
    state: State,
    context: Context,
    action: ArrayLike,
    reward: ArrayLike,
    certified: ArrayLike,
) -> State:
    return parts.combine().learn(state, context, action, reward, certified)


@jax.jit
def _watch(
    parts: Partitioned[Policy[Any]],
    state: State,
    context: Context,
    choice: Choice,
    reward: ArrayLike,
) -> State:
    return parts.combine().watch(state, context, choice, reward)


@jax.jit
def _refresh(
    parts: Partitioned[Policy[Any]], state: State, history: History, key: Array
) -> tuple[State, Array]:
    """Return the state after a phase, and whether its numbers are as sound as they were before."""
    refreshed = parts.combine().refresh(state, history, key)
    pairs = zip(jax.tree.leaves(state), jax.tree.leaves(refreshed), strict=True)
    broken = [
        holds_broken_numbers(jnp.asarray(new)) & ~holds_broken_numbers(jnp.asarray(old))
        for old, new in pairs
        if not is_key(new)
    ]
    return refreshed, ~jnp.asarray([False, *broken]).any()


def _as_numpy(context: Context) -> Context:
    """Return NumPy arrays, which a compiled program takes in at once."""
    return jax.tree.map(np.asarray, context)


def _check_context(policy: Policy[Any], context: Context) -> None:
    """Refuse a context that is not finite or enormous, or an index beyond a table."""
    for leaf in jax.tree.leaves(context):
        moderate_value("context", leaf)
    for representation in policy.embeddings:
        if representation.n_contexts is not None:
            one_index("context", context, representation.n_contexts)
