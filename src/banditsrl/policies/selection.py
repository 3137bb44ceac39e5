"""Which candidate comes next? The set Phi_t, the evidence for the loss, and the choice.

Phi_t keeps every candidate whose best mean squared error over the ball ||theta|| <= B does not
exceed the smallest error-plus-offset of any candidate (paper, Eq. 1); within it the smallest
spectral loss wins.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.linear.ball import ball_fit
from banditsrl.linear.bounds import OFFSETS
from banditsrl.linear.ridge import Ridge, from_moments, noise_estimate, squared_error
from banditsrl.policies.history import History
from banditsrl.policies.linear import known_or
from banditsrl.policies.moments import Moments, gathered, total_squares
from banditsrl.representations.fixed import Representation
from banditsrl.representations.losses import Evidence

LOSS_TIE = 1e-9
"""Losses closer than this times t are ties: on redundant features lambda_min is rounding noise."""


class Fit(NamedTuple):
    """How well one candidate explains the rewards, and its spectrum."""

    squared_error: Array  # () of the best theta in the ball
    lambda_min: Array  # () smallest eigenvalue of the Gram matrix
    theta_norm: Array  # () norm of the ridge estimate
    sigma: Array  # () noise level that the residuals suggest


class Weighed(NamedTuple):
    """All candidates weighed at the end of a phase."""

    evidence: Evidence
    moments: list[Moments]
    yy: Array  # () sum y^2

    @property
    def largest_norms(self) -> Array:
        """Of the contexts seen, (M,)."""
        return jnp.stack([m.largest_norm for m in self.moments])

    def ridge(self, chosen: Array, dim: int, *, lam: float) -> Ridge:
        """The statistics of one candidate, padded to `dim`."""
        grams = jnp.stack([pad(pad(m.gram, dim).T, dim) for m in self.moments])
        bs = jnp.stack([pad(m.b, dim) for m in self.moments])
        return from_moments(grams[chosen], bs[chosen], self.evidence.t, self.yy, lam=lam)


def weigh(
    candidates: Sequence[Representation],
    history: History,
    *,
    lam: float,
    sigma: float | None,
    delta: float,
    level: Array,
    offset: str,
    in_ball: bool,
    needs_forms: bool,
) -> Weighed:
    """Fit every candidate to the history, eliminate, and collect the evidence for the loss."""
    t, yy = history.n.astype(jnp.float64), total_squares(history)
    moments = gathered(candidates, history, needs_forms=needs_forms)
    pairs = list(zip(candidates, moments, strict=True))
    fits = [fitted(m, yy, t, B=c.B, lam=lam, in_ball=in_ball) for c, m in pairs]
    dim = jnp.asarray([float(c.dim) for c in candidates])
    L = jnp.stack([known_or(c.L, m.largest_norm) for c, m in pairs])
    B = jnp.stack([known_or(c.B, f.theta_norm) for c, f in zip(candidates, fits, strict=True)])
    errors = jnp.stack([f.squared_error for f in fits]) / t
    evidence = Evidence(
        t=t,
        lambda_min=jnp.stack([f.lambda_min for f in fits]),
        weak=jnp.stack([m.weak for m in moments]),
        weak_normalised=jnp.stack([m.weak_normalised for m in moments]),
        dim=dim,
        L=L,
        B=B,
        active=compatible(errors, t, dim=dim, L=L, B=B, delta=delta, offset=offset),
        sigma=jnp.stack([known_or(sigma, f.sigma) for f in fits]),
        lam=lam,
        delta=delta,
        level=level,
        n_actions=candidates[0].n_actions,
    )
    return Weighed(evidence, moments, yy)


def fitted(
    moments: Moments, yy: Array, t: Array, *, B: float | None, lam: float, in_ball: bool
) -> Fit:
    """The best fit in the ball (or the ridge fit), and the spectrum of the played features."""
    ridge = from_moments(moments.gram, moments.b, t, yy, lam=lam)
    radius = jnp.full((), jnp.inf) if B is None else jnp.asarray(B)
    ball = ball_fit(moments.gram, moments.b, yy, radius=radius)
    error = ball.squared_error if in_ball else squared_error(ridge, ridge.theta, lam=lam)
    norm = jnp.sqrt((ridge.theta**2).sum())
    return Fit(error, ball.eigenvalues[0], norm, noise_estimate(ridge, jnp.asarray(ridge.b.size)))


def compatible(
    errors: Array, t: Array, *, dim: Array, L: Array, B: Array, delta: float, offset: str
) -> Array:
    """Phi_t as a boolean (M,) array, from the candidates' mean squared errors (M,)."""
    slack = OFFSETS[offset](t, dim=dim, n_candidates=errors.shape[0], delta=delta, L=L, B=B)
    return errors <= (errors + slack).min()


def smallest(losses: Array, evidence: Evidence, key: Array) -> Array:
    """The active candidate of smallest loss, () index; ties are broken by the key."""
    contenders = jnp.where(evidence.active, losses, jnp.inf)
    tied = contenders <= contenders.min() + LOSS_TIE * evidence.t
    lots = jax.random.uniform(key, losses.shape, dtype=jnp.float32)
    return jnp.argmax(jnp.where(tied, lots, -1.0)).astype(jnp.int32)


def pad(array: Array, dim: int) -> Array:
    """`array` (..., d) with zeros appended along the last axis up to `dim`."""
    widths = [(0, 0)] * (array.ndim - 1) + [(0, dim - array.shape[-1])]
    return jnp.pad(array, widths)
