"""Random Fourier features, against their formula."""

import math
from typing import Any

import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.representations import Fourier
from banditsrl.representations.coded import Coded

RNG = np.random.default_rng(1)
FEATURES = RNG.normal(size=(4, 3, 6))


def formula(features: Fourier, inputs: Any) -> Any:
    """sqrt(2 / d) cos(W x + b), one number after the other."""
    W, b = np.asarray(features.matrix, dtype=float), np.asarray(features.phase, dtype=float)
    found = np.zeros((len(inputs), features.dim))
    for a, x in enumerate(inputs):
        for i in range(features.dim):
            angle = sum(x[j] * W[j, i] for j in range(len(x))) + b[i]
            found[a, i] = math.sqrt(2.0 / features.dim) * math.cos(angle)
    return found


def test_features_are_those_of_the_formula() -> None:
    features = Fourier(FEATURES, dim=11, seed=3)
    assert (features.dim, features.n_actions, features.B) == (11, 3, None)
    for x in range(4):
        phi = features.embed(x)
        assert (phi.shape, phi.dtype) == ((3, 11), np.float64)
        np.testing.assert_allclose(phi, formula(features, FEATURES[x]), atol=2e-6)


@pytest.mark.parametrize("code", ["blocks", "one-hot"])
def test_features_of_a_vector_context_are_those_of_its_code(code: str) -> None:
    inputs = Coded(n_actions=3, code=code, n_columns=2)
    features = Fourier(inputs, dim=5)
    context = np.array([0.3, -1.2], dtype=np.float32)
    expected = formula(features, np.asarray(inputs.embed(context), dtype=float))
    np.testing.assert_allclose(features.embed(context), expected, atol=2e-6)


def test_frequencies_have_variance_one_over_m_and_phases_cover_the_circle() -> None:
    features = Fourier(RNG.normal(size=(1, 2, 8)), dim=4000)
    W, b = np.asarray(features.matrix), np.asarray(features.phase)
    n = W.size
    assert abs(W.mean()) < 4 / math.sqrt(8 * n)
    assert W.var() == pytest.approx(1 / 8, rel=4 * math.sqrt(2 / n))
    assert 0.0 <= b.min() < 0.02
    assert 2 * math.pi - 0.02 < b.max() <= 2 * math.pi
    counts, _ = np.histogram(b, bins=8, range=(0, 2 * math.pi))
    assert np.abs(counts - 500).max() < 4 * math.sqrt(500)


def test_inner_products_approach_the_gaussian_kernel() -> None:
    points = RNG.normal(size=(1, 2, 4))
    phi = np.asarray(Fourier(points, dim=20_000).embed(0))
    squared = ((points[0, 0] - points[0, 1]) ** 2).sum()
    # four standard errors of a mean of 20,000 products that are at most 2
    assert phi[0] @ phi[1] == pytest.approx(math.exp(-squared / 8), abs=4 * 2 / math.sqrt(20_000))


def test_no_norm_exceeds_the_bound() -> None:
    features = Fourier(10 * FEATURES, dim=3)
    largest = max(np.linalg.norm(features.embed(x), axis=1).max() for x in range(4))
    assert features.L is not None
    assert abs(features.L - math.sqrt(2.0)) < 1e-12
    assert largest <= features.L


def test_a_seed_fixes_the_features_and_another_changes_them() -> None:
    one, same, other = (Fourier(FEATURES, dim=4, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.embed(2), same.embed(2))
    assert not np.allclose(one.embed(2), other.embed(2))


def test_sizes_and_seeds_are_checked() -> None:
    with pytest.raises(InvalidArgument, match="dim must be at least 1, got 0"):
        Fourier(FEATURES, dim=0)
    with pytest.raises(InvalidArgument, match="seed must be at least 0, got -1"):
        banditsrl.Fourier(FEATURES, seed=-1)
