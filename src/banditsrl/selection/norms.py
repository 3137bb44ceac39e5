"""How large are the embeddings? The largest norm seen replaces a bound that is not known."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.core.representation import Representation


def largest_norm(phi: Array) -> Array:
    """Return the largest norm of the rows of phi (A, d)."""
    return jnp.sqrt((phi * phi).sum(-1)).max()


def update_largest_norm(representation: Representation, phi: Array, so_far: Array) -> Array:
    """Return the largest norm seen, which is not updated where norms are known beforehand."""
    if representation.has_known_norms:
        return so_far
    return jnp.maximum(so_far, largest_norm(phi))


def known_or_seen(given: Sequence[float | None], estimates: Array) -> Array:
    """Return the given number of each of M candidates, or its estimate if it is None, (M,)."""
    missing = np.array([number is None for number in given])
    numbers = jnp.asarray([0.0 if number is None else number for number in given], jnp.float64)
    return jnp.where(missing, estimates, numbers)
