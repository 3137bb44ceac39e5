"""How does a mean become a reward? By the inverse distribution function of a law, at a uniform u.

All laws are one class whose kind is a number, not a static setting, so that problems of one size
share compiled programs whatever their rewards are like. A law draws around
(mean - shift) / scale, and the reward is shift + scale times what was drawn.

- gaussian: normal with standard deviation `spread`.
- bernoulli: one with the probability of the mean, else zero.
- counts: Poisson, for means up to 16.
- revenue: zero, or with a small probability an amount up to `LARGEST_AMOUNT` whose mean is
  `MEAN_AMOUNT`. The probability is the mean over `MEAN_AMOUNT`.
- heavy: Student's t with four degrees of freedom, times `spread`. Its fourth moment is infinite.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import ndtri, xlogy

from banditsrl.arguments import at_least, one_of, positive, real
from banditsrl.numerics.precision import in_float64

LARGEST_AMOUNT, AMOUNT_POWER = 500.0, 3
MEAN_AMOUNT = LARGEST_AMOUNT / (AMOUNT_POWER + 1)
"""An amount is LARGEST_AMOUNT v^AMOUNT_POWER for a uniform v: often small, sometimes large."""

LARGEST_COUNT = 64
"""Where counts end; at a mean of 16, larger ones have a probability below 1e-17."""

SMALLEST_U = 2.0**-54
"""u is kept this far from 0 and twice as far from 1, so that no reward is infinite."""


class RewardLaw(eqx.Module):
    """A law of rewards with a given mean.

    Args:
        name: One of `LAWS`.
        spread: Standard deviation (gaussian) or multiple of Student's t (heavy); unused otherwise.
        shift: What is added to every reward.
        scale: What every reward is multiplied by before it is shifted.

    Example:
        >>> law = RewardLaw("bernoulli", shift=1000.0)
        >>> [float(law.draw(1000.3, u)) for u in (0.2, 0.4)]
        [1001.0, 1000.0]
    """

    kind: Array
    spread: float
    shift: float
    scale: float

    def __init__(
        self, name: str, *, spread: float = 1.0, shift: float = 0.0, scale: float = 1.0
    ) -> None:
        self.kind = jnp.asarray(tuple(LAWS).index(one_of("name", name, tuple(LAWS))))
        self.spread = at_least("spread", spread, 0.0)
        self.shift, self.scale = real("shift", shift), positive("scale", scale)

    @property
    def name(self) -> str:
        """Name of the law."""
        return tuple(LAWS)[int(self.kind)]

    @in_float64
    def draw(self, mean: Array | float, u: Array | float) -> Array:
        """Return the reward at the quantile u, a number in [0, 1)."""
        inside = jnp.clip(jnp.asarray(u, jnp.float64), SMALLEST_U, 1.0 - 2.0 * SMALLEST_U)
        centre = (jnp.asarray(mean, jnp.float64) - self.shift) / self.scale
        spread = jnp.asarray(self.spread, jnp.float64)
        drawn = jax.lax.switch(self.kind, tuple(LAWS.values()), centre, inside, spread)
        return jnp.asarray(self.shift + self.scale * drawn)


def _draw_gaussian(mean: Array, u: Array, spread: Array) -> Array:
    return mean + spread * ndtri(u)


def _draw_bernoulli(mean: Array, u: Array, spread: Array) -> Array:  # noqa: ARG001 - one signature
    return (u < mean).astype(jnp.float64)


def _draw_count(mean: Array, u: Array, spread: Array) -> Array:  # noqa: ARG001 - one signature
    return (_count_probabilities(mean) <= u).sum().astype(jnp.float64)


def _count_probabilities(mean: Array) -> Array:
    """Return the probability of at most k = 0, 1, ... LARGEST_COUNT - 1 for a Poisson number."""
    k = jnp.arange(LARGEST_COUNT, dtype=jnp.float64)
    logs = xlogy(k, mean) - mean - jax.lax.lgamma(k + 1.0)
    return jnp.cumsum(jnp.exp(logs))


def _draw_revenue(mean: Array, u: Array, spread: Array) -> Array:  # noqa: ARG001 - one signature
    """Given u < p, the ratio u / p is uniform again, and serves for the amount."""
    p = mean / MEAN_AMOUNT
    amount = LARGEST_AMOUNT * (u / jnp.maximum(p, SMALLEST_U)) ** AMOUNT_POWER
    return jnp.where(u < p, amount, 0.0)


def _draw_heavy(mean: Array, u: Array, spread: Array) -> Array:
    """Return Student's t with four degrees of freedom, whose quantile has a closed form.

    With a = 4 u (1 - u) it is sign(u - 1/2) 2 sqrt(cos(arccos(sqrt(a)) / 3) / sqrt(a) - 1).
    """
    root = jnp.sqrt(4.0 * u * (1.0 - u))
    ratio = jnp.cos(jnp.arccos(jnp.minimum(root, 1.0)) / 3.0) / root
    return mean + spread * jnp.sign(u - 0.5) * 2.0 * jnp.sqrt(jnp.maximum(ratio - 1.0, 0.0))


LAWS = {
    "gaussian": _draw_gaussian,
    "bernoulli": _draw_bernoulli,
    "counts": _draw_count,
    "revenue": _draw_revenue,
    "heavy": _draw_heavy,
}
"""Inverse distribution functions of mean, u and spread, all of them numbers."""
