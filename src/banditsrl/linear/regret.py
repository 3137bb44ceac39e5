"""How much may a base algorithm lose in T steps? The paper's R-bar for LinUCB and e-greedy.

Every function is elementwise in its arguments (numbers or arrays), works with NumPy and inside
compiled code alike, and is non-decreasing in T and in 1/delta. The first two are the theorems of
the paper's appendix and hold unknown quantities (the gap, Gamma); the `worst_case` ones hold known
quantities only, as the best-in-class loss needs.
"""

import jax.numpy as jnp
from jax import Array

from banditsrl.linear.bounds import Number, beta


def linucb_regret(
    T: Number,
    *,
    dim: Number,
    delta: Number,
    sigma: Number,
    lam: Number,
    L: Number,
    B: Number,
    gap: Number,
) -> Array:
    """Regret of LinUCB with a known smallest gap: of the order d^2 log(T/delta)^2 / gap.

    As printed, 128 lam B^2 sigma^2 (2 log(1/delta) + d log(1 + T L^2/(lam d)))^2 / gap. The product
    stands for the square of a sum, the radius beta^2, which it bounds if both parts of beta,
    the noise term and sqrt(lam) B, are at least one.
    """
    log_term = 2.0 * jnp.log(1.0 / delta) + dim * jnp.log1p(T * L**2 / (lam * dim))
    return jnp.asarray(128.0 * lam * B**2 * sigma**2 * log_term**2 / gap)


def egreedy_regret(
    T: Number,
    *,
    dim: Number,
    delta: Number,
    sigma: Number,
    lam: Number,
    L: Number,
    B: Number,
    gamma: Number,
    n_actions: Number,
) -> Array:
    """Regret of e-greedy with epsilon_t = t^(-1/3) and a known Gamma(phi), called `gamma`.

    The eighth power is the time until forced exploration dominates its own deviation; it does not
    depend on T and dwarfs everything else for a long time.
    """
    root = jnp.sqrt(jnp.log(12.0 * dim / delta))
    burn_in = (128.0 * L**2 * n_actions * root / gamma) ** 8
    widths = L / jnp.sqrt(lam) * (burn_in + 2.0)
    widths = widths + 3.0 * L * jnp.sqrt(n_actions / gamma) * _two_thirds(T)
    radius = beta(T, dim=dim, delta=delta / 3.0, sigma=sigma, lam=lam, L=L, B=B)
    return 2.0 * radius * jnp.asarray(widths) + _forced(T, delta)


def linucb_worst_case(
    T: Number, *, dim: Number, delta: Number, sigma: Number, lam: Number, L: Number, B: Number
) -> Array:
    """Regret of LinUCB whatever the gap: 2 beta_T times the sum of the widths, by Cauchy-Schwarz.

    The widths' squares add up to at most 2 max(1, L^2/lam) d log(1 + T L^2/(lam d)).
    """
    potential = dim * jnp.log1p(T * L**2 / (lam * dim))
    widths = 2.0 * jnp.maximum(1.0, L**2 / lam) * potential
    radius = beta(T, dim=dim, delta=delta, sigma=sigma, lam=lam, L=L, B=B)
    return 2.0 * radius * jnp.sqrt(T * widths)


def egreedy_worst_case(
    T: Number,
    *,
    dim: Number,
    delta: Number,
    sigma: Number,
    lam: Number,
    L: Number,
    B: Number,
    n_actions: Number,
) -> Array:
    """The order of e-greedy's regret in known quantities: sqrt(d A) T^(2/3) up to logarithms.

    Not a bound: no worst case exists without Gamma, which may be arbitrarily small. This is the
    theorem (`egreedy_regret`) with Gamma(phi) taken as L^2, so that the units are right, and
    without its burn-in constants (the eighth power and 2 L/sqrt(lam)).
    """
    radius = beta(T, dim=dim, delta=delta / 3.0, sigma=sigma, lam=lam, L=L, B=B)
    return 6.0 * radius * jnp.sqrt(n_actions) * _two_thirds(T) + _forced(T, delta)


def _forced(T: Number, delta: Number) -> Array:
    """What forced exploration costs: its mean and, with probability 1 - delta/3, its deviation."""
    at_least_one = jnp.maximum(T, 1)  # so that T = 0 costs nothing instead of 0 log 0
    return 2.0 * jnp.sqrt(T * jnp.log(6.0 * at_least_one / delta)) + 3.0 * _two_thirds(T)


def _two_thirds(T: Number) -> Array:
    return jnp.asarray(T, dtype=float) ** (2.0 / 3.0)
