"""What happened so far? Contexts, actions, rewards and who chose, kept once and compactly.

Buffers are allocated for a capacity in whole blocks; what is beyond `n` is empty. Passes over the
history go block by block with a dynamic number of blocks, so that one compiled program serves
every phase and an early phase does not pay for the whole horizon.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.errors import InvalidArgument
from banditsrl.numerics.seed_axis import double

BLOCK = 1024
"""Samples per block of a pass over the history."""

T = TypeVar("T")


class History(NamedTuple):
    """The first `n` rounds, in order."""

    contexts: Any  # leaves of shape (capacity, ...)
    actions: Array  # (capacity,) int32
    rewards: Array  # (capacity,) float64
    certified: Array  # (capacity,) bool: played greedily on a certificate, not by the base
    n: Any  # ()

    @property
    def capacity(self) -> int:
        """How many rounds fit."""
        return int(self.actions.shape[0])


class Rounds(NamedTuple):
    """One block of the history; `valid` marks the rounds that happened."""

    contexts: Any
    actions: Array
    rewards: Array
    certified: Array
    valid: Array


@double
def allocate(context: Any, capacity: int) -> History:
    """An empty history for contexts like `context`, with room for `capacity` rounds."""
    size = -(-max(capacity, 1) // BLOCK) * BLOCK

    def buffer(leaf: Any) -> Array:
        leaf = jnp.asarray(leaf)
        return jnp.zeros((size, *leaf.shape), dtype=leaf.dtype)

    return History(
        contexts=jax.tree.map(buffer, context),
        actions=jnp.zeros(size, dtype=jnp.int32),
        rewards=jnp.zeros(size, dtype=jnp.float64),
        certified=jnp.zeros(size, dtype=bool),
        n=jnp.zeros((), dtype=jnp.int32),
    )


@double
def appended(
    history: History, context: Any, action: Any, reward: Any, certified: Any = False
) -> History:
    """The history after one more round; a full one refuses."""
    at = history.n
    if not isinstance(at, jax.core.Tracer) and int(at) >= history.capacity:
        raise InvalidArgument(f"history must have room for a round, got {int(at)} of {int(at)}.")
    return History(
        jax.tree.map(lambda buffer, x: _put(buffer, at, x), history.contexts, context),
        _put(history.actions, at, action),
        _put(history.rewards, at, reward),
        _put(history.certified, at, certified),
        at + 1,
    )


def _put(buffer: Array, at: Array, value: Any) -> Array:
    return buffer.at[at].set(jnp.asarray(value, dtype=buffer.dtype))


def block_of(history: History, first: Any) -> History:
    """The block of rounds that begins after round `first`, by itself; it may be partly empty."""

    def cut(buffer: Array) -> Array:
        return jax.lax.dynamic_slice_in_dim(buffer, first, BLOCK)

    block: History = jax.tree.map(cut, history._replace(n=()))
    return block._replace(n=(history.n - first).astype(history.n.dtype))


def with_block(history: History, first: Any, block: History) -> History:
    """The history with the block that begins after round `first` put in its place."""

    def put(buffer: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(buffer, new, first, axis=0)

    whole: History = jax.tree.map(put, history._replace(n=()), block._replace(n=()))
    return whole._replace(n=(block.n + first).astype(history.n.dtype))


def folded(history: History, start: T, step: Callable[[T, Rounds], T]) -> T:
    """Fold `step` over the blocks of the history that hold anything."""

    def block(i: Array, carry: T) -> T:
        contexts, actions, rewards, certified, n = block_of(history, i * BLOCK)
        return step(carry, Rounds(contexts, actions, rewards, certified, jnp.arange(BLOCK) < n))

    result: T = jax.lax.fori_loop(0, (history.n + BLOCK - 1) // BLOCK, block, start)
    return result
