"""Which candidate comes next? The set Phi_t, the evidence for the loss, and the choice.

Phi_t keeps every candidate whose best mean squared error over the ball ||theta|| <= B does not
exceed the smallest error-plus-offset of any candidate (paper, Eq. 1); within it the smallest
spectral loss wins.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.core.history import History
from banditsrl.core.representation import Representation
from banditsrl.linear.ball import fit_in_ball_diagonal
from banditsrl.linear.bounds import OFFSETS
from banditsrl.linear.ridge import Ridge, estimate_noise, ridge_from_spectrum, squared_error
from banditsrl.linear.spectra import Spectrum, decompose_all
from banditsrl.selection.losses import Evidence, Loss
from banditsrl.selection.moments import Cells, gathered, uncertainty

LOSS_TIE = 1e-9
"""Losses closer than this times t, and the scale of the loss, are ties: on redundant features
lambda_min is rounding noise."""


class Fits(NamedTuple):
    """How well each of M candidates explains the rewards, and its spectrum."""

    ridges: Ridge  # refreshed statistics, padded to the largest dimension d
    squared_errors: Array  # (M,) of the best theta in the ball
    lambda_mins: Array  # (M,) smallest eigenvalue of the Gram matrix

    @property
    def theta_norms(self) -> Array:
        """Norms of the ridge estimates, (M,)."""
        return jnp.sqrt((self.ridges.theta**2).sum(-1))

    def ridge(self, m: int | Array) -> Ridge:
        """The statistics of one candidate."""
        ridge: Ridge = jax.tree.map(lambda leaf: leaf[m], self.ridges)
        return ridge


class Weighed(NamedTuple):
    """All candidates weighed at the end of a phase."""

    evidence: Evidence
    fits: Fits
    largest_norms: Array  # (M,) of the contexts seen


def weigh(
    candidates: Sequence[Representation],
    history: History,
    *,
    lam: float,
    sigma: float | None,
    delta: float | Array,
    level: Array,
    offset: str,
    in_ball: bool,
    loss: Loss,
    among: Array | None = None,
) -> Weighed:
    """Fit every candidate to the history, eliminate, and collect the evidence for the loss."""
    t = history.n.astype(jnp.float64)
    moments, yy, counted = gathered(candidates, history, needs_forms=loss.needs_forms)
    sums, radii = [(m.gram, m.b) for m in moments], [c.B for c in candidates]
    fits = fitted(sums, t, yy, radii=radii, lam=lam, in_ball=in_ball)
    norms = jnp.stack([m.largest_norm for m in moments])
    dim = jnp.asarray([float(c.dim) for c in candidates])
    L = known([c.L for c in candidates], norms)
    B = known(radii, fits.theta_norms)
    errors = fits.squared_errors / t
    evidence = Evidence(
        t=t,
        lambda_min=fits.lambda_mins,
        weak=jnp.stack([m.weak for m in moments]),
        weak_normalised=jnp.stack([m.weak_normalised for m in moments]),
        uncertainty=_uncertainties(candidates, history, counted, fits, loss),
        dim=dim,
        L=L,
        B=B,
        active=compatible(errors, t, among, dim=dim, L=L, B=B, delta=delta, offset=offset),
        sigma=known([sigma] * len(candidates), jax.vmap(estimate_noise)(fits.ridges, dim)),
        lam=lam,
        delta=delta,
        level=level,
        n_actions=candidates[0].n_actions,
    )
    return Weighed(evidence, fits, norms)


def known(given: Sequence[float | None], otherwise: Array) -> Array:
    """What was given for each candidate, or else the estimate (M,)."""
    missing = np.array([number is None for number in given])
    numbers = jnp.asarray([0.0 if number is None else number for number in given], jnp.float64)
    return jnp.where(missing, otherwise, numbers)


def _uncertainties(
    candidates: Sequence[Representation],
    history: History,
    counted: Cells | None,
    fits: Fits,
    loss: Loss,
) -> Array:
    if not loss.needs_uncertainty:
        return jnp.zeros(len(candidates))
    roots = [fits.ridges.root[m, : c.dim, : c.dim] for m, c in enumerate(candidates)]
    return jnp.stack(
        [
            uncertainty(candidate, history, counted, root)
            for candidate, root in zip(candidates, roots, strict=True)
        ]
    )


def fitted(
    sums: Sequence[tuple[Array, Array]],
    t: Array,
    yy: Array,
    *,
    radii: Sequence[float | None],
    lam: float,
    in_ball: bool,
) -> Fits:
    """The fit of every candidate from its (gram, b): the best in the ball, or the ridge fit."""
    size = max(len(b) for _, b in sums)
    found = decompose_all([gram for gram, _ in sums], size)
    grams = jnp.stack([jnp.pad(gram, [(0, size - len(gram))] * 2) for gram, _ in sums])
    b = jnp.stack([jnp.pad(b, (0, size - len(b))) for _, b in sums])

    def ridge_of(spectrum: Spectrum, gram: Array, b: Array) -> Ridge:
        return ridge_from_spectrum(spectrum, gram, b, t, yy, lam=lam)

    def error_of(ridge: Ridge) -> Array:
        return squared_error(ridge, ridge.theta, lam=lam)

    ridges = jax.vmap(ridge_of)(found, grams, b)
    if in_ball:
        radius = jnp.asarray([jnp.inf if given is None else given for given in radii])
        c = jax.vmap(lambda vectors, b: vectors.T @ b)(found.vectors, b)
        best = jax.vmap(fit_in_ball_diagonal, in_axes=(0, 0, None, 0))(found.values, c, yy, radius)
        return Fits(ridges, best.squared_error, found.values[:, 0])
    return Fits(ridges, jax.vmap(error_of)(ridges), found.values[:, 0])


def compatible(
    errors: Array,
    t: Array,
    among: Array | None,
    *,
    dim: Array,
    L: Array,
    B: Array,
    delta: float | Array,
    offset: str,
) -> Array:
    """Phi_t as a boolean (M,) array, from the candidates' mean squared errors (M,).

    `among` (M,) says which candidates are still there, if the others have left for good.
    """
    slack = OFFSETS[offset](t, dim=dim, n_candidates=errors.shape[0], delta=delta, L=L, B=B)
    if among is None:
        return jnp.asarray(errors <= (errors + slack).min())
    return jnp.asarray(among & (errors <= jnp.where(among, errors + slack, jnp.inf).min()))


def offset_name(given: str | None, *, authors: bool) -> str:
    """The elimination offset that was named, or else the one of the conventions."""
    return given or ("tight" if authors else "paper")


def smallest(losses: Array, loss: Loss, evidence: Evidence, key: Array) -> Array:
    """The active candidate of smallest loss, () index; ties are broken by the key."""
    contenders = jnp.where(evidence.active, losses, jnp.inf)
    scale = jnp.where(evidence.active, loss.scale(evidence), 0.0).max()
    tied = contenders <= contenders.min() + LOSS_TIE * evidence.t * scale
    lots = jax.random.uniform(key, losses.shape, dtype=jnp.float32)
    return jnp.argmax(jnp.where(tied, lots, -1.0)).astype(jnp.int32)
