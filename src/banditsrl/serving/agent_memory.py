"""What does an agent keep between two rounds? The policy's state, the history, and the randomness.

Rounds that were learned are collected in a tuple first, and written into the history in blocks.
"""

from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.core.history import BLOCK, History, empty_history, resize, write_rounds
from banditsrl.core.policy import State
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64

Round: TypeAlias = tuple[NDArray[Any], Any, float, bool]
"""A context, the action played, its reward, and whether it was certified."""


class Memory(NamedTuple):
    """What an agent keeps, and saves."""

    state: State
    history: History  # empty for a policy that never reads it
    n: NDArray[np.int64]  # rounds learned
    n_choices: NDArray[np.int64]  # choices made, when the agent was saved
    key: Array


@in_float64
def empty_memory(state: State, key: Array) -> Memory:
    """Return the memory before the first round; the first context decides the buffers."""
    zero = np.zeros((), dtype=np.int64)
    nothing = resize(empty_history(np.zeros(()), 0), 0)
    return Memory(state, nothing, n=zero, n_choices=zero, key=key)


def is_full(recent: tuple[Round, ...]) -> bool:
    """Return whether recent rounds fill a block, so that they are written into the history."""
    return len(recent) == BLOCK


def room_for(n: int, capacity: int) -> int:
    """Return room for n rounds: the capacity times a power of two, to compile few sizes.

    Example:
        >>> room_for(3 * BLOCK, capacity=1) == 4 * BLOCK
        True
    """
    size = -(-capacity // BLOCK) * BLOCK
    while size < n:
        size *= 2
    return size


def check_shape(context: NDArray[Any], recent: tuple[Round, ...], history: History) -> None:
    """Refuse a context of another shape than those before it."""
    if recent:
        shape = recent[0][0].shape
    elif int(history.n):
        shape = history.contexts.shape[1:]
    else:
        return
    if context.shape != shape:
        raise InvalidArgument(f"context must have shape {shape} as before, got {context.shape}.")


@in_float64
def write_recent(memory: Memory, recent: tuple[Round, ...], room: int) -> Memory:
    """Return the memory with recent rounds written into its history, which grows to `room`.

    Writing into arrays of JAX takes as long for many rounds as for one, so `learn` collects them.
    """
    if not recent:
        return memory
    contexts, actions, rewards, certified = (
        np.asarray(values) for values in zip(*recent, strict=True)
    )
    history, n = memory.history, int(memory.history.n)
    if n == 0:
        history = empty_history(contexts[0], room)
    wide = np.result_type(history.contexts.dtype, contexts.dtype)  # fractions after whole numbers
    if wide != history.contexts.dtype:
        history = history._replace(contexts=history.contexts.astype(wide))
    if room > history.capacity:
        history = resize(history, room)
    written = _write_rounds(history, np.asarray(n), contexts, actions, rewards, certified)
    return memory._replace(history=written)


_write_rounds = jax.jit(write_rounds)
