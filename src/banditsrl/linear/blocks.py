"""What do the rewards say when every action has a parameter of its own? Ridge statistics by block.

The context x, copied into the block of its action, has a block-diagonal design matrix: one k-by-k
block per action. Kept as A blocks, a step costs A k^2 to score and k^2 to learn, where the whole
matrix would cost (A k)^2 for either.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Blocks(NamedTuple):
    """Sufficient statistics of ridge regression, one per action."""

    V: Array  # (A, k, k)  lam I + sum psi psi^T
    inverse: Array  # (A, k, k)  V^-1
    b: Array  # (A, k)     sum psi y
    theta: Array  # (A, k)     V^-1 b


def empty_blocks(n_actions: int, dim: int, lam: float) -> Blocks:
    """The statistics before any sample."""
    eye = jnp.broadcast_to(jnp.eye(dim, dtype=jnp.float64), (n_actions, dim, dim))
    zeros = jnp.zeros((n_actions, dim), dtype=jnp.float64)
    return Blocks(lam * eye, eye / lam, zeros, zeros)


def block_scores(blocks: Blocks, psi: Array) -> tuple[Array, Array]:
    """Values psi . theta (A,) and norms ||psi||_{V^-1} (A,) of psi (A, k)."""
    images = jnp.einsum("akj,aj->ak", blocks.inverse, psi)
    squares = (images * psi).sum(1)
    return (blocks.theta * psi).sum(1), jnp.sqrt(jnp.maximum(squares, 0.0))


def block_observed(blocks: Blocks, psi: Array, action: Array, reward: Array) -> Blocks:
    """The statistics after one more sample of one action, psi (k,)."""
    V, inverse, b, theta = Blocks(*[part[action] for part in blocks])
    gain = inverse @ psi  # (k,)
    scale = 1.0 / (1.0 + gain @ psi)
    error = reward - theta @ psi
    changed = Blocks(
        V=V + psi[:, None] * psi[None],
        inverse=inverse - (scale * gain)[:, None] * gain[None],
        b=b + reward * psi,
        theta=theta + gain * (scale * error),
    )
    return Blocks(*[_placed(*pair, action) for pair in zip(blocks, changed, strict=True)])


def _placed(blocks: Array, block: Array, action: Array) -> Array:
    """One block exchanged."""
    return jnp.asarray(jax.lax.dynamic_update_index_in_dim(blocks, block, action, 0))


def block_refreshed(blocks: Blocks) -> Blocks:
    """The same statistics with V^-1 and theta recomputed, against drift."""

    def block(carry: None, one: tuple[Array, Array]) -> tuple[None, tuple[Array, Array]]:
        V, b = one
        inverse = jnp.linalg.inv(V)
        inverse = 0.5 * (inverse + inverse.T)
        return carry, (inverse, inverse @ b)

    _, (inverse, theta) = jax.lax.scan(block, None, (blocks.V, blocks.b))
    return blocks._replace(inverse=inverse, theta=theta)
