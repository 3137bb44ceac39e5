"""Are spectra of matrices of several sizes right? Compared with NumPy, matrix by matrix."""

import jax
import numpy as np
import pytest

from banditsrl.linear.spectra import decompose, decompose_all
from banditsrl.numerics.precision import in_float64

SIZE = 7


def gram(dim: int, rank: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(rank, dim))
    return np.asarray(rows.T @ rows)


@pytest.mark.parametrize("dims", [(4,), (3, 7, 3, 5), (7, 6, 2), (2, 2, 2)])
def test_each_is_the_spectrum_of_the_padded_matrix(dims: tuple[int, ...]) -> None:
    grams = [gram(dim, rank=dim - k % 2, seed=k) for k, dim in enumerate(dims)]
    found = in_float64(decompose_all)(grams, SIZE)
    assert found.values.shape == (len(dims), SIZE)
    for k, (dim, own) in enumerate(zip(dims, grams, strict=True)):
        padded = np.zeros((SIZE, SIZE))
        padded[:dim, :dim] = own
        values, vectors = np.asarray(found.values[k]), np.asarray(found.vectors[k])
        np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, padded, atol=1e-12)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(SIZE), atol=1e-12)
        np.testing.assert_allclose(values[:dim], np.linalg.eigvalsh(own), atol=1e-12)
        assert (values[dim:] == 0).all()


def test_mapping_over_seeds_gives_the_same_spectra_as_one_by_one() -> None:
    grams = [np.stack([gram(dim, dim, seed) for seed in range(5)]) for dim in (3, 6)]
    mapped = in_float64(jax.vmap(lambda *each: decompose_all(each, SIZE)))(*grams)
    alone = [in_float64(decompose_all)([g[seed] for g in grams], SIZE) for seed in range(5)]
    np.testing.assert_allclose(mapped.values, [each.values for each in alone], atol=1e-12)


def test_a_single_matrix_has_the_same_spectrum_either_way() -> None:
    own = gram(5, 5, seed=0)
    one, several = in_float64(decompose)(own), in_float64(decompose_all)([own], 5)
    np.testing.assert_allclose(one.values, several.values[0], rtol=1e-12)
    np.testing.assert_allclose(np.abs(one.vectors), np.abs(several.vectors[0]), atol=1e-12)
