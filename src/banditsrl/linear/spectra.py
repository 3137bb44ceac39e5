"""Which directions have been seen, and how often? Eigendecompositions of Gram matrices."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array


class Spectrum(NamedTuple):
    """G = vectors diag(values) vectors^T, values ascending."""

    values: Array  # (d,)
    vectors: Array  # (d, d)


def spectra(grams: Sequence[Array]) -> list[Spectrum]:
    """The spectra of several matrices, which may differ in size, computed one after another.

    Mapped over seeds, a decomposition is a batched LAPACK call that spreads over XLA's thread pool
    and waits for it; two such calls at once can fill a small pool with waiting and never end. So
    each one is made to depend on the one before, by adding zero times one of its eigenvalues
    (an optimization barrier would not do: it is gone by the time the calls are scheduled).
    """
    found: list[Spectrum] = []
    for gram in grams:
        after = gram + 0.0 * found[-1].values[0] if found else gram
        found.append(Spectrum(*jnp.linalg.eigh(after)))
    return found
