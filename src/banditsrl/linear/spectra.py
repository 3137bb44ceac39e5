"""Which directions have been seen, and how often? Eigendecompositions of Gram matrices."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class Spectrum(NamedTuple):
    """G = vectors diag(values) vectors^T, values ascending."""

    values: Array  # (d,)
    vectors: Array  # (d, d)


def spectrum(gram: Array) -> Spectrum:
    """The spectrum of one matrix (d, d)."""
    return Spectrum(*jnp.linalg.eigh(gram))


def spectra(grams: Sequence[Array], size: int) -> Spectrum:
    """The spectra of M matrices, as if each were padded with zeros to `size`: (M, size) and so on.

    What is added has eigenvalue zero and comes last, so that the first is the smallest of the
    matrix itself.

    Matrices of one size are decomposed together, sizes one after another: mapped over seeds, a
    decomposition is a batched LAPACK call that spreads over XLA's thread pool and waits for it;
    two such calls at once can fill a small pool with waiting and never end. So each one is made to
    depend on the one before, by adding zero times one of its eigenvalues (an optimization barrier
    would not do: it is gone by the time the calls are scheduled).
    """
    dims = [gram.shape[0] for gram in grams]
    order: list[int] = []
    found: list[Spectrum] = []
    for dim in sorted(set(dims)):
        alike = [m for m, other in enumerate(dims) if other == dim]
        own = jnp.stack([grams[m] for m in alike])
        after = own + 0.0 * found[-1].values[0, 0] if found else own
        vectors, values = jax.lax.linalg.eigh(after, symmetrize_input=False)  # they are symmetric
        found.append(_widened(Spectrum(values, vectors), size))
        order += alike
    back = np.argsort(order)
    values, vectors = (jnp.concatenate(parts)[back] for parts in zip(*found, strict=True))
    return Spectrum(values, vectors)


def _widened(spectra: Spectrum, size: int) -> Spectrum:
    """Spectra of (m, dim) as those of (m, size)."""
    dim = spectra.values.shape[-1]
    rest = np.diag(np.arange(size) >= dim).astype(np.float64)
    missing = (0, size - dim)
    return Spectrum(
        jnp.pad(spectra.values, [(0, 0), missing]),
        jnp.pad(spectra.vectors, [(0, 0), missing, missing]) + rest,
    )
