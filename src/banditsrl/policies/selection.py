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

from banditsrl.linear.ball import diagonal_ball_fit
from banditsrl.linear.bounds import OFFSETS
from banditsrl.linear.ridge import (
    Ridge,
    from_spectrum,
    noise_estimate,
    padded,
    squared_error,
)
from banditsrl.linear.spectra import spectra
from banditsrl.policies.history import History
from banditsrl.policies.linear import known_or
from banditsrl.policies.moments import Cells, gathered, uncertainty
from banditsrl.representations.fixed import Representation
from banditsrl.representations.losses import Evidence, Loss

LOSS_TIE = 1e-9
"""Losses closer than this times t are ties: on redundant features lambda_min is rounding noise."""


class Fit(NamedTuple):
    """How well one candidate explains the rewards, and its spectrum."""

    ridge: Ridge  # refreshed statistics
    squared_error: Array  # () of the best theta in the ball
    lambda_min: Array  # () smallest eigenvalue of the Gram matrix

    @property
    def theta_norm(self) -> Array:
        """Norm of the ridge estimate."""
        return jnp.sqrt((self.ridge.theta**2).sum())

    @property
    def sigma(self) -> Array:
        """The noise level that the residuals suggest."""
        return noise_estimate(self.ridge, jnp.asarray(float(self.ridge.b.size)))


class Weighed(NamedTuple):
    """All candidates weighed at the end of a phase."""

    evidence: Evidence
    fits: list[Fit]
    largest_norms: Array  # (M,) of the contexts seen

    def ridge(self, chosen: Array, dim: int, *, lam: float) -> Ridge:
        """The statistics of one candidate, padded to `dim`."""
        every = [padded(fit.ridge, dim, lam=lam) for fit in self.fits]
        ridge: Ridge = jax.tree.map(lambda *leaves: jnp.stack(leaves)[chosen], *every)
        return ridge


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
    loss: Loss,
) -> Weighed:
    """Fit every candidate to the history, eliminate, and collect the evidence for the loss."""
    t = history.n.astype(jnp.float64)
    moments, yy, counted = gathered(candidates, history, needs_forms=loss.needs_forms)
    pairs = list(zip(candidates, moments, strict=True))
    sums = [(m.gram, m.b) for m in moments]
    fits = fitted(sums, t, yy, B=[c.B for c in candidates], lam=lam, in_ball=in_ball)
    dim = jnp.asarray([float(c.dim) for c in candidates])
    L = jnp.stack([known_or(c.L, m.largest_norm) for c, m in pairs])
    B = jnp.stack([known_or(c.B, f.theta_norm) for c, f in zip(candidates, fits, strict=True)])
    errors = jnp.stack([f.squared_error for f in fits]) / t
    evidence = Evidence(
        t=t,
        lambda_min=jnp.stack([f.lambda_min for f in fits]),
        weak=jnp.stack([m.weak for m in moments]),
        weak_normalised=jnp.stack([m.weak_normalised for m in moments]),
        uncertainty=_uncertainties(candidates, history, counted, fits, loss),
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
    return Weighed(evidence, fits, jnp.stack([m.largest_norm for m in moments]))


def _uncertainties(
    candidates: Sequence[Representation],
    history: History,
    counted: Cells | None,
    fits: list[Fit],
    loss: Loss,
) -> Array:
    if not loss.needs_uncertainty:
        return jnp.zeros(len(candidates))
    return jnp.stack(
        [
            uncertainty(candidate, history, counted, fit.ridge.root)
            for candidate, fit in zip(candidates, fits, strict=True)
        ]
    )


def fitted(
    sums: Sequence[tuple[Array, Array]],
    t: Array,
    yy: Array,
    *,
    B: Sequence[float | None],
    lam: float,
    in_ball: bool,
) -> list[Fit]:
    """The fit of every candidate from its (gram, b): the best in the ball, or the ridge fit."""
    found = spectra([gram for gram, _ in sums])
    ridges = [
        from_spectrum(spectrum, gram, b, t, yy, lam=lam)
        for spectrum, (gram, b) in zip(found, sums, strict=True)
    ]
    errors = [squared_error(ridge, ridge.theta, lam=lam) for ridge in ridges]
    if in_ball:
        projected = [s.vectors.T @ b for s, (_, b) in zip(found, sums, strict=True)]
        radii = jnp.asarray([jnp.inf if bound is None else bound for bound in B])
        values, c = _stacked([s.values for s in found]), _stacked(projected)  # (M, d)
        best = jax.vmap(diagonal_ball_fit, in_axes=(0, 0, None, 0))(values, c, yy, radii)
        errors = list(best.squared_error)
    return [
        Fit(ridge, error, spectrum.values[0])
        for ridge, error, spectrum in zip(ridges, errors, found, strict=True)
    ]


def _stacked(vectors: Sequence[Array]) -> Array:
    """Vectors of different length, padded with zeros, (M, d)."""
    dim = max(vector.shape[0] for vector in vectors)
    return jnp.stack([jnp.pad(vector, (0, dim - vector.shape[0])) for vector in vectors])


def compatible(
    errors: Array, t: Array, *, dim: Array, L: Array, B: Array, delta: float, offset: str
) -> Array:
    """Phi_t as a boolean (M,) array, from the candidates' mean squared errors (M,)."""
    slack = OFFSETS[offset](t, dim=dim, n_candidates=errors.shape[0], delta=delta, L=L, B=B)
    return jnp.asarray(errors <= (errors + slack).min())


def offset_name(given: str | None, *, authors: bool) -> str:
    """The elimination offset that was named, or else the one of the conventions."""
    return given or ("tight" if authors else "paper")


def smallest(losses: Array, evidence: Evidence, key: Array) -> Array:
    """The active candidate of smallest loss, () index; ties are broken by the key."""
    contenders = jnp.where(evidence.active, losses, jnp.inf)
    tied = contenders <= contenders.min() + LOSS_TIE * evidence.t
    lots = jax.random.uniform(key, losses.shape, dtype=jnp.float32)
    return jnp.argmax(jnp.where(tied, lots, -1.0)).astype(jnp.int32)
