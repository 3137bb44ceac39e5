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
    """Weighted sums of the errors e = p - r of predictions p (E,) of rewards r.

    Since the weights sum to one, the error of the mixture is w . e, so its squared error w . G w
    does not depend on where the zero of the rewards is.
    """

    errors: Array  # (E, E)  G = sum e e^T


def empty_stack(n_predictors: int) -> Stack:
    """Return the sums before any prediction, from which equal weights are fitted."""
    return Stack(jnp.zeros((n_predictors, n_predictors), dtype=jnp.float64))


def add_errors(stack: Stack, errors: Array, counts: Array) -> Stack:
    """Return the sums after one more round; a round that does not count changes nothing."""
    e = jnp.where(counts, errors, 0.0)
    return Stack(stack.errors + e[:, None] * e)


def fade(stack: Stack) -> Stack:
    """Return the sums at the start of a phase, with less weight on earlier rounds."""
    return Stack(MEMORY * stack.errors)


def fit_weights(stack: Stack) -> Array:
    """Return the w >= 0 of sum 1 with the least squared error, (E,), by Frank-Wolfe steps.

    Exact for up to two predictors, close for more. An error of one percent of the mean squared
    error, added to each predictor, keeps the weights of near twins equal.
    """
    n = stack.errors.shape[0]
    G = stack.errors + 0.01 * jnp.trace(stack.errors) / n * jnp.eye(n)

    def step(_: Array, w: Array) -> Array:
        slope = G @ w
        along = jax.nn.one_hot(jnp.argmin(slope), n, dtype=w.dtype) - w
        curvature = along @ G @ along
        length = jnp.where(curvature > 0, -(slope @ along) / curvature, 0.0)
        return w + jnp.clip(length, 0.0, 1.0) * along

    fitted: Array = jax.lax.fori_loop(0, FIT_STEPS, step, jnp.full(n, 1.0 / n))
    return fitted
