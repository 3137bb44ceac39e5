"""What happened so far? Contexts, actions, rewards and certificates, kept once and compactly.

Buffers are allocated for a capacity in whole blocks; what is beyond `n` is empty. Passes over the
history go block by block with a dynamic number of blocks, so that one compiled program serves
every phase and an early phase does not pay for the whole horizon. `write_rounds` is the only
function that writes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64

BLOCK = 1024
"""Rounds per block of a pass over the history."""

T = TypeVar("T")


class History(NamedTuple):
    """The first `n` rounds, in order.

    Attributes:
        contexts: Their contexts: arrays of shape (capacity, ...).
        actions: The actions played, (capacity,) in int32.
        rewards: Their rewards, (capacity,) in float64.
        certified: Whether they were played on a certificate and not by the base, (capacity,).
        n: Number of rounds so far.
    """

    contexts: Context
    actions: Array
    rewards: Array
    certified: Array
    n: Array

    @property
    def capacity(self) -> int:
        """How many rounds fit."""
        return int(self.actions.shape[0])


class Rounds(NamedTuple):
    """Consecutive rounds; `valid` marks those that happened."""

    contexts: Context
    actions: Array
    rewards: Array
    certified: Array
    valid: Array


@in_float64
def empty_history(context: Context, capacity: int) -> History:
    """Return an empty history for contexts like `context`, with room for `capacity` rounds."""
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


@in_float64
def append_round(
    history: History, context: Context, action: Any, reward: Any, certified: Any = False
) -> History:
    """Return the history after one more round; a full history is refused."""
    at = history.n
    if not isinstance(at, jax.core.Tracer) and int(at) >= history.capacity:
        raise InvalidArgument(
            f"history must have room for one more round, got {int(at)} rounds in a history of "
            f"capacity {history.capacity}."
        )
    one = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (context, action, reward, certified))
    return write_rounds(history, at, *one)


def write_rounds(
    history: History, first: Any, contexts: Context, actions: Any, rewards: Any, certified: Any
) -> History:
    """Return the history with k rounds written after its first `first` rounds.

    Every argument has k along its first axis. Axes after it, such as one for seeds, pass through.
    """

    def write(buffer: Array, values: Any) -> Array:
        values = jnp.asarray(values).astype(buffer.dtype)
        return jax.lax.dynamic_update_slice_in_dim(buffer, values, first, axis=0)

    k = jnp.shape(actions)[0]
    return History(
        contexts=jax.tree.map(write, history.contexts, contexts),
        actions=write(history.actions, actions),
        rewards=write(history.rewards, rewards),
        certified=write(history.certified, certified),
        n=jnp.full_like(history.n, first + k),
    )


@in_float64
def resize(history: History, capacity: int) -> History:
    """Return the history with room for `capacity` rounds, at least as many as it holds."""

    def fit(buffer: Array) -> Array:
        kept = jnp.asarray(buffer)[:capacity]
        missing = [(0, capacity - len(kept))] + [(0, 0)] * (kept.ndim - 1)
        return jnp.pad(kept, missing)

    contexts, actions, rewards, certified = jax.tree.map(fit, history[:-1])
    return History(contexts, actions, rewards, certified, jnp.asarray(history.n))


def every_other(history: History, first: int) -> History:
    """Return the rounds first, first + 2, first + 4 and so on as a history of their own.

    Two such halves let one part of the rounds test what was learned from the other.
    """
    contexts, actions, rewards, certified = jax.tree.map(lambda leaf: leaf[first::2], history[:-1])
    half = History(contexts, actions, rewards, certified, (history.n + 1 - first) // 2)
    return resize(half, -(-len(actions) // BLOCK) * BLOCK)


def skip_rounds(history: History, first: Any) -> History:
    """Return the history without its first `first` rounds, with the same capacity."""

    def move(buffer: Array) -> Array:
        return jnp.roll(buffer, -first, axis=0)

    contexts, actions, rewards, certified = jax.tree.map(move, history[:-1])
    n = (history.n - first).astype(history.n.dtype)
    return History(contexts, actions, rewards, certified, n)


def read_block(history: History, first: Any) -> History:
    """Return the block of rounds after the first `first` rounds; it may be partly empty."""

    def cut(buffer: Array) -> Array:
        return jax.lax.dynamic_slice_in_dim(buffer, first, BLOCK)

    contexts, actions, rewards, certified = jax.tree.map(cut, history[:-1])
    n = (history.n - first).astype(history.n.dtype)
    return History(contexts, actions, rewards, certified, n)


def write_block(history: History, first: Any, block: History) -> History:
    """Return the history with a whole block written after its first `first` rounds."""
    contexts, actions, rewards, certified, n = block
    written = write_rounds(history, first, contexts, actions, rewards, certified)
    return written._replace(n=(n + first).astype(history.n.dtype))


def fold_blocks(history: History, start: T, step: Callable[[T, Rounds], T]) -> T:
    """Fold `step` over the blocks of the history that hold anything."""

    def block(i: Array, carry: T) -> T:
        contexts, actions, rewards, certified, n = read_block(history, i * BLOCK)
        return step(carry, Rounds(contexts, actions, rewards, certified, jnp.arange(BLOCK) < n))

    result: T = jax.lax.fori_loop(0, (history.n + BLOCK - 1) // BLOCK, block, start)
    return result
