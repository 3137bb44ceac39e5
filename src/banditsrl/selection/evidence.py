"""What do the data say about each candidate at the end of a phase? Fit, set Phi_t and spectrum."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from banditsrl.core.history import History
from banditsrl.core.representation import Representation
from banditsrl.linear.ridge import estimate_noise
from banditsrl.selection.elimination import compatible_candidates
from banditsrl.selection.fits import Fits, fit_candidates
from banditsrl.selection.moments import Cells, largest_uncertainty, sum_history
from banditsrl.selection.norms import known_or_seen


class Evidence(NamedTuple):
    """Numbers about the M candidates after t rounds."""

    t: Array  # ()
    lambda_min: Array  # (M,) smallest eigenvalue of V - lam I
    weak: Array  # (M,) min over rounds of phi_s^T (V - lam I) phi_s
    weak_normalised: Array  # (M,) the same divided by ||phi_s||^2
    uncertainty: Array  # (M,) max over rounds of ||phi_s||^2_{V^-1}
    dim: Array  # (M,)
    L: Array  # (M,)
    B: Array  # (M,)
    active: Array  # (M,) the set Phi_t
    sigma: Array  # (M,)
    lam: float
    delta: float | Array
    level: Array  # () the base's level in the phase that begins
    n_actions: int


class Review(NamedTuple):
    """The evidence about all candidates at the end of a phase, and their fits."""

    evidence: Evidence
    fits: Fits
    largest_norms: Array  # (M,) largest embedding norms of the contexts seen


def review_candidates(
    candidates: Sequence[Representation],
    history: History,
    *,
    lam: float,
    sigma: float | None,
    delta: float | Array,
    level: Array,
    offset: str,
    in_ball: bool,
    needs_forms: bool,
    needs_uncertainty: bool,
    among: Array | None = None,
) -> Review:
    """Fit every candidate to the history, compute Phi_t, and collect the evidence for the loss.

    Args:
        candidates: The representations Phi.
        history: All rounds so far.
        lam: Ridge parameter lambda.
        sigma: Noise level, or None to estimate it for each candidate.
        delta: Confidence level of the elimination.
        level: The base's level in the phase that begins.
        offset: Name of the elimination offset.
        in_ball: Whether errors are those of the best theta in the ball, not of the ridge fit.
        needs_forms: Whether the loss reads `weak` and `weak_normalised`; if not, they are zero.
        needs_uncertainty: Whether the loss reads `uncertainty`; if not, it is zero.
        among: The candidates that have not been eliminated, if elimination is final.
    """
    t = history.n.astype(jnp.float64)
    moments, yy, cells = sum_history(candidates, history, needs_forms=needs_forms)
    sums, radii = [(m.gram, m.b) for m in moments], [c.B for c in candidates]
    fits = fit_candidates(sums, t, yy, radii=radii, lam=lam, in_ball=in_ball)
    norms = jnp.stack([m.largest_norm for m in moments])
    dim = jnp.asarray([float(c.dim) for c in candidates])
    L = known_or_seen([c.L for c in candidates], norms)
    B = known_or_seen(radii, fits.theta_norms)
    uncertainty = jnp.zeros(len(candidates))
    if needs_uncertainty:
        uncertainty = _uncertainties(candidates, history, cells, fits)
    errors = fits.squared_errors / t
    active = compatible_candidates(
        errors, t, dim=dim, L=L, B=B, delta=delta, offset=offset, among=among
    )
    evidence = Evidence(
        t=t,
        lambda_min=fits.lambda_mins,
        weak=jnp.stack([m.weak for m in moments]),
        weak_normalised=jnp.stack([m.weak_normalised for m in moments]),
        uncertainty=uncertainty,
        dim=dim,
        L=L,
        B=B,
        active=active,
        sigma=known_or_seen([sigma] * len(candidates), _estimate_noises(fits, dim)),
        lam=lam,
        delta=delta,
        level=level,
        n_actions=candidates[0].n_actions,
    )
    return Review(evidence, fits, norms)


def _estimate_noises(fits: Fits, dim: Array) -> Array:
    """Return the noise level that follows from the residuals of each candidate, (M,)."""
    return jnp.stack([estimate_noise(fits.ridge(m), dim[m]) for m in range(len(dim))])


def _uncertainties(
    candidates: Sequence[Representation], history: History, cells: Cells | None, fits: Fits
) -> Array:
    """Return the largest ||phi_s||^2_{V^-1} over rounds of every candidate, (M,)."""
    roots = [fits.ridge(m).root[: c.dim, : c.dim] for m, c in enumerate(candidates)]
    return jnp.stack(
        [
            largest_uncertainty(candidate, history, cells, root)
            for candidate, root in zip(candidates, roots, strict=True)
        ]
    )
