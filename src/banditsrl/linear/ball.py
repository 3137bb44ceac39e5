"""Which theta in the ball ||theta|| <= B fits best? The exact constrained least squares.

From the statistics alone: one eigendecomposition of G = sum phi phi^T and, when the free solution
lies outside the ball, the root of the scalar secular equation sum c_i^2 / (l_i + nu)^2 = B^2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.linear.spectra import Spectrum

NULL_EIGENVALUE = 1e-12
"""Eigenvalues below this share of the largest are zero: b has no component along them."""

MOST_STEPS = 30
"""Steps on the secular equation. 1 / ||theta(nu)|| is concave and nearly straight, so that Newton
rises to the root from the left and has it to the last bit in about six, where it stops."""


class BallFit(NamedTuple):
    """The best parameter in the ball and its squared error."""

    theta: Array  # (d,) in the eigenbasis of G, or in the original one
    squared_error: Array  # ()


def ball_fit(spectrum: Spectrum, b: Array, yy: Array, *, radius: Array) -> BallFit:
    """Minimise sum (phi . theta - y)^2 over ||theta|| <= radius.

    Args:
        spectrum: Of G = sum phi phi^T, dimension d.
        b: sum phi y, (d,).
        yy: sum y^2.
        radius: B, the radius of the ball.
    """
    fit = diagonal_ball_fit(spectrum.values, spectrum.vectors.T @ b, yy, radius)
    return BallFit(spectrum.vectors @ fit.theta, fit.squared_error)


def diagonal_ball_fit(values: Array, c: Array, yy: Array, radius: Array) -> BallFit:
    """The same in the eigenbasis: G is diag(values) and b is c, both (d,).

    Entries with no data (value and c zero, as from padding) change nothing.
    """
    present = values > NULL_EIGENVALUE * jnp.maximum(values.max(), 0.0)
    c = jnp.where(present, c, 0.0)

    def shrunk(nu: Array) -> Array:
        return jnp.where(present, c / jnp.where(present, values + nu, 1.0), 0.0)

    def newton(search: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        n, nu, _ = search
        z = shrunk(nu)
        norm = jnp.sqrt((z * z).sum())
        slope = (z * z / jnp.where(present, values + nu, 1.0)).sum()
        outside = (norm > radius) & (slope > 0)
        step = (norm / radius - 1.0) * norm**2 / jnp.where(outside, slope, 1.0)
        risen = nu + jnp.where(outside, step, 0.0)
        return n + 1, risen, risen > nu

    def rising(search: tuple[Array, Array, Array]) -> Array:
        return search[2] & (search[0] < MOST_STEPS)

    start = (jnp.zeros((), jnp.int32), jnp.zeros_like(yy), jnp.ones_like(yy, dtype=bool))
    z = shrunk(jax.lax.while_loop(rising, newton, start)[1])
    error = yy - 2.0 * (z * c).sum() + (values * z * z).sum()
    return BallFit(z, jnp.maximum(error, 0.0))
