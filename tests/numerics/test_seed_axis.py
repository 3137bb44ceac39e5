"""Do seeds_last change speed only? Products and mapped functions compared with NumPy, one by one."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import (
    MAX_UNROLLED,
    indices,
    look_up,
    matrix_times,
    rows_times,
    seeds_last,
    select_row,
)

DIMS = [1, 6, MAX_UNROLLED, MAX_UNROLLED + 1]
TRAILING = [(), (3,), (2, 3)]


def normal(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("trailing", TRAILING)
@pytest.mark.parametrize("dim", DIMS)
def test_rows_times_is_the_matrix_product_of_every_lane(
    dim: int, trailing: tuple[int, ...]
) -> None:
    rows, matrix = normal(0, 5, dim, *trailing), normal(1, dim, 4, *trailing)
    with jax.enable_x64(True):
        product = np.asarray(rows_times(jnp.asarray(rows), jnp.asarray(matrix)))
    assert product.shape == (5, 4, *trailing)
    for lane in np.ndindex(*trailing):
        expected = rows[(..., *lane)] @ matrix[(..., *lane)]
        np.testing.assert_allclose(product[(..., *lane)], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("trailing", TRAILING)
@pytest.mark.parametrize("dim", DIMS)
def test_matrix_times_is_the_product_with_the_vector_of_every_lane(
    dim: int, trailing: tuple[int, ...]
) -> None:
    matrix, vector = normal(2, 4, dim, *trailing), normal(3, dim, *trailing)
    with jax.enable_x64(True):
        product = np.asarray(matrix_times(jnp.asarray(matrix), jnp.asarray(vector)))
    assert product.shape == (4, *trailing)
    for lane in np.ndindex(*trailing):
        expected = matrix[(..., *lane)] @ vector[(..., *lane)]
        np.testing.assert_allclose(product[(..., *lane)], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", DIMS)
def test_a_row_is_that_row_bit_by_bit_whatever_is_in_the_others(dim: int) -> None:
    rows = normal(4, 5, dim)
    rows[3] = np.nan
    with jax.enable_x64(True):
        for k in (0, 2, 4):
            np.testing.assert_array_equal(select_row(jnp.asarray(rows), jnp.asarray(k)), rows[k])
        mapped = jax.vmap(select_row, in_axes=(None, 0))(jnp.asarray(rows), jnp.asarray([4, 0]))
    np.testing.assert_array_equal(mapped, rows[[4, 0]])


def test_an_entry_is_that_entry_alone_and_mapped() -> None:
    table, places = normal(5, 7, 2, 3), np.array([6, 0, 3])
    with jax.enable_x64(True):
        held = jnp.asarray(table)
        np.testing.assert_array_equal(look_up(held, 4), table[4])
        compiled = jax.jit(look_up)(held, 4)
        mapped = jax.jit(jax.vmap(look_up, in_axes=(None, 0), out_axes=-1))(held, places)
    np.testing.assert_array_equal(compiled, table[4])
    np.testing.assert_array_equal(mapped, np.moveaxis(table[places], 0, -1))


@pytest.mark.parametrize("trailing", TRAILING)
def test_indices_count_along_the_first_axis_and_broadcast_over_lanes(
    trailing: tuple[int, ...],
) -> None:
    like = jnp.zeros((4, *trailing))
    counted = jnp.broadcast_to(indices(4, like), like.shape)
    for lane in np.ndindex(*trailing):
        np.testing.assert_array_equal(counted[(..., *lane)], [0, 1, 2, 3])


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


def test_an_argument_that_is_not_mapped_is_shared_by_all_lanes() -> None:
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


def test_a_function_in_lanes_keeps_its_name_and_its_docstring() -> None:
    assert weighted.__name__ == "weighted"
    assert str(weighted.__doc__).startswith("Written by the rules")


@in_float64
def third(x: float, *, scale: float = 1.0) -> jax.Array:
    """A third of x."""
    return scale * jnp.asarray(x) / 3.0


@in_float64
def failing() -> None:
    raise ValueError("on purpose")


def test_double_computes_in_float64_while_the_caller_stays_in_float32() -> None:
    before = jax.config.jax_enable_x64
    result = third(1.0, scale=2.0)
    assert result.dtype == jnp.float64
    assert float(result) == 2.0 / 3.0
    assert jax.config.jax_enable_x64 == before
    assert jnp.asarray(1.0).dtype == jnp.float32


def test_double_leaves_the_setting_alone_when_the_function_fails() -> None:
    with pytest.raises(ValueError, match="on purpose"):
        failing()
    assert jnp.asarray(1.0).dtype == jnp.float32


def test_double_leaves_a_caller_that_chose_float64_in_float64() -> None:
    with jax.enable_x64(True):
        third(1.0)
        assert jnp.asarray(1.0).dtype == jnp.float64


def test_double_keeps_the_name_and_the_docstring() -> None:
    assert third.__name__ == "third"
    assert third.__doc__ == "A third of x."
