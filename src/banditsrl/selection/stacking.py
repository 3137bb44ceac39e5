"""How are several predictors combined? By the weights that would have predicted best (stacking).

Every predictor predicts each reward before it is seen. The weights are non-negative and sum to one,
and their mixture has the least squared error over these predictions, where later ones count more.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

MEMORY = 0.5
"""Factor of everything that was seen before a phase when the phase begins."""

FIT_STEPS = 30
"""Frank-Wolfe steps of a fit."""


class Stack(NamedTuple):
    """Weighted sums of predictions p (E,) and rewards r."""

    gram: Array  # (E, E)  I + sum p p^T
    cross: Array  # (E,)   1 / E + sum r p


def empty_stack(n_predictors: int) -> Stack:
    """Return the sums before any prediction, from which equal weights are fitted."""
    equal = jnp.full(n_predictors, 1.0 / n_predictors, dtype=jnp.float64)
    return Stack(jnp.eye(n_predictors, dtype=jnp.float64), equal)


def add_predictions(stack: Stack, predicted: Array, reward: Array, counts: Array) -> Stack:
    """Return the sums after one more round; a round that does not count changes nothing."""
    p = jnp.where(counts, predicted, 0.0)
    return Stack(stack.gram + p[:, None] * p, stack.cross + reward * p)


def fade(stack: Stack) -> Stack:
    """Return the sums at the start of a phase, with less weight on earlier rounds."""
    start = empty_stack(len(stack.cross))
    return Stack(*[old + MEMORY * (new - old) for old, new in zip(start, stack, strict=True)])


def fit_weights(stack: Stack) -> Array:
    """Return the w >= 0 of sum 1 with the least squared error, (E,), by Frank-Wolfe steps.

    Exact for up to two predictors, close for more.
    """

    def step(_: Array, w: Array) -> Array:
        slope = stack.gram @ w - stack.cross
        along = jax.nn.one_hot(jnp.argmin(slope), len(w), dtype=w.dtype) - w
        curvature = jnp.maximum(along @ stack.gram @ along, 1e-300)
        return w + jnp.clip(-(slope @ along) / curvature, 0.0, 1.0) * along

    start = empty_stack(len(stack.cross)).cross
    fitted: Array = jax.lax.fori_loop(0, FIT_STEPS, step, start)
    return fitted
