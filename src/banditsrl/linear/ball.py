"""Which theta in the ball ||theta|| <= B fits best? The exact constrained least squares.

From the statistics alone: one eigendecomposition of G = sum phi phi^T and, when the free solution
lies outside the ball, the root of the scalar secular equation sum c_i^2 / (l_i + nu)^2 = B^2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

NULL_EIGENVALUE = 1e-12
"""Eigenvalues below this share of the largest are zero: b has no component along them."""

BISECTIONS = 120
"""Halvings of the bracket of nu; 60 reach the last bit of nu, the rest cost nothing."""


class BallFit(NamedTuple):
    """The best parameter in the ball, its squared error, and the spectrum found on the way."""

    theta: Array  # (d,)
    squared_error: Array  # ()
    eigenvalues: Array  # (d,) of G, ascending


def ball_fit(gram: Array, b: Array, yy: Array, *, radius: Array) -> BallFit:
    """Minimise sum (phi . theta - y)^2 over ||theta|| <= radius.

    Args:
        gram: G = sum phi phi^T, (d, d).
        b: sum phi y, (d,).
        yy: sum y^2.
        radius: B, the radius of the ball.
    """
    values, vectors = jnp.linalg.eigh(gram)
    present = values > NULL_EIGENVALUE * jnp.maximum(values[-1], 0.0)
    c = jnp.where(present, vectors.T @ b, 0.0)  # (d,)

    def at(nu: Array) -> Array:
        return jnp.where(present, c / jnp.where(present, values + nu, 1.0), 0.0)

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = 0.5 * (low + high)
        outside = jnp.linalg.norm(at(middle)) > radius
        return jnp.where(outside, middle, low), jnp.where(outside, high, middle)

    zero = jnp.zeros_like(yy)
    free = jnp.linalg.norm(at(zero)) <= radius
    _, nu = jax.lax.fori_loop(0, BISECTIONS, halve, (zero, jnp.linalg.norm(c) / radius))
    z = at(jnp.where(free, zero, nu))
    error = yy - 2.0 * (z @ c) + z @ (values * z)
    return BallFit(vectors @ z, jnp.maximum(error, 0.0), values)
