"""Do the blocks agree with the whole block-diagonal matrix, and with recomputed inverses?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.linear.blocks import add_block_sample, empty_blocks, recompute_blocks, score_blocks
from banditsrl.numerics.precision import in_float64

A, K, LAM = 3, 4, 0.1

step = jax.jit(add_block_sample)


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
        blocks = step(blocks, jnp.asarray(psi), jnp.asarray(action), jnp.asarray(reward))
    V, b = whole_matrix(seen)
    psi = np.random.default_rng(8).normal(size=K)
    values, norms, _ = score_blocks(blocks, jnp.broadcast_to(jnp.asarray(psi), (A, K)))
    for action in range(A):
        phi = np.zeros(A * K)
        phi[action * K : (action + 1) * K] = psi
        assert np.isclose(values[action], phi @ np.linalg.solve(V, b), rtol=1e-9)
        assert np.isclose(norms[action], np.sqrt(phi @ np.linalg.solve(V, phi)), rtol=1e-9)


@in_float64
def test_recomputing_removes_drift_and_changes_nothing_else() -> None:
    blocks = empty_blocks(A, K, LAM)
    for psi, action, reward in rounds(2000):
        blocks = step(blocks, jnp.asarray(psi), jnp.asarray(action), jnp.asarray(reward))
    fresh = recompute_blocks(blocks)
    np.testing.assert_array_equal(fresh.V, blocks.V)
    np.testing.assert_allclose(fresh.inverse, blocks.inverse, rtol=1e-8, atol=1e-12)
    for action in range(A):
        solved = np.linalg.solve(np.asarray(blocks.V[action]), np.asarray(blocks.b[action]))
        np.testing.assert_allclose(fresh.theta[action], solved, rtol=1e-9)


@in_float64
@pytest.mark.parametrize("location", [0.0, -3.5, 1e4])
def test_the_pull_moves_predictions_to_a_location_as_fitting_what_is_left_of_it_does(
    location: float,
) -> None:
    """Fit y - c and add c back, by a direct solve of the rounds of each action."""
    rng = np.random.default_rng(11)
    n = 40
    psi = np.column_stack([np.ones(n), rng.normal(size=(n, K - 1))])
    actions, rewards = rng.integers(A - 1, size=n), location + rng.normal(size=n)
    blocks = empty_blocks(A, K, LAM)  # the last action is never played
    for one, action, reward in zip(psi, actions, rewards, strict=True):
        blocks = step(blocks, jnp.asarray(one), jnp.asarray(action), jnp.asarray(reward))
    x = np.concatenate([[1.0], rng.normal(size=K - 1)])
    scores = score_blocks(blocks, jnp.broadcast_to(jnp.asarray(x), (A, K)))
    moved = np.asarray(scores.values + LAM * location * scores.pull)
    for action in range(A):
        rows, y = psi[actions == action], rewards[actions == action]
        theta = np.linalg.solve(LAM * np.eye(K) + rows.T @ rows, rows.T @ (y - location))
        np.testing.assert_allclose(moved[action], x @ theta + location, rtol=1e-9)
    np.testing.assert_allclose(moved[-1], location)  # without a sample, all is the location
