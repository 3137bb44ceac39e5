"""Which candidates are compatible with the data? The set Phi_t (paper, Eq. 1).

Phi_t has every candidate whose smallest mean squared error over the ball ||theta|| <= B does not
exceed the smallest sum of error and offset among all candidates.
"""

import jax.numpy as jnp
from jax import Array

from banditsrl.linear.bounds import OFFSETS


def compatible_candidates(
    errors: Array,
    t: Array,
    *,
    dim: Array,
    L: Array,
    B: Array,
    delta: float | Array,
    offset: str,
    among: Array | None = None,
) -> Array:
    """Return Phi_t as booleans, (M,).

    Args:
        errors: Smallest mean squared error of each candidate, (M,).
        t: Number of rounds.
        dim: Dimension of each candidate, (M,).
        L: Bound on the norm of each candidate's embeddings, (M,).
        B: Bound on the norm of each candidate's parameter, (M,).
        delta: Confidence level.
        offset: Name of the offset alpha, see `OFFSETS`.
        among: The candidates that have not been eliminated, (M,), if elimination is final.
    """
    alpha = OFFSETS[offset](t, dim=dim, n_candidates=errors.shape[0], delta=delta, L=L, B=B)
    if among is None:
        return jnp.asarray(errors <= (errors + alpha).min())
    return jnp.asarray(among & (errors <= jnp.where(among, errors + alpha, jnp.inf).min()))
