"""How does linear algebra on tiny matrices run fast for many seeds? In lanes, in float64.

A step of a linear bandit multiplies 6-by-6 matrices. Mapped over seeds the usual way, the seed
is the *first* axis and every inner loop is six long; with the seed as the *last* axis every inner
loop runs over the seeds and fills the vector registers, which is four times as fast. `lanes`
marks a function whose arrays may carry extra trailing axes: `jax.vmap` then adds one trailing
axis instead of a leading one, in memory too, and the same code serves one seed and many.

Rules inside such a function: index and reduce leading axes only, and let NumPy broadcasting line
up the trailing ones (a scalar per seed has shape `()` or `(n_seeds,)`, never `(1,)`).
"""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.experimental.layout import Layout, with_layout_constraint
from jax.experimental.xla_metadata import set_xla_metadata

P = ParamSpec("P")
R = TypeVar("R")

MAX_UNROLLED = 32
"""Contractions up to this length are written out, so that they fuse."""


def double(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` in float64 without touching the caller's numeric settings."""

    @functools.wraps(function)
    def in_float64(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return in_float64


def lanes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let `jax.vmap` put its axis last in `function`, which takes positional arrays only."""
    in_lanes = custom_vmap(function)

    @in_lanes.def_vmap
    def over_seeds(axis_size: int, batched: Any, *args: Any) -> tuple[Any, Any]:
        def last(array: Any, is_batched: bool) -> Any:
            if is_batched:
                return _in_memory(jnp.moveaxis(array, 0, -1))
            return jnp.broadcast_to(jnp.asarray(array)[..., None], (*jnp.shape(array), axis_size))

        out = in_lanes(*jax.tree.map(last, args, tuple(batched)))
        first = jax.tree.map(lambda array: jnp.moveaxis(array, -1, 0), out)
        return first, jax.tree.map(lambda _: True, out)

    @functools.wraps(function)
    def called(*args: Any) -> Any:
        traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args))
        return in_lanes(*args) if traced else function(*args)

    return called


def _in_memory(array: jax.Array) -> jax.Array:
    """`array` laid out as its axes are named: XLA would rather read across memory than move it."""
    placed: jax.Array = with_layout_constraint(array, Layout(tuple(range(array.ndim))))
    return placed


def rows_times(rows: jax.Array, matrix: jax.Array) -> jax.Array:
    """`rows @ matrix` lane by lane: (k, d, ...) times (d, e, ...) gives (k, e, ...)."""
    dim = matrix.shape[0]
    if dim > MAX_UNROLLED:
        return jnp.einsum("kd...,de...->ke...", rows, matrix)
    out = rows[:, 0, None] * matrix[None, 0]
    for i in range(1, dim):
        out = out + rows[:, i, None] * matrix[None, i]
    return out


def matrix_times(matrix: jax.Array, vector: jax.Array) -> jax.Array:
    """`matrix @ vector` lane by lane: (d, e, ...) times (e, ...) gives (d, ...)."""
    dim = matrix.shape[1]
    if dim > MAX_UNROLLED:
        return jnp.einsum("de...,e...->d...", matrix, vector)
    out = matrix[:, 0] * vector[0]
    for i in range(1, dim):
        out = out + matrix[:, i] * vector[i]
    return out


def indices(n: int, like: jax.Array) -> jax.Array:
    """0..n-1 along the first axis, shaped to broadcast against `like` of shape (n, ...)."""
    return jnp.arange(n).reshape((n,) + (1,) * (like.ndim - 1))


@lanes
def row(rows: jax.Array, k: jax.Array) -> jax.Array:
    """`rows[k]` of a matrix (n, d), such that it is computed once.

    XLA fuses a plain look-up into every use of its result, and repeats what led to k for each
    entry of a d-by-d update. It does not do that with a sum.
    """
    return jnp.where(indices(rows.shape[0], rows) == k, rows, 0).sum(0)


def entry(table: jax.Array, index: Any) -> jax.Array:
    """`table[index]` as a call of its own: rows are copied whole before any lane is formed."""
    if not isinstance(index, jax.core.Tracer) or jax.default_backend() != "cpu":
        return table[index]
    found: jax.Array = set_xla_metadata(_entry(table, index), inlineable="false")
    return found


@jax.jit
def _entry(table: jax.Array, index: jax.Array) -> jax.Array:
    return table[index]
