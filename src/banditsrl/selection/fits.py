"""How well does each candidate explain the rewards? Fits and spectra, from sums over rounds."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.linear.ball import fit_in_ball_diagonal
from banditsrl.linear.ridge import Ridge, ridge_from_spectrum, squared_error
from banditsrl.linear.spectra import Spectrum, decompose_all


class Fits(NamedTuple):
    """The fits of M candidates and their spectra."""

    ridges: Ridge  # statistics of each candidate, padded to the largest dimension d
    squared_errors: Array  # (M,) squared errors of the best theta
    lambda_mins: Array  # (M,) smallest eigenvalue of the Gram matrix

    @property
    def theta_norms(self) -> Array:
        """Norms of the ridge estimates, (M,)."""
        return jnp.sqrt((self.ridges.theta**2).sum(-1))

    def ridge(self, m: int | Array) -> Ridge:
        """Return the statistics of one candidate."""
        ridge: Ridge = jax.tree.map(lambda leaf: leaf[m], self.ridges)
        return ridge


def fit_candidates(
    sums: Sequence[tuple[Array, Array]],
    t: Array,
    yy: Array,
    *,
    radii: Sequence[float | None],
    lam: float,
    in_ball: bool,
) -> Fits:
    """Fit every candidate.

    Args:
        sums: G = sum phi phi^T (d, d) and b = sum phi y (d,) of each candidate.
        t: Number of rounds.
        yy: sum y^2.
        radii: B of each candidate, or None for no bound.
        lam: Ridge parameter lambda.
        in_ball: Whether errors are those of the best theta with ||theta|| <= B, not of the ridge
            fit.
    """
    size = max(len(b) for _, b in sums)
    spectra = decompose_all([gram for gram, _ in sums], size)
    grams = jnp.stack([jnp.pad(gram, [(0, size - len(gram))] * 2) for gram, _ in sums])
    b = jnp.stack([jnp.pad(b, (0, size - len(b))) for _, b in sums])

    def ridge_of(spectrum: Spectrum, gram: Array, b: Array) -> Ridge:
        return ridge_from_spectrum(spectrum, gram, b, t, yy, lam=lam)

    def error_of(ridge: Ridge) -> Array:
        return squared_error(ridge, ridge.theta, lam=lam)

    ridges = jax.vmap(ridge_of)(spectra, grams, b)
    if not in_ball:
        return Fits(ridges, jax.vmap(error_of)(ridges), spectra.values[:, 0])
    radius = jnp.asarray([jnp.inf if given is None else given for given in radii])
    c = jax.vmap(lambda vectors, b: vectors.T @ b)(spectra.vectors, b)
    best = jax.vmap(fit_in_ball_diagonal, in_axes=(0, 0, None, 0))(spectra.values, c, yy, radius)
    return Fits(ridges, best.squared_error, spectra.values[:, 0])
