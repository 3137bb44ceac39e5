"""How large can a mean be, at all times? An upper confidence bound by betting.

Observations Z_1, Z_2, ... come with bounds b_s >= Z_s that are known before Z_s is seen. With
X_s = Z_s / b_s <= 1 and a bet g in (0, 1), the capital against a hypothetical mean m after n rounds
is

    K_n(m) = prod_s (1 - g X_s) / (1 - g m)^n,

and the bound is the largest m at which a mixture of K_n(m) over several bets is below 1 / level.
This is the betting of Waudby-Smith and Ramdas, *Estimating means of bounded random variables by
betting* (2024), with 1 + c (m - X_s), c = g / (1 - g m), written as a quotient. In this form the
bound needs no constant mean. Let mu_s be the mean of X_s given the past. The product of
(1 - g X_s) / (1 - g mu_s) is a martingale of mean one, whatever the mu_s are; and log(1 - g m) is
concave in m, so that K_n at the average of mu_1 .. mu_n is never larger than this product. By
Ville's inequality the average of the mu_s therefore exceeds the bound *at any time* with
probability at most `level`.

In terms of Z this is the average of the conditional means with weights 1 / b_s, which is the plain
average when the bounds are constant. A lower bound is minus the upper bound of the observations -Z.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from banditsrl.numerics.precision import in_float64

BETS = np.array([0.9, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015, 0.0075])
"""The bets g of the mixture: small ones pay after many rounds, large ones after few."""

N_HALVINGS = 40
"""Halvings of the interval [-1, 1] in which the bound is sought."""


class BetSequence(NamedTuple):
    """What is kept of S sequences of observations."""

    n: Array  # (S,)    number of observations
    weight: Array  # (S,)    sum of 1 / b_s
    log_wealth: Array  # (S, G)  sum of log(1 - g X_s) for every bet


@in_float64
def empty_bets(n_sequences: int) -> BetSequence:
    """Return S sequences without observations."""
    zeros = jnp.zeros((n_sequences,), dtype=jnp.float64)
    return BetSequence(zeros, zeros, jnp.zeros((n_sequences, len(BETS)), dtype=jnp.float64))


@in_float64
def add_observation(bets: BetSequence, value: Array, bound: ArrayLike) -> BetSequence:
    """Return the sequences after one more observation of each, Z (S,), with Z <= bound (S,)."""
    x = value / bound
    return BetSequence(
        n=bets.n + 1.0,
        weight=bets.weight + 1.0 / jnp.broadcast_to(jnp.asarray(bound), bets.n.shape),
        log_wealth=bets.log_wealth + jnp.log1p(-jnp.asarray(BETS) * x[:, None]),
    )


@in_float64
def evidence_against(bets: BetSequence, mean: ArrayLike) -> Array:
    """Return log K of the mixture against an average of at least `mean` (S,), in units of Z.

    The hypothesis is refuted at a level once this exceeds log(1 / level), at any time.
    """
    n = jnp.maximum(bets.n, 1.0)
    return _log_capital(bets, jnp.asarray(mean) * bets.weight / n)


@in_float64
def upper_bound(bets: BetSequence, level: ArrayLike) -> Array:
    """Return the bound on the weighted average of the conditional means of Z, (S,).

    Without observations it is infinite.
    """
    limit = -jnp.log(jnp.asarray(level, dtype=jnp.float64))

    def halve(_: Array, interval: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = interval
        middle = 0.5 * (low + high)
        refuted = _log_capital(bets, middle) >= limit
        return jnp.where(refuted, low, middle), jnp.where(refuted, middle, high)

    ends = (-jnp.ones_like(bets.n), jnp.ones_like(bets.n))
    _, mean = jax.lax.fori_loop(0, N_HALVINGS, halve, ends)
    return jnp.where(bets.n > 0, mean * bets.n / bets.weight, jnp.inf)


def _log_capital(bets: BetSequence, mean: Array) -> Array:
    """Return log of the mean over bets of K_n(m), for m (S,) in units of X."""
    staked = jnp.log1p(-jnp.asarray(BETS) * jnp.minimum(mean, 1.0)[:, None])
    capital = bets.log_wealth - bets.n[:, None] * staked
    return jnp.asarray(jax.nn.logsumexp(capital, axis=1) - math.log(len(BETS)))
