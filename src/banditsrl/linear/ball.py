"""Which theta in the ball ||theta|| <= B fits the rewards best? Constrained least squares, exactly.

The answer needs the statistics only. One eigendecomposition of G = sum phi phi^T gives the
unconstrained solution. If that lies outside the ball, the solution is theta(nu) = (G + nu I)^-1 b,
where nu > 0 is the root of the secular equation ||theta(nu)|| = B.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

NULL_EIGENVALUE = 1e-12
"""Eigenvalues below this share of the largest count as zero: b has no component along them."""

MAX_NEWTON_STEPS = 30
"""Limit on the Newton steps for the secular equation.

1 / ||theta(nu)|| is concave in nu and nearly straight. Newton's method therefore approaches the
root from the left, and reaches it to the last bit in about six steps, after which nu stops growing.
"""


class BallFit(NamedTuple):
    """The best parameter in the ball and its squared error."""

    theta: Array  # (d,)  in the eigenbasis of G
    squared_error: Array  # ()    sum (phi . theta - y)^2


def fit_in_ball_diagonal(values: Array, c: Array, yy: Array, radius: Array) -> BallFit:
    """Minimise sum (phi . theta - y)^2 over ||theta|| <= radius, in the eigenbasis of G.

    G is the sum of phi phi^T, and theta_i(nu) = c_i / (l_i + nu).

    Entries without data, such as padding, have l_i = c_i = 0 and change nothing.

    Args:
        values: The eigenvalues l of G, (d,).
        c: sum phi y in the eigenbasis, (d,).
        yy: sum y^2, ().
        radius: B, the radius of the ball, ().
    """
    present = values > NULL_EIGENVALUE * jnp.maximum(values.max(), 0.0)
    c = jnp.where(present, c, 0.0)

    def solve(nu: Array) -> Array:
        return jnp.where(present, c / jnp.where(present, values + nu, 1.0), 0.0)

    def take_newton_step(search: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        n_steps, nu, _ = search
        z = solve(nu)
        norm = jnp.sqrt((z * z).sum())
        slope = (z * z / jnp.where(present, values + nu, 1.0)).sum()
        outside = (norm > radius) & (slope > 0)
        step = (norm / radius - 1.0) * norm**2 / jnp.where(outside, slope, 1.0)
        next_nu = nu + jnp.where(outside, step, 0.0)
        return n_steps + 1, next_nu, next_nu > nu

    def is_growing(search: tuple[Array, Array, Array]) -> Array:
        return search[2] & (search[0] < MAX_NEWTON_STEPS)

    start = (jnp.zeros((), jnp.int32), jnp.zeros_like(yy), jnp.ones_like(yy, dtype=bool))
    z = solve(jax.lax.while_loop(is_growing, take_newton_step, start)[1])
    error = yy - 2.0 * (z * c).sum() + (values * z * z).sum()
    return BallFit(z, jnp.maximum(error, 0.0))
