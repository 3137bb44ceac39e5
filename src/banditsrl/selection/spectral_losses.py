"""What makes an embedding good while a network trains? Spectral losses of a batch.

Both use the matrix M of normalised embeddings of all samples, estimated from a batch:

    M = mean of phi phi^T / ||phi||^2
    Rayleigh: -min over unit vectors z of z.M z       (full HLS; z is trained to minimise z.M z)
    weak:     -min over explored samples of u.M u     (weak HLS; u = phi / ||phi|| is constant)

The regulariser lambda of the paper's formulas adds a constant and is left out. A zero embedding
normalises to zero. `valid` (n,) marks the samples of an incomplete batch.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

Z_STEP = 0.1
"""Step size of the descent of z; it is stable, since eigenvalues of M are at most one."""


def normalise(phi: Array) -> Array:
    """Scale the rows of phi (n, d) to norm one; zero rows stay zero, with zero gradient."""
    squares = (phi * phi).sum(1, keepdims=True)
    return jnp.where(squares > 0, phi * lax.rsqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)


def design(phi: Array, valid: Array) -> Array:
    """Return M (d, d) of a batch phi (n, d)."""
    rows = normalise(phi) * valid[:, None]
    return rows.T @ rows / valid.sum()


def weak(phi: Array, explored: Array, z: Array, valid: Array) -> Array:
    """Return -min u.M u; gradients pass through M only."""
    del z
    u = lax.stop_gradient(normalise(explored))
    forms = ((u @ design(phi, valid)) * u).sum(1)  # (n,)
    return -jnp.where(valid > 0, forms, jnp.inf).min()


def rayleigh(phi: Array, explored: Array, z: Array, valid: Array) -> Array:
    """Return -z.M z at the current unit vector z; no gradient passes through z."""
    del explored
    z = lax.stop_gradient(z)
    return -(z @ design(phi, valid) @ z)


def none(phi: Array, explored: Array, z: Array, valid: Array) -> Array:
    """Return zero: no spectral loss."""
    del explored, z, valid
    return jnp.zeros((), dtype=phi.dtype)


def descend(z: Array, phi: Array, valid: Array) -> Array:
    """Return the unit vector z after one gradient step that decreases z.M z of a batch."""
    M = lax.stop_gradient(design(phi, valid))
    image = M @ z
    lower = z - Z_STEP * 2.0 * (image - (z @ image) * z)
    return lower * lax.rsqrt((lower * lower).sum())


REGULARISERS: dict[str, Callable[[Array, Array, Array, Array], Array]] = {
    "none": none,
    "weak": weak,
    "rayleigh": rayleigh,
}


def is_saddle(loss: str) -> bool:
    """Return whether the loss trains z to minimise what the network maximises."""
    return loss == "rayleigh"
