"""Spectral losses of a batch, against loops in NumPy and finite differences."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.selection.spectral_losses import (
    REGULARISERS,
    descend,
    design,
    is_saddle,
    none,
    normalise,
    rayleigh,
    weak,
)

N, D = 7, 3
FULL = np.ones(N)
PARTIAL = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
STEP = 1e-6
"""Of the finite differences: their error is about 1e-9."""

batches = pytest.mark.parametrize("valid", [FULL, PARTIAL], ids=["full", "incomplete"])


def batch(seed: int = 0) -> tuple[Any, Any, Any]:
    """Embeddings of all samples, of explored samples, and a unit vector."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=D)
    return rng.normal(size=(N, D)), rng.normal(size=(N, D)), z / np.linalg.norm(z)


def slow_design(phi: Any, valid: Any) -> Any:
    M = np.zeros((D, D))
    for row, counts in zip(phi, valid, strict=True):
        if counts and np.linalg.norm(row) > 0:
            u = row / np.linalg.norm(row)
            for i in range(D):
                for j in range(D):
                    M[i, j] += u[i] * u[j] / valid.sum()
    return M


def slow_weak(phi: Any, explored: Any, valid: Any) -> float:
    M, forms = slow_design(phi, valid), []
    for row, counts in zip(explored, valid, strict=True):
        if counts:
            forms.append(row @ M @ row / (row @ row) if row @ row > 0 else 0.0)
    return -min(forms)


def slow_rayleigh(phi: Any, z: Any, valid: Any) -> float:
    M = slow_design(phi, valid)
    return -sum(z[i] * M[i, j] * z[j] for i in range(D) for j in range(D))


def differences(function: Callable[[Any], float], at: Any) -> Any:
    """The gradient, one entry after the other."""
    found = np.zeros_like(at)
    for index in np.ndindex(*at.shape):
        up, down = at.copy(), at.copy()
        up[index] += STEP
        down[index] -= STEP
        found[index] = (function(up) - function(down)) / (2 * STEP)
    return found


def gradient(loss: Any, *args: Any) -> Any:
    with jax.enable_x64(True):
        return np.asarray(jax.grad(loss)(*map(jnp.asarray, args)))


def value(loss: Any, *args: Any) -> float:
    with jax.enable_x64(True):
        return float(loss(*map(jnp.asarray, args)))


@batches
def test_losses_are_those_of_the_loops(valid: Any) -> None:
    for seed in range(5):
        phi, explored, z = batch(seed)
        assert value(weak, phi, explored, z, valid) == pytest.approx(
            slow_weak(phi, explored, valid), rel=1e-12
        )
        assert value(rayleigh, phi, explored, z, valid) == pytest.approx(
            slow_rayleigh(phi, z, valid), rel=1e-12
        )
        assert value(none, phi, explored, z, valid) == 0.0
        with jax.enable_x64(True):
            found = design(jnp.asarray(phi), jnp.asarray(valid))
        np.testing.assert_allclose(found, slow_design(phi, valid), rtol=1e-12, atol=1e-15)


def test_missing_samples_of_an_incomplete_batch_change_nothing() -> None:
    phi, explored, z = batch()
    other, elsewhere = phi.copy(), explored.copy()
    other[5:], elsewhere[5:] = 100.0, np.eye(D)[:2]
    for loss in (weak, rayleigh):
        first = value(loss, phi, explored, z, PARTIAL)
        assert value(loss, other, elsewhere, z, PARTIAL) == first
        found = gradient(loss, phi, explored, z, PARTIAL)
        assert np.all(found[5:] == 0.0)
        assert np.any(found[:5] != 0.0)


@batches
def test_the_gradient_of_rayleigh_is_that_of_the_quotient_at_a_constant_vector(valid: Any) -> None:
    phi, explored, z = batch(3)
    expected = differences(lambda at: slow_rayleigh(at, z, valid), phi)
    np.testing.assert_allclose(gradient(rayleigh, phi, explored, z, valid), expected, atol=1e-8)
    with jax.enable_x64(True):
        of_z = jax.grad(rayleigh, argnums=2)(*map(jnp.asarray, (phi, explored, z, valid)))
    assert np.all(np.asarray(of_z) == 0.0)


