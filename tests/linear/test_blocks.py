"""Do the blocks agree with the whole block-diagonal matrix, and with recomputed inverses?"""

import jax
import jax.numpy as jnp
import numpy as np

from banditsrl.linear.blocks import add_block_sample, empty_blocks, recompute_blocks, score_blocks
from banditsrl.numerics.precision import in_float64

A, K, LAM = 3, 4, 0.1


def rounds(n: int) -> list[tuple[np.ndarray, int, float]]:
    rng = np.random.default_rng(7)
    return [(rng.normal(size=K), int(rng.integers(A)), float(rng.normal())) for _ in range(n)]


def whole_matrix(seen: list[tuple[np.ndarray, int, float]]) -> tuple[np.ndarray, np.ndarray]:
    """V and b of the context copied into the block of its action, (A K, A K) and (A K,)."""
    V, b = LAM * np.eye(A * K), np.zeros(A * K)
    for psi, action, reward in seen:
        phi = np.zeros(A * K)
        phi[action * K : (action + 1) * K] = psi
        V, b = V + np.outer(phi, phi), b + reward * phi
    return V, b


@in_float64
def test_blocks_score_as_the_whole_matrix_does() -> None:
    seen = rounds(60)
    blocks = empty_blocks(A, K, LAM)
    for psi, action, reward in seen:
        blocks = add_block_sample(
            blocks, jnp.asarray(psi), jnp.asarray(action), jnp.asarray(reward)
        )
    V, b = whole_matrix(seen)
    psi = np.random.default_rng(8).normal(size=K)
    values, norms = score_blocks(blocks, jnp.broadcast_to(jnp.asarray(psi), (A, K)))
    for action in range(A):
        phi = np.zeros(A * K)
        phi[action * K : (action + 1) * K] = psi
        assert np.isclose(values[action], phi @ np.linalg.solve(V, b), rtol=1e-9)
        assert np.isclose(norms[action], np.sqrt(phi @ np.linalg.solve(V, phi)), rtol=1e-9)


@in_float64
def test_recomputing_removes_drift_and_changes_nothing_else() -> None:
    blocks = empty_blocks(A, K, LAM)
    step = jax.jit(add_block_sample)
    for psi, action, reward in rounds(2000):
        blocks = step(blocks, jnp.asarray(psi), jnp.asarray(action), jnp.asarray(reward))
    fresh = recompute_blocks(blocks)
    np.testing.assert_array_equal(fresh.V, blocks.V)
    np.testing.assert_allclose(fresh.inverse, blocks.inverse, rtol=1e-8, atol=1e-12)
    for action in range(A):
        solved = np.linalg.solve(np.asarray(blocks.V[action]), np.asarray(blocks.b[action]))
        np.testing.assert_allclose(fresh.theta[action], solved, rtol=1e-9)
