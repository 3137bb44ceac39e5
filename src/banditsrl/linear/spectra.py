"""Which directions have been seen, and how often? Eigendecompositions of G = sum phi phi^T."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class Spectrum(NamedTuple):
    """An eigendecomposition G = vectors diag(values) vectors^T, with ascending values."""

    values: Array  # (d,)
    vectors: Array  # (d, d)  one eigenvector per column


def decompose(gram: Array) -> Spectrum:
    """Return the spectrum of one symmetric matrix (d, d)."""
    return Spectrum(*jnp.linalg.eigh(gram))


def decompose_all(grams: Sequence[Array], size: int) -> Spectrum:
    """Return the spectra of M symmetric matrices, as if each were padded with zeros to `size`.

    The eigenvalues that padding adds are zero and come last, so that the first eigenvalue is the
    smallest of the matrix itself.

    Matrices of one size are decomposed together, and the sizes one after another. Mapped over
    seeds, a decomposition is a batched LAPACK call that distributes its work over XLA's thread pool
    and waits for it; two such calls at once can fill a small pool with waiting threads and
    deadlock. Each call therefore depends on the one before: zero times one of its eigenvalues is
    added to the input. (An optimisation barrier does not help, because XLA removes it before the
    calls are scheduled.)

    Args:
        grams: M matrices, (d_m, d_m) each.
        size: Common dimension of the result, at least every d_m.

    Returns:
        Values (M, size) and vectors (M, size, size), in the order of `grams`.
    """
    dims = [gram.shape[0] for gram in grams]
    order: list[int] = []
    groups: list[Spectrum] = []
    for dim in sorted(set(dims)):
        members = [m for m, other in enumerate(dims) if other == dim]
        stacked = jnp.stack([grams[m] for m in members])
        ordered = stacked + 0.0 * groups[-1].values[0, 0] if groups else stacked
        vectors, values = jax.lax.linalg.eigh(ordered, symmetrize_input=False)
        groups.append(_pad_spectra(Spectrum(values, vectors), size))
        order += members
    back = np.argsort(order)
    values, vectors = (jnp.concatenate(parts)[back] for parts in zip(*groups, strict=True))
    return Spectrum(values, vectors)


def _pad_spectra(spectra: Spectrum, size: int) -> Spectrum:
    """Pad spectra of dimension d, with values (m, d), to dimension `size`."""
    dim = spectra.values.shape[-1]
    added = np.diag(np.arange(size) >= dim).astype(np.float64)
    missing = (0, size - dim)
    return Spectrum(
        jnp.pad(spectra.values, [(0, 0), missing]),
        jnp.pad(spectra.vectors, [(0, 0), missing, missing]) + added,
    )
