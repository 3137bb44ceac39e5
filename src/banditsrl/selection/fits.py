"""How well does each candidate explain the rewards? Fits and spectra, from sums over rounds."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.linear.ball import fit_in_ball_diagonal
from banditsrl.linear.ridge import Ridge, ridge_from_spectrum
from banditsrl.linear.spectra import Spectrum, decompose_all
from banditsrl.numerics.precision import in_float64


class Fits(NamedTuple):
    """The fits of M candidates and their spectra, padded to the largest dimension d."""

    spectra: Spectrum  # values (M, d) and vectors (M, d, d) of the Gram matrices
    grams: Array  # (M, d, d) sum phi phi^T
    b: Array  # (M, d) sum phi y
    thetas: Array  # (M, d) ridge estimates
    squared_errors: Array  # (M,) squared errors of the best theta
    t: Array  # () number of rounds
    yy: Array  # () sum y^2
    lam: float  # ridge parameter lambda

    @property
    def lambda_mins(self) -> Array:
        """The smallest eigenvalue of each candidate's Gram matrix, (M,)."""
        return self.spectra.values[:, 0]

    @property
    def theta_norms(self) -> Array:
        """Norms of the ridge estimates, (M,)."""
        return jnp.sqrt((self.thetas**2).sum(-1))

    @in_float64
    def ridge(self, m: int | Array) -> Ridge:
        """Return the statistics of one candidate; those of the others are not computed."""
        spectrum = Spectrum(self.spectra.values[m], self.spectra.vectors[m])
        sums = self.grams[m], self.b[m], self.t, self.yy
        ridge = ridge_from_spectrum(spectrum, *sums, lam=self.lam)
        return ridge._replace(theta=self.thetas[m])


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
    c = (spectra.vectors * b[:, :, None]).sum(1)  # (M, d)  b in the eigenbasis of G
    values = jnp.maximum(spectra.values, 0.0)
    estimates = c / (values + lam)  # (M, d)  ridge estimates in the same basis
    thetas = (spectra.vectors * estimates[:, None]).sum(2)
    if in_ball:
        radius = jnp.asarray([jnp.inf if given is None else given for given in radii])
        fit_all = jax.vmap(fit_in_ball_diagonal, in_axes=(0, 0, None, 0))
        errors = fit_all(spectra.values, c, yy, radius).squared_error
    else:
        errors = yy + (estimates * (values * estimates - 2.0 * c)).sum(1)
    return Fits(spectra, grams, b, thetas, errors, t, yy, lam)
