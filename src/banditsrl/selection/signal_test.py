"""Is there anything to learn? A sequential test of whether predictions beat the mean reward.

If every reward has the same mean, whatever the context and the action, then the products of the
centred predictions f, made before the rewards are seen, and the centred rewards r sum up to a
martingale S. With N an estimate of its variance,

    S / sqrt(N + N0)  <=  sqrt(2 log(1/delta) + log((N + N0) / N0))

at all times with probability 1 - delta (the method of mixtures; N0 is the squared variance of the
rewards). Predictions of a policy that has learned something soon push S beyond this.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array


class SignalTest(NamedTuple):
    """Sums over all rounds."""

    n: Array
    centre: Array  # mean of the predictions so far
    total: Array  # S = sum f r
    variance: Array  # sum f^2 v, with v the variance of the rewards at the time
    squares: Array  # sum f^2 r^2
    start: Array  # N0


def empty_test() -> SignalTest:
    """Return the sums before the first round."""
    return SignalTest(*jnp.zeros((6,), dtype=jnp.float64))


def add_to_test(
    test: SignalTest, predicted: Array, reward: Array, mean: Array, deviation: Array
) -> SignalTest:
    """Return the sums after one more round.

    Args:
        test: The sums.
        predicted: The prediction, made before the reward was seen, ().
        reward: The reward, ().
        mean: Mean of the rewards before this one, ().
        deviation: Standard deviation of the rewards before this one, ().
    """
    n = test.n + 1.0
    f = jnp.where(test.n > 0, predicted - test.centre, 0.0)
    r = reward - mean
    return SignalTest(
        n=n,
        centre=test.centre + (predicted - test.centre) / n,
        total=test.total + f * r,
        variance=test.variance + f * f * deviation**2,
        squares=test.squares + f * f * r * r,
        start=deviation**4,
    )


def found_signal(test: SignalTest, delta: Array) -> Array:
    """Return whether rewards can be predicted better than by their mean, at level delta."""
    variance = jnp.maximum(test.variance, test.squares)
    start = jnp.where(test.start > 0, test.start, 1.0)
    limit = 2.0 * jnp.log(1.0 / delta) + jnp.log1p(variance / start)
    return (test.total > 0) & (test.total**2 > (variance + start) * limit) & (test.start > 0)
