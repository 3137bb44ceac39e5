"""Is the best action known? `TwinCertificate` asks what the round is expected to lose if it is not.

The certifying predictors exist in two versions, which were fitted to different halves of the rounds
(see `twin_networks`). They prefer an action g, by a gap D_a to every other one. If the error of the
gap is normal with deviation e_a, the other action is better by (e_a Z - D_a)^+, on average

    l_a = e_a (n(z) - z N(-z)),    z = (D_a - eps) / e_a,

where n and N are the normal density and distribution. A round is certified if the sum of l_a over
the rivals is below a small share, the tolerance, of what random play loses. Error and eps are
measured on rewards that had not been seen:

- e_a^2 is the noise of the ridge regression, plus the squared error that the two versions show by
  their disagreement, plus sigma^2 times the scarcity of both actions: what the noise of the rewards
  alone would leave open if only the rounds nearby counted. So no gap is certified by extrapolation.
- eps^2 is the excess of the squared error of the certifying predictors over that of the mixture of
  all predictors, with a margin.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array
from jax.scipy.stats import norm

from banditsrl.selection.certificate import Verdict

LARGEST_RATIO = 1e12
"""Beyond this the ratio of a verdict is rounding."""


class Opinions(NamedTuple):
    """What E predictors say about one context; predictions are of rewards minus the anchor."""

    values: Array  # (E, A) predictions
    width: Array  # (A,) of optimism
    twins: Array  # (2, 3, A) predictions of the certifying predictors, in both versions
    noise: Array  # (A,) squared error of the first of them, in units of sigma^2
    scarcity: Array  # (A,) squared error of a mean of the rounds nearby, in units of sigma^2
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
    spread: Array  # sum of what random play loses, as the mixture predicts it

    def noise_level(self) -> Array:
        """Return an upper limit of the noise level."""
        n = jnp.maximum(self.n, 1.0)
        return jnp.sqrt(self.mixture / n * (1.0 + 2.0 * jnp.sqrt(2.0 / n)))

    def usual_doubt(self) -> Array:
        """Return the squared error of a gap that is usual in recent rounds."""
        return jnp.pi / 2.0 * (self.doubt / jnp.maximum(self.n, 1.0)) ** 2

    def random_loss(self) -> Array:
        """Return what random play loses in a recent round, as the mixture predicts it."""
        return self.spread / jnp.maximum(self.n, 1.0)


def empty_errors() -> Errors:
    """Return the sums before the first round."""
    return Errors(*jnp.zeros((6,), dtype=jnp.float64))


class Judgement(NamedTuple):
    """The verdict on one context, and the expected losses that it follows from."""

    verdict: Verdict
    losses: Array  # (A,) expected loss against each rival; zero for other actions


class UnseenErrors(NamedTuple):
    """Errors on a reward that had not been seen."""

    mixture: Array  # () of the mixture of all predictors
    small: Array  # () of the mixture of the certifying predictors


def add_gap_errors(
    errors: Errors, opinions: Opinions, weights: Array, predicted: Array, unseen: UnseenErrors
) -> Errors:
    """Return the sums after one more round.

    Args:
        errors: The sums.
        opinions: What the predictors said about the context.
        weights: Weights of the certifying predictors, (3,).
        predicted: What the mixture of all predictors predicts of every action, (A,).
        unseen: The errors on the reward of the round.
    """
    found = compare_actions(opinions, weights, jnp.ones(opinions.width.shape, dtype=bool))
    others = jnp.arange(len(found.gaps)) != found.greedy
    second = jnp.argmin(jnp.where(others, found.gaps, jnp.inf))
    square = unseen.mixture**2
    excess = unseen.small**2 - square
    doubt, spread = jnp.sqrt(found.doubt[second]), predicted.max() - predicted.mean()
    more = (jnp.ones(()), square, excess, excess**2, doubt, spread)
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
        tolerance: Largest expected loss of a certified round, over what random play loses.
        slack: Standard errors by which the excess error is enlarged.
        sigma: Noise level of the rewards; None means estimated.
    """

    tolerance: float = eqx.field(static=True)
    slack: float = eqx.field(static=True)
    sigma: float | None = eqx.field(static=True)

    def test(
        self, opinions: Opinions, weights: Array, errors: Errors, scale: Array, available: Array
    ) -> Judgement:
        """Test whether the action that the certifying predictors prefer is expected to lose little.

        The ratio of the verdict is what random play loses over the expected loss of the round, and
        its threshold is one over the tolerance.

        Args:
            opinions: What the predictors say about the context.
            weights: Weights of the certifying predictors, (3,).
            errors: Their errors so far.
            scale: Standard deviation of the rewards, (); nothing is certified while it is 0.
            available: Which actions are available, (A,).
        """
        found = compare_actions(opinions, weights, available)
        error = self._error_of_gaps(found, opinions, weights, errors)
        error = jnp.where(error > 0, error, jnp.where(scale > 0, scale, 1.0))
        z = (found.gaps - self.misfit(errors)) / error
        losses = error * (norm.pdf(z) - z * norm.cdf(-z))  # (A,)
        rivals = available & (jnp.arange(len(available)) != found.greedy)
        losses = jnp.where(rivals, losses, 0.0)
        lost, usual = losses.sum(), errors.random_loss()
        ratio = jnp.where(usual > 0, usual / jnp.maximum(lost, usual / LARGEST_RATIO), 0.0)
        ratio = jnp.where(rivals.any(), ratio, jnp.inf)
        threshold = jnp.asarray(1.0 / self.tolerance)
        certified = (ratio > threshold) & (scale > 0)
        return Judgement(Verdict(found.greedy, certified, ratio, threshold), losses)

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
        nearby = sigma**2 * (opinions.scarcity[found.greedy] + opinions.scarcity)
        return jnp.sqrt(noise + nearby + (found.doubt + errors.usual_doubt()) / 2.0)