@batches
def test_the_gradient_of_weak_holds_the_outer_features_constant(valid: Any) -> None:
    """The same embeddings inside and outside, as when every round was explored."""
    phi, _, z = batch(4)

    def both(at: Any) -> Any:
        return weak(at, at, jnp.asarray(z), jnp.asarray(valid))

    found = gradient(both, phi)
    frozen = differences(lambda at: slow_weak(at, phi, valid), phi)
    moving = differences(lambda at: slow_weak(at, at, valid), phi)
    np.testing.assert_allclose(found, frozen, atol=1e-8)
    assert np.abs(found - moving).max() > 1e-2  # what a loss without stop-gradient would give


def test_the_gradient_of_weak_ignores_the_explored_samples_alone() -> None:
    phi, explored, z = batch(5)
    with jax.enable_x64(True):
        found = jax.grad(weak, argnums=1)(*map(jnp.asarray, (phi, explored, z, FULL)))
    assert np.all(np.asarray(found) == 0.0)


def test_a_zero_embedding_normalises_to_zero_with_zero_gradient() -> None:
    phi, explored, z = batch(6)
    phi[2], explored[4] = 0.0, 0.0
    with jax.enable_x64(True):
        unit = np.asarray(normalise(jnp.asarray(phi)))
    norms = np.linalg.norm(unit, axis=1)
    np.testing.assert_allclose(norms, np.arange(N) != 2, atol=1e-15)
    for loss in (weak, rayleigh):
        found = gradient(loss, phi, explored, z, FULL)
        assert np.isfinite(found).all()
        assert np.all(found[2] == 0.0)
    assert value(weak, phi, explored, z, FULL) == 0.0  # the zero sample attains the minimum


@pytest.mark.parametrize("loss", ["weak", "rayleigh"])
def test_a_batch_of_zero_embeddings_has_loss_and_gradient_zero(loss: str) -> None:
    zeros, z = np.zeros((N, D)), batch()[2]
    assert value(REGULARISERS[loss], zeros, zeros, z, FULL) == 0.0
    assert np.all(gradient(REGULARISERS[loss], zeros, zeros, z, FULL) == 0.0)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_losses_do_not_depend_on_the_length_of_embeddings(scale: float) -> None:
    """In float32, as in training: squares of the shortest are still representable."""
    phi, explored, z = batch(7)
    for loss, expected in (
        (weak, slow_weak(phi, explored, FULL)),
        (rayleigh, slow_rayleigh(phi, z, FULL)),
    ):
        args = (scale * phi, scale * explored, z, FULL)
        found = loss(*(jnp.asarray(arg, dtype=jnp.float32) for arg in args))
        assert float(found) == pytest.approx(expected, rel=1e-5)


@jax.jit
def descend_for_long(z: jax.Array, phi: jax.Array, valid: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 20_000, lambda _, at: descend(at, phi, valid), z)


@pytest.mark.parametrize("seed", range(6))
def test_the_unit_vector_ends_at_the_smallest_eigenvector(seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(N, D)) * [1.0, 1.5, 2.5]
    valid = PARTIAL if seed % 2 else FULL
    values, vectors = np.linalg.eigh(slow_design(phi, valid))
    # even when it starts next to the largest one
    start = vectors[:, 2] + 1e-3 * rng.normal(size=D)
    with jax.enable_x64(True):
        args = map(jnp.asarray, (start / np.linalg.norm(start), phi, valid))
        z = np.asarray(descend_for_long(*args))
    assert np.linalg.norm(z) == pytest.approx(1.0, rel=1e-12)
    assert values[1] - values[0] > 0.01
    assert abs(z @ vectors[:, 0]) == pytest.approx(1.0, abs=1e-9)
    assert abs(z @ vectors[:, 2]) < 1e-4


def test_one_step_of_the_unit_vector_is_a_projected_step_down_the_quotient() -> None:
    phi, _, z = batch(8)
    M = slow_design(phi, PARTIAL)
    expected = z - 0.1 * 2.0 * (M @ z - (z @ M @ z) * z)
    expected /= np.linalg.norm(expected)
    with jax.enable_x64(True):
        found = np.asarray(descend(*map(jnp.asarray, (z, phi, PARTIAL))))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found @ M @ found < z @ M @ z


def test_only_the_rayleigh_quotient_trains_a_vector_against_the_network() -> None:
    assert [name for name in REGULARISERS if is_saddle(name)] == ["rayleigh"]
    assert set(REGULARISERS) == {"none", "weak", "rayleigh"}
