"""How wide are the paper's confidence sets? Radii, elimination offsets and confidence levels.

Every function is elementwise in its arguments (numbers or arrays) and works with NumPy as well as
inside compiled code. The argument `dim` is d_phi, `n_candidates` is |Phi|, and `L`, `B`, `lam`,
`sigma` and `delta` are the paper's symbols.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax.numpy as jnp
from jax import Array

from banditsrl.registry import Registry

Number: TypeAlias = Any
"""A float, a NumPy array or a JAX array."""


def beta(
    n: Number, *, dim: Number, delta: Number, sigma: Number, lam: Number, L: Number, B: Number
) -> Array:
    """Return beta_{n,delta}(phi), the radius of the confidence ellipsoid after n samples.

    beta = sigma sqrt(2 log(1/delta) + d log(1 + n L^2 / (lam d))) + sqrt(lam) B.
    """
    growth = dim * jnp.log1p(n * L**2 / (lam * dim))
    return jnp.asarray(sigma * jnp.sqrt(2.0 * jnp.log(1.0 / delta) + growth) + jnp.sqrt(lam) * B)


def authors_beta(
    n: Number, *, dim: Number, delta: Number, sigma: Number, lam: Number, L: Number, B: Number
) -> Array:
    """Return the radius of the authors' experiments: `beta` with log(1 + 2 n L / (lam d))."""
    growth = dim * jnp.log1p(2.0 * n * L / (lam * dim))
    return jnp.asarray(sigma * jnp.sqrt(2.0 * jnp.log(1.0 / delta) + growth) + jnp.sqrt(lam) * B)


def ucb_width(
    log_det: Number, *, delta: Number, sigma: Number, lam: Number, B: Number, scale: Number = 1.0
) -> Array:
    """Return C_UCB, the width of LinUCB in units of ||phi||_{V^-1}.

    C_UCB = alpha_UCB sigma sqrt(log_det + 2 log(1/delta)) + sqrt(lam) B, with
    `log_det` = log det V - log det(lam I) and alpha_UCB = `scale`.
    """
    return jnp.asarray(
        scale * sigma * jnp.sqrt(log_det + 2.0 * jnp.log(1.0 / delta)) + jnp.sqrt(lam) * B
    )


def alpha(
    t: Number, *, dim: Number, n_candidates: Number, delta: Number, L: Number, B: Number
) -> Array:
    """Return alpha_{t,delta}(phi), the paper's offset in the definition of the set Phi_t.

    alpha = (40 log(8 |Phi|^2 (12 L B t)^d t^3 / delta) + 2) / t.
    """
    log_term = jnp.log(8.0 * n_candidates**2 / delta) + 3.0 * jnp.log(t)
    return jnp.asarray((40.0 * (log_term + dim * _log_cover(t, L, B)) + 2.0) / t)


def tight_alpha(
    t: Number, *, dim: Number, n_candidates: Number, delta: Number, L: Number, B: Number
) -> Array:
    """Return the smaller offset of the authors' experiments.

    It is (24 log(2 t) + 8 log(|Phi|^2 / delta) + 8 d log(12 L B t) + 1) / t.
    """
    log_term = 24.0 * jnp.log(2.0 * t) + 8.0 * jnp.log(n_candidates**2 / delta)
    return jnp.asarray((log_term + 8.0 * dim * _log_cover(t, L, B) + 1.0) / t)


OFFSETS: Registry[Callable[..., Array]] = Registry("elimination offset")
OFFSETS.add("paper", alpha)
OFFSETS.add("tight", tight_alpha)


def phase_level(phase: Number, delta: Number) -> Array:
    """Return delta_j = delta / (2 (j + 1)^2), the confidence level of the base in phase j."""
    return jnp.asarray(delta / (2.0 * (jnp.asarray(phase, dtype=float) + 1.0) ** 2))


def design_deviation(t: Number, *, dim: Number, n_candidates: Number, delta: Number) -> Array:
    """Return 8 sqrt(t log(4 d |Phi| t / delta)), a bound on how far V_t / L^2 is from its mean."""
    return jnp.asarray(8.0 * jnp.sqrt(t * jnp.log(4.0 * dim * n_candidates * t / delta)))


def _log_cover(t: Number, L: Number, B: Number) -> Array:
    """Return log(12 L B t), the size of a cover of the ball, which has at least one point."""
    return jnp.log(jnp.maximum(12.0 * L * B * t, 1.0))
