"""How is work on padding saved? By computing with fewer entries where these are enough.

Arrays of seeds that need different sizes are padded with zeros to the largest. A compiled program
has fixed sizes, so it contains three, and each call computes with the least of them that is enough
for all seeds. The entries left out are zero, so the results are the same.

The functions that `run_at_size` and `update_at_size` take are plain code for one seed.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_batching import custom_vmap

from banditsrl.numerics.seed_axis import lay_out, look_up

MIN_CROPPED = 9
"""Padding is cut off from arrays of at least this size; for smaller ones it is not worth it."""

Functions = Sequence[Callable[..., Any]]


class Row(NamedTuple):
    """A row of a table that is not read yet, so that it can be read without its padding."""

    table: Array  # (n, ..., d)
    place: Array  # () its index

    def read(self, size: int) -> Array:
        """Return the first `size` entries along the last axis, (..., size)."""
        return look_up(self.table, self.place, size)


def run_at_size(function: Callable[..., Any], used: Array, size: int, *args: Any) -> Any:
    """Return `function(k, *args)` for the least k that is enough for all seeds.

    Args:
        function: What to compute with k entries; its results have the same shapes for every k.
        used: Number of entries in front of the padding, ().
        size: Number of entries with the padding.
        args: Arrays that differ between seeds, or tables that all seeds share.
    """
    if size < MIN_CROPPED:
        return function(size, *args)

    def choose(least: Array, functions: Functions, args: Sequence[Any]) -> Any:
        return jax.lax.switch(least, functions, *args)

    return _run_together(choose, function, used, size, args)


def update_at_size(
    function: Callable[..., Any], value: Any, used: Array, size: int, *args: Any
) -> Any:
    """Return `function(k, value, *args)` likewise, such that `value` is updated in place.

    Each size is a loop that runs once or not at all. XLA updates what a loop carries in place,
    whereas it copies what a choice between functions returns.
    """
    if size < MIN_CROPPED:
        return function(size, value, *args)

    def choose(least: Array, functions: Functions, args: Sequence[Any]) -> Any:
        value, *others = args
        for i, update in enumerate(functions):
            run = partial(lambda update, _, value: update(value, *others), update)
            value = jax.lax.fori_loop(0, (least == i).astype(int), run, value)
        return value

    return _run_together(choose, function, used, size, (value, *args), n_updated=1)


def _run_together(
    choose: Callable[[Array, Functions, Sequence[Any]], Any],
    function: Callable[..., Any],
    used: Array,
    size: int,
    args: Sequence[Any],
    n_updated: int = 0,
) -> Any:
    """Let `choose` run the function at one size, for one seed or for all of them at once.

    The first `n_updated` arguments become different for every seed, even if they are not yet.
    """
    sizes = [-(-size // 3), -(-2 * size // 3), size]
    functions = [partial(function, k) for k in sizes]

    def find_least(used: Array) -> Array:
        return (jnp.max(used) > np.asarray(sizes[:-1])).sum()

    batched = custom_vmap(lambda used, *args: choose(find_least(used), functions, args))

    @batched.def_vmap
    def over_seeds(axis_size: int, is_mapped: Any, used: Array, *args: Any) -> tuple[Any, Any]:
        updated, others = is_mapped[1 : 1 + n_updated], is_mapped[1 + n_updated :]
        mapped = (*jax.tree.map(lambda _: True, updated), *others)
        args = jax.tree.map(partial(_repeat, axis_size), args, tuple(is_mapped[1:]), mapped)
        last = jax.tree.map(lambda leaf, m: _move_last(leaf) if m else leaf, args, mapped)
        axes = jax.tree.map(lambda m: -1 if m else None, mapped)
        all_seeds = [_map_in_order(each, axes, axis_size) for each in functions]
        out = choose(find_least(used), all_seeds, last)
        first = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), out)
        return first, jax.tree.map(lambda _: True, out)

    return batched(used, *args)


def _repeat(n_seeds: int, leaf: Array, is_mapped: bool, must_be: bool) -> Array:
    """Return one copy per seed of what all seeds share, if it must be mapped."""
    return jnp.broadcast_to(leaf, (n_seeds, *leaf.shape)) if must_be and not is_mapped else leaf


def _move_last(leaf: Array) -> Array:
    return lay_out(jnp.moveaxis(leaf, 0, -1))


def _map_in_order(function: Callable[..., Any], axes: Any, n_seeds: int) -> Callable[..., Any]:
    """Map a function over seeds, which are the last axis of its results in memory, too."""
    mapped = jax.vmap(function, in_axes=axes, out_axes=-1, axis_size=n_seeds)
    return lambda *args: jax.tree.map(lay_out, mapped(*args))
