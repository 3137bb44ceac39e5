"""The seed axis changes the speed only: every result is compared with one seed after the other."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from banditsrl.numerics.seed_axis import (
    MAX_UNROLLED,
    indices,
    look_up,
    map_over_seeds,
    matrix_times,
    rows_times,
    seeds_last,
    select_row,
    update_if,
)

DIMS = [1, 6, MAX_UNROLLED, MAX_UNROLLED + 1]
TRAILING = [(), (3,), (2, 3)]


def normal(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("trailing", TRAILING)
@pytest.mark.parametrize("dim", DIMS)
def test_rows_times_is_the_matrix_product_of_every_seed(
    dim: int, trailing: tuple[int, ...]
) -> None:
    rows, matrix = normal(0, 5, dim, *trailing), normal(1, dim, 4, *trailing)
    with jax.enable_x64(True):
        product = np.asarray(rows_times(jnp.asarray(rows), jnp.asarray(matrix)))
    assert product.shape == (5, 4, *trailing)
    for seed in np.ndindex(*trailing):
        expected = rows[(..., *seed)] @ matrix[(..., *seed)]
        np.testing.assert_allclose(product[(..., *seed)], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("trailing", TRAILING)
@pytest.mark.parametrize("dim", DIMS)
def test_matrix_times_is_the_product_with_the_vector_of_every_seed(
    dim: int, trailing: tuple[int, ...]
) -> None:
    matrix, vector = normal(2, 4, dim, *trailing), normal(3, dim, *trailing)
    with jax.enable_x64(True):
        product = np.asarray(matrix_times(jnp.asarray(matrix), jnp.asarray(vector)))
    assert product.shape == (4, *trailing)
    for seed in np.ndindex(*trailing):
        expected = matrix[(..., *seed)] @ vector[(..., *seed)]
        np.testing.assert_allclose(product[(..., *seed)], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", DIMS)
def test_a_selected_row_is_that_row_bit_by_bit_whatever_is_in_the_others(dim: int) -> None:
    rows = normal(4, 5, dim)
    rows[3] = np.nan
    with jax.enable_x64(True):
        for k in (0, 2, 4):
            np.testing.assert_array_equal(select_row(jnp.asarray(rows), jnp.asarray(k)), rows[k])
        mapped = jax.vmap(select_row, in_axes=(None, 0))(jnp.asarray(rows), jnp.asarray([4, 0]))
    np.testing.assert_array_equal(mapped, rows[[4, 0]])


def test_looking_up_an_entry_gives_that_entry_alone_and_mapped() -> None:
    table, places = normal(5, 7, 2, 3), np.array([6, 0, 3])
    with jax.enable_x64(True):
        known = jnp.asarray(table)
        np.testing.assert_array_equal(look_up(known, 4), table[4])
        compiled = jax.jit(look_up)(known, 4)
        mapped = jax.jit(jax.vmap(look_up, in_axes=(None, 0), out_axes=-1))(known, places)
    np.testing.assert_array_equal(compiled, table[4])
    np.testing.assert_array_equal(mapped, np.moveaxis(table[places], 0, -1))


@pytest.mark.parametrize("trailing", TRAILING)
def test_indices_count_along_the_first_axis_and_broadcast_over_seeds(
    trailing: tuple[int, ...],
) -> None:
    like = jnp.zeros((4, *trailing))
    counted = jnp.broadcast_to(indices(4, like), like.shape)
    for seed in np.ndindex(*trailing):
        np.testing.assert_array_equal(counted[(..., *seed)], [0, 1, 2, 3])


SHAPES: list[tuple[int, ...]] = []


@seeds_last
def weighted(rows: jax.Array, weight: jax.Array) -> dict[str, jax.Array]:
    """Written by the rules: leading axes are indexed and reduced, trailing ones broadcast."""
    SHAPES.append(rows.shape)
    return {"sum": weight * rows.sum(0), "first": rows[0]}


def test_a_mapped_function_sees_the_seeds_along_the_last_axis() -> None:
    SHAPES.clear()
    out = jax.vmap(weighted)(jnp.ones((7, 2, 3)), jnp.ones(7))
    assert SHAPES[-1] == (2, 3, 7)
    assert out["sum"].shape == (7, 3)


def test_a_mapped_function_gives_the_same_numbers_as_one_by_one() -> None:
    rows, weight = jnp.asarray(normal(4, 7, 2, 3)), jnp.asarray(normal(5, 7))
    out = jax.vmap(weighted)(rows, weight)
    for i in range(7):
        one = weighted(rows[i], weight[i])
        np.testing.assert_allclose(out["sum"][i], one["sum"], rtol=1e-6)
        np.testing.assert_array_equal(out["first"][i], rows[i, 0])


def test_an_argument_that_is_not_mapped_is_shared_by_all_seeds() -> None:
    rows, weight = jnp.asarray(normal(6, 2, 3)), jnp.asarray([1.0, 2.0, 4.0])
    out = jax.vmap(weighted, in_axes=(None, 0))(rows, weight)
    expected = np.asarray(weight)[:, None] * np.asarray(rows).sum(0)
    np.testing.assert_allclose(out["sum"], expected, rtol=1e-6)
    assert out["first"].shape == (3, 3)


def test_a_number_may_stand_for_an_array_that_is_not_mapped() -> None:
    out = jax.vmap(weighted, in_axes=(0, None))(jnp.ones((5, 2, 3)), 0.5)
    np.testing.assert_array_equal(out["sum"], np.ones((5, 3)))


def test_a_function_mapped_twice_gives_the_same_numbers_as_one_by_one() -> None:
    SHAPES.clear()
    rows, weight = jnp.asarray(normal(7, 4, 5, 2, 3)), jnp.asarray(normal(8, 4, 5))
    out = jax.jit(jax.vmap(jax.vmap(weighted)))(rows, weight)
    assert sorted(SHAPES[-1]) == [2, 3, 4, 5]
    assert SHAPES[-1][:2] == (2, 3)
    for i, j in np.ndindex(4, 5):
        one = weighted(rows[i, j], weight[i, j])
        np.testing.assert_allclose(out["sum"][i, j], one["sum"], rtol=1e-6)


def test_a_function_marked_with_seeds_last_keeps_its_name_and_its_docstring() -> None:
    assert weighted.__name__ == "weighted"
    assert str(weighted.__doc__).startswith("Written by the rules")


def summarise(offset: jax.Array, rows: jax.Array, state: dict[str, jax.Array]) -> Any:
    """Plain code for one seed: it reduces, indexes and draws without naming an axis of seeds."""
    best = rows.sum(axis=1).argmax()
    draw = jax.random.uniform(state["key"])
    return {"best": best, "row": rows[best] + offset, "total": rows.max() + state["x"] + draw}


def seed_inputs(n_seeds: int) -> tuple[Any, Any, Any]:
    """An offset that all seeds share, and rows (4, 3, n_seeds) and a state with seeds last."""
    rows, x = normal(9, 4, 3, n_seeds), normal(10, n_seeds)
    state = {"key": jax.random.split(jax.random.key(0), n_seeds), "x": jnp.asarray(x)}
    return jnp.asarray([1.0, 2.0, 3.0]), jnp.asarray(rows), state


@pytest.mark.parametrize("n_seeds", [1, 2, 7])
def test_mapping_over_seeds_gives_what_each_seed_gives_alone(n_seeds: int) -> None:
    with jax.enable_x64(True):
        offset, rows, state = seed_inputs(n_seeds)
        together = map_over_seeds(summarise, n_shared=1)(offset, rows, state)
        assert together["row"].shape == (3, n_seeds)
        for seed in range(n_seeds):
            own = jax.tree.map(lambda leaf, s=seed: leaf[..., s], (rows, state))
            alone = summarise(offset, *own)
            for name, value in alone.items():
                np.testing.assert_array_equal(together[name][..., seed], value)


def test_a_seed_gives_the_same_numbers_mapped_as_a_single_one_and_among_others() -> None:
    with jax.enable_x64(True):
        offset, rows, state = seed_inputs(5)
        program = jax.jit(map_over_seeds(summarise, n_shared=1))
        together = program(offset, rows, state)
        one = jax.tree.map(lambda leaf: leaf[..., 3:4], (rows, state))
        single = program(offset, *one)
    for name, value in single.items():
        np.testing.assert_array_equal(np.asarray(together[name])[..., 3:4], value)


def test_a_single_seed_is_not_mapped_at_all() -> None:
    shapes: list[tuple[int, ...]] = []

    def double(x: jax.Array) -> jax.Array:
        shapes.append(x.shape)
        assert not isinstance(x, jax.core.Tracer)
        return 2 * x

    out = map_over_seeds(double)(jnp.ones((3, 1)))
    assert shapes == [(3,)]
    np.testing.assert_array_equal(out, np.full((3, 1), 2.0))


def test_plain_numbers_that_a_function_returns_become_one_number_per_seed() -> None:
    for n_seeds in (1, 4):
        out = map_over_seeds(lambda x: (x, 1.5))(jnp.zeros((2, n_seeds)))
        np.testing.assert_array_equal(out[1], np.full(n_seeds, 1.5))


@pytest.mark.parametrize("n_seeds", [1, 4])
def test_an_update_happens_for_the_seeds_that_need_it(n_seeds: int) -> None:
    values, steps = np.arange(n_seeds) * 1.0, np.arange(n_seeds) + 1.0
    keys = jax.random.split(jax.random.key(0), n_seeds)

    def update(state: tuple[Array, Array], step: Array) -> tuple[Array, Array]:
        return state[0] + 10.0 * step, jax.random.fold_in(state[1], 1)

    def run(state: tuple[Array, Array], step: Array) -> tuple[Array, Array]:
        found: tuple[Array, Array] = update_if(step > 2.0, update, state, step)
        return found

    value, key = jax.jit(map_over_seeds(run))((jnp.asarray(values), keys), jnp.asarray(steps))
    np.testing.assert_allclose(value, np.where(steps > 2, values + 10 * steps, values))
    changed = (jax.random.key_data(key) != jax.random.key_data(keys)).any(1)
    np.testing.assert_array_equal(changed, steps > 2)


def test_an_update_that_no_seed_needs_is_not_run() -> None:
    calls = []

    def update(value: Array) -> Array:
        jax.debug.callback(lambda: calls.append(1))
        return value + 1.0

    run = jax.jit(jax.vmap(lambda value: update_if(value > 2.0, update, value)))
    run(jnp.zeros(3)).block_until_ready()
    jax.effects_barrier()
    assert calls == []
    run(jnp.array([0.0, 3.0])).block_until_ready()
    jax.effects_barrier()
    assert calls
