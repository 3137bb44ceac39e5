"""How is work on padding saved? By playing with the entries that are in use, and no others.

Arrays of seeds that need different sizes are padded with zeros to the largest. Which entries are in
use is known before some steps are played, so that the arrays can be cut before these steps and put
back after them. A step then sees smaller arrays, and is the same plain code. A compiled program has
fixed sizes, so there are three to choose from.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax import Array

from banditsrl.numerics.seed_axis import map_over_seeds

MIN_CROPPED = 9
"""Padding is cut off from arrays of at least this size; for smaller ones it is not worth it."""


class Padding(NamedTuple):
    """Says where a state has padding; the two functions are plain code for one seed."""

    size: int  # number of entries with the padding
    used: Callable[[Any], Array]  # number of entries in front of the padding, () of a state
    crop: Callable[[Any, int], Any]  # the state with the leading entries of its padded arrays


def enough(padding: Padding, used: int) -> int:
    """Return the least size that is enough: a third, two thirds, or all of the padded size."""
    size = padding.size
    if size < MIN_CROPPED:
        return size
    return next(k for k in (-(-size // 3), -(-2 * size // 3), size) if used <= k)


def largest_used(padding: Padding, states: Any) -> Array:
    """Return the largest number of entries in use, () over the states of all seeds."""
    used: Array = map_over_seeds(padding.used)(states)
    return used.max()


def crop(padding: Padding, states: Any, size: int) -> Any:
    """Return the states of all seeds with the first `size` entries of their padded arrays."""
    return map_over_seeds(lambda state: padding.crop(state, size))(states)


def restore(whole: Any, small: Any) -> Any:
    """Return padded states with their leading entries replaced by those of cropped states."""

    def put_back(old: Any, new: Any) -> Any:
        if old.shape == new.shape:
            return new
        return old.at[tuple(slice(n) for n in new.shape)].set(new)

    return jax.tree.map(put_back, whole, small)
