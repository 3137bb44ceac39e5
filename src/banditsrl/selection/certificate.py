"""May this context be played greedily from now on? The certificate, an object that policies have.

The certificate compares the likelihood ratio of a context with the radius of the confidence
ellipsoid (see `linear.likelihood_ratio`). If the ratio is larger, the greedy action is the best one
with probability 1 - delta, provided that rewards are linear in the embedding and do not change over
time.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from banditsrl.core.policy import Choice
from banditsrl.linear.bounds import ucb_width
from banditsrl.linear.likelihood_ratio import Ratio, likelihood_ratio, score_actions
from banditsrl.linear.ridge import Ridge
from banditsrl.selection.conventions import Conventions

RADII = ("trace", "determinant")


class Facts(NamedTuple):
    """What is known, or estimated, about the current representation and the noise."""

    dim: Array  # () d
    L: Array  # () bound on the norm of embeddings
    B: Array  # () bound on the norm of theta
    sigma: Array  # () noise level


class Verdict(NamedTuple):
    """What the test says of one context."""

    greedy: Array  # () the action of largest estimated reward
    certified: Array  # () whether the test passed
    glr: Array  # () the likelihood ratio
    threshold: Array  # () what it had to exceed

    def override(self, action: Array, pmf: Array, representation: Array) -> Choice:
        """Return the greedy action where it is certified, and the given choice elsewhere."""
        greedy_pmf = (jnp.arange(pmf.shape[0]) == self.greedy).astype(pmf.dtype)
        return Choice(
            action=jnp.where(self.certified, self.greedy, action).astype(jnp.int32),
            pmf=jnp.where(self.certified, greedy_pmf, pmf),
            certified=self.certified,
            glr=self.glr,
            threshold=self.threshold,
            representation=representation,
        )


class Certificate(eqx.Module):
    """The generalized likelihood ratio test with its settings.

    Attributes:
        lam: Ridge parameter lambda of the statistics that are tested.
        scale: alpha_GLRT; 0 or None switches the test off.
        radius: "trace" for the paper's beta, "determinant" for the tighter radius.
        conventions: The paper's test or the authors'.
        tie: Predicted gaps below this leave a context undecided.
        refuses_twins: Nothing is certified against an action with the same embedding.
    """

    lam: float = eqx.field(static=True)
    scale: float | None = eqx.field(static=True)
    radius: str = eqx.field(static=True)
    conventions: Conventions = eqx.field(static=True)
    tie: float = eqx.field(static=True)
    refuses_twins: bool = eqx.field(static=True, default=False)

    def test(self, ridge: Ridge, phi: Array, mask: Array, facts: Facts, level: Array) -> Verdict:
        """Test one context.

        Args:
            ridge: Statistics of the representation.
            phi: Embedding of every action, (A, d).
            mask: Available actions, (A,).
            facts: Dimension, bounds and noise level.
            level: delta of the test in this round.
        """
        scores = score_actions(ridge.root, ridge.theta, phi)
        found: Ratio = likelihood_ratio(scores, mask, jnp.asarray(self.tie))
        if not self.scale:
            off = jnp.zeros((), dtype=bool)
            return Verdict(found.greedy, off, found.glr, jnp.full((), jnp.inf))
        threshold = self._factor * self._radius(ridge, facts, level)
        certified = (found.glr > threshold) & ~found.tied
        if self.refuses_twins:
            certified = certified & ~found.twin
        return Verdict(found.greedy, certified, found.glr, threshold)

    @property
    def _factor(self) -> float:
        """The factor of the radius; gap^2/(2 norm^2) > s beta^2 is gap/norm > sqrt(2 s) beta."""
        scale = self.scale or 0.0
        return (2.0 * scale) ** 0.5 if self.conventions.squared_test else scale

    def _radius(self, ridge: Ridge, facts: Facts, level: Array) -> Array:
        """Return the radius; det V <= (trace V / d)^d, so the determinant gives a tighter one."""
        dim, L, B, sigma = facts
        if self.radius == "determinant":
            return ucb_width(ridge.log_det, delta=level, sigma=sigma, lam=self.lam, B=B)
        return self.conventions.radius(
            ridge.n, dim=dim, delta=level, sigma=sigma, lam=self.lam, L=L, B=B
        )


def known_or(given: float | None, estimate: Array) -> Array:
    """Return a number that was given, or else its estimate."""
    return estimate if given is None else jnp.asarray(given, dtype=jnp.float64)
