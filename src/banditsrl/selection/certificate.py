"""May a context be played greedily from now on? `Certificate` is the test that answers this.

The test compares the likelihood ratio of a context with the radius of the confidence ellipsoid (see
`linear.likelihood_ratio`). If the ratio is larger, the greedy action is the best one with
probability 1 - delta, provided that rewards are linear in the embedding and do not change over
time. In all other cases a certificate only says that the test passed.
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
    """Numbers, known or estimated, about the current representation and the noise."""

    dim: Array  # () d
    L: Array  # () bound on the norm of embeddings
    B: Array  # () bound on the norm of theta
    sigma: Array  # () noise level


class Verdict(NamedTuple):
    """The result of the test for one context."""

    greedy: Array  # () the action of largest estimated reward
    certified: Array  # () whether the test passed
    glr: Array  # () the likelihood ratio
    threshold: Array  # () the value that the ratio must exceed

    def override(self, action: Array, pmf: Array, representation: Array) -> Choice:
        """Return a choice: the greedy action if it is certified, otherwise the given action."""
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
    """The generalised likelihood ratio test with its settings.

    Attributes:
        lam: Ridge parameter lambda of the statistics that are tested.
        scale: alpha_GLRT; 0 or None switches the test off.
        radius: "trace" for the paper's beta, "determinant" for the tighter radius.
        conventions: The conventions of the paper or of the authors' experiments.
        tie: A context with a predicted gap below this is not certified.
        refuses_twins: Whether a context is not certified if another action has the same embedding
            as the greedy one.
    """

    lam: float = eqx.field(static=True)
    scale: float | None = eqx.field(static=True)
    radius: str = eqx.field(static=True)
    conventions: Conventions = eqx.field(static=True)
    tie: float = eqx.field(static=True)
    refuses_twins: bool = eqx.field(static=True, default=False)

    def test(
        self,
        ridge: Ridge,
        phi: Array,
        mask: Array,
        facts: Facts,
        level: Array,
        ratio: Ratio | None = None,
    ) -> Verdict:
        """Test one context.

        Args:
            ridge: Statistics of the representation.
            phi: Embedding of every action, (A, d).
            mask: Available actions, (A,).
            facts: Dimension, bounds and noise level.
            level: delta of the test in this round.
            ratio: The likelihood ratio of the context, if it is known already.
        """
        found = ratio
        if found is None:
            scores = score_actions(ridge.root, ridge.theta, phi)
            found = likelihood_ratio(scores, mask, jnp.asarray(self.tie))
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
        """The factor of the radius.

        The squared test gap^2/(2 norm^2) > s beta^2 is the same as gap/norm > sqrt(2 s) beta.
        """
        scale = self.scale or 0.0
        return (2.0 * scale) ** 0.5 if self.conventions.squared_test else scale

    def _radius(self, ridge: Ridge, facts: Facts, level: Array) -> Array:
        """Return the radius; the determinant's is never larger, as det V <= (trace V / d)^d."""
        dim, L, B, sigma = facts
        if self.radius == "determinant":
            return ucb_width(ridge.log_det, delta=level, sigma=sigma, lam=self.lam, B=B)
        return self.conventions.radius(
            ridge.n, dim=dim, delta=level, sigma=sigma, lam=self.lam, L=L, B=B
        )


def known_or(given: float | None, estimate: Array) -> Array:
    """Return the given number, or the estimate if none was given."""
    return estimate if given is None else jnp.asarray(given, dtype=jnp.float64)
