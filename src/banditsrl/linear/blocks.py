"""How is ridge regression computed when every action has its own parameter? Block by block.

The feature of (x, a) is psi(x), of dimension k, copied into the block of action a. The design
matrix of these features is block-diagonal, with one k-by-k block V_a per action. Stored as A
blocks, it costs A k^2 to score a context and k^2 to add a sample; the whole matrix would cost
(A k)^2 for either.

Ridge regression shrinks predictions towards zero, so its predictions depend on where the zero of
the rewards is. `Scores.pull` undoes that. To shrink towards a location c instead, one would fit
y - c and add c back, which predicts

    psi . V^-1 (b - c sum psi) + c = psi . theta + c (1 - psi . V^-1 sum psi)

and if the first coordinate of every psi is one, then sum psi = (V - lam I) e_1, so the factor of c
is lam (V^-1 psi)_1, which needs no further statistics. It is lam V^-1_11 before any sample, which
is one, and vanishes as samples arrive.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Blocks(NamedTuple):
    """Sufficient statistics of A ridge regressions; the sums run over the rounds of one action."""

    V: Array  # (A, k, k)  V_a = lam I + sum psi psi^T
    inverse: Array  # (A, k, k)  V_a^-1
    b: Array  # (A, k)     b_a = sum psi y
    theta: Array  # (A, k)     theta_a = V_a^-1 b_a


def empty_blocks(n_actions: int, dim: int, lam: float) -> Blocks:
    """Return the statistics before any sample: V_a = lam I and b_a = 0."""
    eye = jnp.broadcast_to(jnp.eye(dim, dtype=jnp.float64), (n_actions, dim, dim))
    zeros = jnp.zeros((n_actions, dim), dtype=jnp.float64)
    return Blocks(lam * eye, eye / lam, zeros, zeros)


class BlockScores(NamedTuple):
    """Predictions and widths of every action in one context."""

    values: Array  # (A,)  psi_a . theta_a
    norms: Array  # (A,)  ||psi_a||_{V_a^-1}
    pull: Array  # (A,)  (V_a^-1 psi_a)_1: times lam c, it moves the predictions to a location c


def score_blocks(blocks: Blocks, psi: Array) -> BlockScores:
    """Return the predictions and the widths of every action.

    Args:
        blocks: The statistics.
        psi: One vector per action, (A, k).
    """
    images = jnp.einsum("akj,aj->ak", blocks.inverse, psi)  # (A, k)  V_a^-1 psi_a
    squares = (images * psi).sum(1)
    values = (blocks.theta * psi).sum(1)
    return BlockScores(values, jnp.sqrt(jnp.maximum(squares, 0.0)), images[:, 0])


def add_block_sample(blocks: Blocks, psi: Array, action: Array, reward: Array) -> Blocks:
    """Return the statistics after one more sample, by the Sherman-Morrison formula.

    Args:
        blocks: The statistics.
        psi: Feature of the context, (k,).
        action: The action played, whose block alone changes, ().
        reward: y, ().
    """
    V, inverse, b, theta = Blocks(*[part[action] for part in blocks])
    gain = inverse @ psi  # (k,)  V_a^-1 psi
    scale = 1.0 / (1.0 + gain @ psi)
    error = reward - theta @ psi
    updated = Blocks(
        V=V + psi[:, None] * psi[None],
        inverse=inverse - (scale * gain)[:, None] * gain[None],
        b=b + reward * psi,
        theta=theta + gain * (scale * error),
    )
    return Blocks(*[_replace_block(*pair, action) for pair in zip(blocks, updated, strict=True)])


def _replace_block(blocks: Array, block: Array, action: Array) -> Array:
    return jnp.asarray(jax.lax.dynamic_update_index_in_dim(blocks, block, action, 0))


def recompute_blocks(blocks: Blocks) -> Blocks:
    """Return the statistics with every V_a^-1 and theta_a recomputed from V_a and b_a.

    This removes the rounding errors that many rank-one updates accumulate.
    """

    def invert(carry: None, block: tuple[Array, Array]) -> tuple[None, tuple[Array, Array]]:
        V, b = block
        inverse = jnp.linalg.inv(V)
        inverse = 0.5 * (inverse + inverse.T)
        return carry, (inverse, inverse @ b)

    _, (inverse, theta) = jax.lax.scan(invert, None, (blocks.V, blocks.b))
    return blocks._replace(inverse=inverse, theta=theta)
