"""Padding: functions at the least size that is enough, against the same functions at full size."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from banditsrl.numerics.padding import Row, run_at_size, update_at_size
from banditsrl.numerics.precision import in_float64

SIZE = 18
SIZES_ASKED: list[int] = []


def padded(used: Any, seed: int = 0) -> Any:
    """Vectors of SIZE entries that are zero from the given places on."""
    drawn = np.random.default_rng(seed).normal(size=(len(used), SIZE))
    return np.where(np.arange(SIZE) < np.asarray(used)[:, None], drawn, 0.0)


def squares(k: int, x: Array) -> Array:
    SIZES_ASKED.append(k)
    return (x[:k] ** 2).sum()


def add_square(k: int, total: Array, x: Array) -> Array:
    """Add x x^T to a padded matrix; only its first k rows and columns can change."""
    return total.at[:k, :k].add(x[:k, None] * x[None, :k])


@in_float64
@pytest.mark.parametrize("used", [[2, 5, 6], [2, 7, 12], [1, 13, 18]])
def test_all_seeds_are_computed_at_the_least_size_that_is_enough(used: list[int]) -> None:
    x = padded(used)
    run = jax.jit(jax.vmap(lambda used, x: run_at_size(squares, used, SIZE, x)))
    np.testing.assert_allclose(run(jnp.asarray(used), x), (x**2).sum(1), rtol=1e-12)
    single = run_at_size(squares, jnp.asarray(used[0]), SIZE, jnp.asarray(x[0]))
    np.testing.assert_allclose(single, (x[0] ** 2).sum(), rtol=1e-12)


@in_float64
def test_only_entries_within_the_chosen_size_are_read() -> None:
    """Beyond 6 entries the vectors are not padding here, which shows what was read."""
    x = np.ones((2, SIZE))
    run = jax.jit(jax.vmap(lambda used, x: run_at_size(squares, used, SIZE, x)))
    for used, size in ((3, 6), (6, 6), (7, 12), (12, 12), (13, 18)):
        np.testing.assert_array_equal(run(jnp.array([1, used]), x), [size, size])


def test_small_arrays_are_computed_at_their_full_size_only() -> None:
    SIZES_ASKED.clear()
    run_at_size(squares, jnp.asarray(1), 6, jnp.ones(6))
    assert SIZES_ASKED == [6]


@in_float64
@pytest.mark.parametrize("used", [[2, 5, 6], [2, 7, 12], [1, 13, 18]])
def test_an_update_changes_every_seed_as_a_plain_loop_does(used: list[int]) -> None:
    first, second = padded(used, 1), padded(used, 2)

    def play(used: Array, first: Array, second: Array) -> Array:
        total = jnp.zeros((SIZE, SIZE))
        for x in (first, second):
            total = update_at_size(add_square, total, used, SIZE, x)
        return total

    found = jax.jit(jax.vmap(play))(jnp.asarray(used), first, second)
    wanted = [np.outer(a, a) + np.outer(b, b) for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@in_float64
def test_a_row_is_read_without_its_padding() -> None:
    table = np.random.default_rng(3).normal(size=(5, 4, SIZE))
    read = jax.vmap(lambda place: Row(jnp.asarray(table), place).read(6))
    np.testing.assert_array_equal(read(jnp.array([4, 0, 2])), table[[4, 0, 2], :, :6])
