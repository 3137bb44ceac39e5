"""How does linear algebra run in float64 without changing the caller's settings? In a scope."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

P = ParamSpec("P")
R = TypeVar("R")


def in_float64(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` in float64 without touching the caller's numeric settings."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return run


def holds_broken_numbers(array: ArrayLike) -> Array | np.bool_:
    """Return whether an array of a state holds NaN, or infinity in float32.

    Statistics in float64 may hold infinity on purpose, such as the deviation of a constant column.
    In float32, which networks use, infinity is an overflow.
    """
    # An array of NumPy stays one: JAX would compile a program for each of its shapes.
    known, numpy = (array, np) if isinstance(array, np.ndarray) else (jnp.asarray(array), jnp)
    if not jnp.issubdtype(known.dtype, jnp.inexact):
        return jnp.zeros((), dtype=bool)
    broken = ~numpy.isfinite(known) if known.dtype == jnp.float32 else numpy.isnan(known)
    found: Array | np.bool_ = broken.any()
    return found
