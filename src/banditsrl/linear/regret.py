"""How much regret can a base algorithm have in T steps? The paper's R-bar for LinUCB and e-greedy.

Every function is elementwise in its arguments (numbers or arrays), works with NumPy as well as
inside compiled code, and is non-decreasing in T and in 1/delta. `linucb_regret` and
`egreedy_regret` are theorems of the paper's appendix and contain unknown quantities (the gap,
Gamma). The two `worst_case` functions contain known quantities only, as the best-in-class loss
requires.
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
    """Return the regret bound of LinUCB for a known smallest gap.

    As printed, it is 128 lam B^2 sigma^2 (2 log(1/delta) + d log(1 + T L^2/(lam d)))^2 / gap. The
    product stands in for beta^2, the square of a sum. It is an upper bound of beta^2 only if both
    terms of beta, the noise term and sqrt(lam) B, are at least one.
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
    """Return the regret bound of e-greedy with epsilon_t = t^(-1/3), for a known Gamma(phi).

    2 beta_{T,delta/3} (L/sqrt(lam) (tau + 2) + 3 L sqrt(A/Gamma) T^(2/3))
    + 2 sqrt(T log(6 T/delta)) + 3 T^(2/3), with tau = (128 L^2 A sqrt(log(12 d/delta)) / Gamma)^8.
    The time tau, after which the expected amount of forced exploration exceeds its random
    deviation, does not depend on T and is the largest term for a long time.

    Args:
        T: Number of steps.
        dim: d.
        delta: Confidence level.
        sigma: Noise level.
        lam: Ridge regulariser.
        L: Bound on the norm of the features.
        B: Bound on the norm of the parameter.
        gamma: Gamma(phi), the smallest eigenvalue of E[sum_a phi(x, a) phi(x, a)^T].
        n_actions: A.
    """
    root = jnp.sqrt(jnp.log(12.0 * dim / delta))
    burn_in = (128.0 * L**2 * n_actions * root / gamma) ** 8
    widths = L / jnp.sqrt(lam) * (burn_in + 2.0)
    widths = widths + 3.0 * L * jnp.sqrt(n_actions / gamma) * _power_two_thirds(T)
    radius = beta(T, dim=dim, delta=delta / 3.0, sigma=sigma, lam=lam, L=L, B=B)
    return 2.0 * radius * jnp.asarray(widths) + _forced_exploration(T, delta)


def linucb_worst_case(
    T: Number, *, dim: Number, delta: Number, sigma: Number, lam: Number, L: Number, B: Number
) -> Array:
    """Return a regret bound of LinUCB for any gap: 2 beta_T times the sum of the widths.

    By Cauchy-Schwarz the sum of the widths is at most the square root of T times the sum of their
    squares, which is at most 2 max(1, L^2/lam) d log(1 + T L^2/(lam d)).
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
    """Return the order of e-greedy's regret, sqrt(d A) T^(2/3) up to logarithms.

    This is not a bound: there is no worst case without Gamma, which may be arbitrarily small. It is
    the theorem (`egreedy_regret`) with L^2 in place of Gamma(phi), which has the right units, and
    without the terms that do not grow with T (the eighth power and 2 L/sqrt(lam)).
    """
    radius = beta(T, dim=dim, delta=delta / 3.0, sigma=sigma, lam=lam, L=L, B=B)
    return 6.0 * radius * jnp.sqrt(n_actions) * _power_two_thirds(T) + _forced_exploration(T, delta)


def _forced_exploration(T: Number, delta: Number) -> Array:
    """Return a bound on the cost of forced exploration that holds with probability 1 - delta/3."""
    at_least_one = jnp.maximum(T, 1)  # 0 log 0 is nan; no steps cost nothing
    return 2.0 * jnp.sqrt(T * jnp.log(6.0 * at_least_one / delta)) + 3.0 * _power_two_thirds(T)


def _power_two_thirds(T: Number) -> Array:
    return jnp.asarray(T, dtype=float) ** (2.0 / 3.0)
