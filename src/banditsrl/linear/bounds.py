"""How wide is wide enough? Confidence radii, elimination offsets and levels of the paper.

Every function is elementwise in its arguments (numbers or arrays), works with NumPy and inside
compiled code alike, and names the paper's symbol it computes.
"""

from typing import Any

import jax.numpy as jnp
from jax import Array

from banditsrl.registry import Registry

Number = Any  # a float, a NumPy array or a JAX array


def beta(
    n: Number, *, dim: Number, delta: Number, sigma: Number, lam: Number, L: Number, B: Number
) -> Array:
    """beta_{n,delta}(phi): radius of the confidence ellipsoid after n samples."""
    growth = dim * jnp.log1p(n * L**2 / (lam * dim))
    return jnp.asarray(sigma * jnp.sqrt(2.0 * jnp.log(1.0 / delta) + growth) + jnp.sqrt(lam) * B)


def authors_beta(
    n: Number, *, dim: Number, delta: Number, sigma: Number, lam: Number, L: Number, B: Number
) -> Array:
    """The same with log(1 + 2 n L / (lam d)), as in the authors' experiments."""
    growth = dim * jnp.log1p(2.0 * n * L / (lam * dim))
    return jnp.asarray(sigma * jnp.sqrt(2.0 * jnp.log(1.0 / delta) + growth) + jnp.sqrt(lam) * B)


def ucb_width(
    log_det: Number, *, delta: Number, sigma: Number, lam: Number, B: Number, scale: Number = 1.0
) -> Array:
    """C_UCB, with `log_det` = log det V - log det(lam I); `scale` (alpha_UCB) on the noise only."""
    return jnp.asarray(
        scale * sigma * jnp.sqrt(log_det + 2.0 * jnp.log(1.0 / delta)) + jnp.sqrt(lam) * B
    )


def alpha(
    t: Number, *, dim: Number, n_candidates: Number, delta: Number, L: Number, B: Number
) -> Array:
    """alpha_{t,delta}(phi): offset of the set Phi_t (constant 40), as in the paper."""
    log_term = jnp.log(8.0 * n_candidates**2 / delta) + 3.0 * jnp.log(t)
    return jnp.asarray((40.0 * (log_term + dim * _log_cover(t, L, B)) + 2.0) / t)


def tight_alpha(
    t: Number, *, dim: Number, n_candidates: Number, delta: Number, L: Number, B: Number
) -> Array:
    """The tighter offset of the authors' experiments."""
    log_term = 24.0 * jnp.log(2.0 * t) + 8.0 * jnp.log(n_candidates**2 / delta)
    return jnp.asarray((log_term + 8.0 * dim * _log_cover(t, L, B) + 1.0) / t)


OFFSETS: Registry[Any] = Registry("elimination offset")
OFFSETS.add("paper", alpha)
OFFSETS.add("tight", tight_alpha)


def phase_level(phase: Number, delta: Number) -> Array:
    """delta_j = delta / (2 (j + 1)^2), the base algorithm's level in phase j."""
    return jnp.asarray(delta / (2.0 * (jnp.asarray(phase, dtype=float) + 1.0) ** 2))


def design_deviation(t: Number, *, dim: Number, n_candidates: Number, delta: Number) -> Array:
    """8 sqrt(t log(4 d |Phi| t / delta)): how far V_t / L^2 strays from its mean."""
    return jnp.asarray(8.0 * jnp.sqrt(t * jnp.log(4.0 * dim * n_candidates * t / delta)))


def _log_cover(t: Number, L: Number, B: Number) -> Array:
    """log(12 L B t), the size of a cover of the ball, which has at least one point."""
    return jnp.log(jnp.maximum(12.0 * L * B * t, 1.0))
