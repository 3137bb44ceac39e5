"""How does linear algebra on tiny matrices run fast for many seeds? With the seeds last in memory.

A step of a linear bandit multiplies 6-by-6 matrices. Mapped over seeds the usual way, the seed is
the *first* axis and every inner loop is six long; with the seed as the *last* axis every inner loop
runs over the seeds and fills the vector registers, which is four times as fast.

`map_over_seeds` runs a function for all seeds, whose arrays carry the seeds along their last axis.
Whatever is inside is plain code for one seed. A few functions of `linear/` and of this room are
also marked with `seeds_last`: `jax.vmap` then hands them arrays that have the seeds after all
other axes, in memory too. Only a function that indexes and reduces leading axes may be marked, and
nothing outside these two rooms is.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap
from jax.experimental.layout import Layout, with_layout_constraint
from jax.experimental.xla_metadata import set_xla_metadata

MAX_UNROLLED = 32
"""Products over up to this many entries are written out, so that XLA fuses them."""


def map_over_seeds(function: Callable[..., Any], n_shared: int = 0) -> Callable[..., Any]:
    """Run `function` for all seeds: its first `n_shared` arguments have no seed axis.

    All other arguments, and all results, carry the seeds along their last axis. A single seed is
    not mapped at all: networks train faster that way on a CPU, and loops keep plain bounds.
    """

    def run(*args: Any) -> Any:
        shared, mapped = args[:n_shared], args[n_shared:]
        if jax.tree.leaves(mapped)[0].shape[-1] == 1:
            single = jax.tree.map(lambda leaf: leaf[..., 0], mapped)
            result = function(*shared, *single)
            return jax.tree.map(lambda leaf: jnp.asarray(leaf)[..., None], result)
        axes = (None,) * n_shared + (-1,) * len(mapped)
        return jax.vmap(function, in_axes=axes, out_axes=-1)(*args)

    return run


def seeds_last(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let `jax.vmap` put its axis last in `function`, which takes positional arrays only.

    Inside, index and reduce leading axes only, and let broadcasting line up the trailing ones: a
    number per seed has shape () or (n_seeds,), never (1,).
    """
    batched = custom_vmap(function)

    @batched.def_vmap
    def over_seeds(axis_size: int, is_mapped: Any, *args: Any) -> tuple[Any, Any]:
        def move_last(array: Any, mapped: bool) -> Any:
            if mapped:
                return lay_out(jnp.moveaxis(array, 0, -1))
            return jnp.broadcast_to(jnp.asarray(array)[..., None], (*jnp.shape(array), axis_size))

        out = batched(*jax.tree.map(move_last, args, tuple(is_mapped)))
        first = jax.tree.map(lambda array: jnp.moveaxis(array, -1, 0), out)
        return first, jax.tree.map(lambda _: True, out)

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args))
        return batched(*args) if traced else function(*args)

    return run


def update_if(is_due: Array, function: Callable[..., Any], value: Any, *args: Any) -> Any:
    """Return `function(value, *args)` if it is due, and `value` otherwise, for every seed.

    The function is not run if no seed needs it. A plain `lax.cond` would run it for all seeds in
    every step, since it becomes a choice between two results when it is mapped.
    """

    def run(is_due: Array, value: Any, *args: Any) -> Any:
        return jax.lax.cond(is_due, lambda: _like(value, function(value, *args)), lambda: value)

    batched = custom_vmap(run)

    @batched.def_vmap
    def over_seeds(axis_size: int, is_mapped: Any, is_due: Array, *rest: Any) -> tuple[Any, Any]:
        def spread(leaf: Any, mapped: bool) -> Any:
            return leaf if mapped else jnp.broadcast_to(leaf, (axis_size, *jnp.shape(leaf)))

        due, value, *others = jax.tree.map(spread, (is_due, *rest), tuple(is_mapped))

        def update(due: Array, old: Any, *args: Any) -> Any:
            return _pick(due, function(old, *args), old)

        def update_all() -> Any:
            return _like(value, jax.vmap(update)(due, value, *others))

        out = jax.lax.cond(due.any(), update_all, lambda: value)
        return out, jax.tree.map(lambda _: True, out)

    return batched(is_due, value, *args)


def _pick(is_new: Array, new: Any, old: Any) -> Any:
    """Return one of two pytrees."""
    return jax.tree.map(lambda a, b: jnp.where(is_new, a, b), new, old)


def _like(old: Any, new: Any) -> Any:
    """Return `new` with the types of `old`, as both sides of a condition must have the same."""
    return jax.tree.map(lambda a, b: jnp.asarray(b, dtype=a.dtype), old, new)


def lay_out(array: Array) -> Array:
    """Store the array in the order of its axes; XLA would otherwise read across memory."""
    placed: Array = with_layout_constraint(array, Layout(tuple(range(array.ndim))))
    return placed


def rows_times(rows: Array, matrix: Array) -> Array:
    """Return `rows @ matrix` for every seed: (k, d, ...) times (d, e, ...) gives (k, e, ...)."""
    dim = matrix.shape[0]
    if dim > MAX_UNROLLED:
        return jnp.einsum("kd...,de...->ke...", rows, matrix)
    out = rows[:, 0, None] * matrix[None, 0]
    for i in range(1, dim):
        out = out + rows[:, i, None] * matrix[None, i]
    return out


@seeds_last
def small_product(rows: Array, matrix: Array) -> Array:
    """Return `rows @ matrix` of small matrices (k, d) and (d, e), fast for many seeds."""
    return rows_times(rows, matrix)


def matrix_times(matrix: Array, vector: Array) -> Array:
    """Return `matrix @ vector` for every seed: (d, e, ...) times (e, ...) gives (d, ...)."""
    dim = matrix.shape[1]
    if dim > MAX_UNROLLED:
        return jnp.einsum("de...,e...->d...", matrix, vector)
    out = matrix[:, 0] * vector[0]
    for i in range(1, dim):
        out = out + matrix[:, i] * vector[i]
    return out


def indices(n: int, like: Array) -> Array:
    """Return 0..n-1 along the first axis, shaped to broadcast against `like` of shape (n, ...)."""
    return jnp.arange(n).reshape((n,) + (1,) * (like.ndim - 1))


@seeds_last
def select_row(rows: Array, k: Array) -> Array:
    """Return `rows[k]` of a matrix (n, d), such that it is computed once.

    XLA fuses a plain look-up into every use of its result, and repeats what led to k for each
    entry of a d-by-d update. It does not do that with a sum.
    """
    return jnp.where(indices(rows.shape[0], rows) == k, rows, 0).sum(0)


def look_up(table: Array, index: Any, size: int | None = None) -> Array:
    """Return `table[index]` as a call of its own, so that rows are copied whole for every seed.

    Only the first `size` entries of the last axis are read, if a size is given.
    """
    if not isinstance(index, jax.core.Tracer) or jax.default_backend() != "cpu":
        return table[index, ..., :size]
    found: Array = set_xla_metadata(_look_up(table, index, size), inlineable="false")
    return found


@functools.partial(jax.jit, static_argnums=2)
def _look_up(table: Array, index: Array, size: int | None) -> Array:
    return table[index, ..., :size]


def seeds_of_a_network() -> int:
    """Return how many seeds of a network run side by side: one on a CPU, which it keeps busy."""
    return 1 if jax.default_backend() == "cpu" else 20
