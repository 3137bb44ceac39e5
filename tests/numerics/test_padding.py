"""Padding: steps on arrays cut to the entries in use, against the same steps on whole arrays."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from banditsrl.numerics import padding
from banditsrl.numerics.padding import Padding
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import map_over_seeds

SIZE, SEEDS = 18, 3


class Sums(NamedTuple):
    """A state with padding, where the matrix has ones on the diagonal of its padding."""

    matrix: Array  # (SIZE, SIZE)
    vector: Array  # (SIZE,)
    n: Array  # ()
    used: Array  # ()


PADDING = Padding(
    size=SIZE,
    used=lambda state: state.used,
    crop=lambda state, k: state._replace(matrix=state.matrix[:k, :k], vector=state.vector[:k]),
)


def draw(used: list[int]) -> tuple[Sums, Any]:
    """States of all seeds, seeds last, and vectors to be added."""
    rng, inside = np.random.default_rng(0), np.arange(SIZE)[:, None] < np.asarray(used)
    both = inside[:, None] & inside[None]
    matrix = np.where(both, rng.normal(size=(SIZE, SIZE, SEEDS)), np.eye(SIZE)[..., None])
    vector, x = (np.where(inside, rng.normal(size=(SIZE, SEEDS)), 0.0) for _ in range(2))
    states = Sums(*map(jnp.asarray, (matrix, vector, np.zeros(SEEDS), np.asarray(used))))
    return states, jnp.asarray(x)


def add(state: Sums, x: Array) -> Sums:
    """One step, plain code for one seed; it works in as many entries as the state has."""
    used = x[: len(state.vector)]
    matrix, vector = state.matrix + used[:, None] * used[None], state.vector + state.matrix @ used
    return Sums(matrix, vector, state.n + 1.0, state.used)


@pytest.mark.parametrize(
    ("used", "size"), [(1, 6), (6, 6), (7, 12), (12, 12), (13, 18), (18, 18), (6.0, 6)]
)
def test_a_third_two_thirds_or_all_of_the_size_is_enough(used: int, size: int) -> None:
    assert padding.enough(PADDING, used) == size


def test_small_arrays_are_not_cut() -> None:
    assert padding.enough(PADDING._replace(size=8), 1) == 8
    assert padding.enough(PADDING._replace(size=9), 1) == 3


@in_float64
def test_the_seed_that_uses_most_decides() -> None:
    states, _ = draw([2, 7, 4])
    assert int(padding.largest_used(PADDING, states)) == 7


@in_float64
@pytest.mark.parametrize("used", [[2, 5, 6], [2, 7, 12], [1, 13, 18]])
def test_steps_on_cut_states_are_those_on_whole_states(used: list[int]) -> None:
    """The matrix keeps what it has on its padding."""
    states, x = draw(used)
    size = padding.enough(PADDING, max(used))

    @jax.jit
    def play(states: Sums, x: Array) -> Sums:
        small = padding.crop(PADDING, states, size)
        assert small.matrix.shape == (size, size, SEEDS)
        for _ in range(2):
            small = map_over_seeds(add)(small, x)
        return padding.restore(states, small)

    found = play(states, x)
    for seed in range(SEEDS):
        wanted = jax.tree.map(lambda leaf, seed=seed: leaf[..., seed], states)
        for _ in range(2):
            wanted = add(wanted, x[:, seed])
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours[..., seed], theirs, rtol=1e-12, atol=1e-14)


@in_float64
def test_a_single_seed_is_cut_and_restored_too() -> None:
    states, _ = draw([2, 3, 4])
    single = jax.tree.map(lambda leaf: leaf[..., :1], states)
    small = padding.crop(PADDING, single, 6)
    assert small.matrix.shape == (6, 6, 1)
    jax.tree.map(np.testing.assert_array_equal, padding.restore(single, small), single)
