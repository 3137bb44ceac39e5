"""Is the best action known? `TwinCertificate` compares a gap with what two versions say about it.

The certifying predictors exist in two versions, which were fitted to different halves of the rounds
(see `twin_networks`). The gap between the action that they prefer and another one is significant if
it exceeds sqrt(2 log(K / delta)) times its error, plus eps, where K is the number of rivals. Error
and eps are measured on rewards that had not been seen:

- the square of the error is the noise of the ridge regression plus the doubt of the versions,
- eps^2 is the excess of the squared error of the certifying predictors over that of the mixture of
  all predictors, with a margin.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from banditsrl.selection.certificate import Verdict


class Opinions(NamedTuple):
    """What E predictors think of one context; predictions are of rewards minus the anchor."""

    values: Array  # (E, A) predictions
    width: Array  # (A,) of optimism
    twins: Array  # (2, 3, A) predictions of the certifying predictors, in both versions
    noise: Array  # (A,) squared error of the first of them, in units of sigma^2
    phi: Array  # (2, A, d) embeddings of the networks


class Gaps(NamedTuple):
    """By how much the greedy action of the certifying predictors is better than the others."""

    greedy: Array  # ()
    gaps: Array  # (A,)
    doubt: Array  # (A,) squared error of the gap, as the twins show it


class Errors(NamedTuple):
    """Sums over rounds of squared errors on unseen rewards; earlier phases count less."""

    n: Array
    mixture: Array  # sum of the squared errors of the mixture
    excess: Array  # sum of the squared error of the certifying predictors minus the mixture's
    squares: Array  # sum of the squares of that difference
    doubt: Array  # sum of the error of a gap, as the twins show it

    def noise_level(self) -> Array:
        """Return an upper limit of the noise level."""
        n = jnp.maximum(self.n, 1.0)
        return jnp.sqrt(self.mixture / n * (1.0 + 2.0 * jnp.sqrt(2.0 / n)))

    def usual_doubt(self) -> Array:
        """Return the squared error of a gap that is usual in recent rounds."""
        return jnp.pi / 2.0 * (self.doubt / jnp.maximum(self.n, 1.0)) ** 2


def empty_errors() -> Errors:
    """Return the sums before the first round."""
    return Errors(*jnp.zeros((5,), dtype=jnp.float64))


def add_gap_errors(
    errors: Errors, opinions: Opinions, weights: Array, mixture: Array, small: Array
) -> Errors:
    """Return the sums after one more round.

    Args:
        errors: The sums.
        opinions: What was thought of the context.
        weights: Weights of the certifying predictors, (3,).
        mixture: Error of the mixture of all predictors on the reward, ().
        small: Error of the mixture of the certifying predictors, ().
    """
    found = compare_actions(opinions, weights, jnp.ones(opinions.width.shape, dtype=bool))
    others = jnp.arange(len(found.gaps)) != found.greedy
    second = jnp.argmin(jnp.where(others, found.gaps, jnp.inf))
    excess = small**2 - mixture**2
    more = (jnp.ones(()), mixture**2, excess, excess**2, jnp.sqrt(found.doubt[second]))
    return Errors(*(old + new for old, new in zip(errors, more, strict=True)))


def compare_actions(opinions: Opinions, weights: Array, available: Array) -> Gaps:
    """Compare the action that the certifying predictors prefer with all others."""
    both = jnp.einsum("e,kea->ka", weights, opinions.twins)  # (2, A)
    greedy = jnp.argmax(jnp.where(available, both.mean(0), -jnp.inf))
    each = both[:, greedy][:, None] - both
    return Gaps(greedy, each.mean(0), (each[0] - each[1]) ** 2 / 4.0)


class TwinCertificate(eqx.Module):
    """The test of the gaps with its settings.

    Attributes:
        delta: Level of the certificates.
        slack: Standard errors by which the excess error is enlarged.
        sigma: Noise level of the rewards; None means estimated.
    """

    delta: float = eqx.field(static=True)
    slack: float = eqx.field(static=True)
    sigma: float | None = eqx.field(static=True)

    def test(
        self, opinions: Opinions, weights: Array, errors: Errors, scale: Array, available: Array
    ) -> Verdict:
        """Test whether the action that the certifying predictors prefer is surely the best.

        Args:
            opinions: What is thought of the context.
            weights: Weights of the certifying predictors, (3,).
            errors: Their errors so far.
            scale: Standard deviation of the rewards, (); nothing is certified while it is 0.
            available: Which actions are available, (A,).
        """
        found = compare_actions(opinions, weights, available)
        error = self._error_of_gaps(found, opinions, weights, errors)
        error = jnp.where(error > 0, error, jnp.where(scale > 0, scale, 1.0))
        rivals = available & (jnp.arange(len(available)) != found.greedy)
        share = self.delta / jnp.maximum(rivals.sum(), 1)
        thresholds = jnp.sqrt(2.0 * jnp.log(1.0 / share)) + self.misfit(errors) / error
        ratios = jnp.where(rivals, found.gaps / error, jnp.inf)
        nearest = jnp.argmin(ratios / thresholds)
        certified = (ratios > thresholds).all() & (scale > 0)
        return Verdict(found.greedy, certified, ratios[nearest], thresholds[nearest])

    def misfit(self, errors: Errors) -> Array:
        """Return by how much the certifying predictors may be wrong beyond noise, eps."""
        n = jnp.maximum(errors.n, 1.0)
        mean = errors.excess / n
        deviation = jnp.sqrt(jnp.maximum(errors.squares / n - mean * mean, 0.0) / n)
        return jnp.sqrt(jnp.maximum(mean + self.slack * deviation, 0.0))

    def _error_of_gaps(
        self, found: Gaps, opinions: Opinions, weights: Array, errors: Errors
    ) -> Array:
        """Return the error of the gap to every action, (A,)."""
        sigma = errors.noise_level() if self.sigma is None else jnp.asarray(self.sigma)
        ridge = (weights[0] * sigma) ** 2
        noise = ridge * (opinions.noise[found.greedy] + opinions.noise)
        return jnp.sqrt(noise + (found.doubt + errors.usual_doubt()) / 2.0)
