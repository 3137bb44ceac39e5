"""Does a table look its features up, and are wrong sizes and bounds refused?"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.errors import BoundExceeded, InvalidArgument, InvalidType
from banditsrl.representations.mapped import Given, Mapped
from banditsrl.representations.table import Table

FEATURES = np.random.default_rng(0).standard_normal((4, 3, 2))


def largest_norm(features: Any) -> float:
    return max(math.hypot(*phi) for row in features for phi in row)


def test_a_table_looks_its_features_up() -> None:
    table = Table(FEATURES)
    assert (table.n_contexts, table.n_actions, table.dim) == (4, 3, 2)
    for x in range(4):
        phi = table.embed(x)
        assert phi.dtype == jnp.float64
        np.testing.assert_array_equal(phi, FEATURES[x])


def test_a_table_embeds_inside_compiled_and_mapped_code() -> None:
    table = Table(FEATURES)
    with jax.enable_x64(True):
        phi = jax.jit(jax.vmap(table.embed))(jnp.asarray([2, 0]))
    np.testing.assert_array_equal(phi, FEATURES[[2, 0]])


def test_a_table_knows_its_largest_norm_and_leaves_b_to_be_estimated() -> None:
    table = Table(FEATURES.tolist())
    np.testing.assert_allclose(table.L, largest_norm(FEATURES), rtol=1e-15)
    assert table.B is None


def test_bounds_that_are_given_are_kept() -> None:
    table = Table(FEATURES, L=100.0, B=3.0)
    assert (table.L, table.B) == (100.0, 3.0)
    given = Given(n_actions=3, dim=2, L=5.0, B=6.0)
    assert (given.L, given.B) == (5.0, 6.0)
    mapped = Mapped(lambda x: x, n_actions=3, dim=2, L=7.0, B=8.0)
    assert (mapped.L, mapped.B) == (7.0, 8.0)


def test_a_norm_above_the_given_bound_is_a_warning_with_both_numbers() -> None:
    message = r"L = 1 was given but the features have norm 2: confidence widths .* do not hold"
    with pytest.warns(BoundExceeded, match=message):
        table = Table([[[2.0, 0.0], [0.0, 1.0]]], L=1.0)
    assert table.L == 1.0


def test_a_norm_equal_to_the_given_bound_is_no_warning() -> None:
    assert Table([[[2.0, 0.0], [0.0, 1.0]]], L=2.0).L == 2.0


def test_the_bound_of_a_table_counts_possible_pairs_only() -> None:
    features = [[[2.0], [30.0]], [[-3.0], [1.0]], [[40.0], [50.0]]]
    possible = [[True, False], [True, True], [False, False]]
    assert Table(features, possible=possible).L == 3.0
    assert Table(features, possible=possible, L=3.5).L == 3.5
    with pytest.warns(BoundExceeded, match="L = 1 was given but the features have norm 3"):
        Table(features, possible=possible, L=1.0)
    assert Table(features, possible=np.zeros((3, 2))).L == Table(np.zeros((3, 2, 1))).L
    with pytest.raises(InvalidArgument, match=r"possible must have shape \(3, 2\), got shape \(2,"):
        Table(features, possible=[True, False])


def test_features_that_vanish_have_a_small_bound_that_can_be_divided_by() -> None:
    """Losses divide by L^2, which must not vanish either."""
    bound = Table(np.zeros((2, 2, 3))).L
    assert type(bound) is float
    assert 0.0 < bound**2 < bound < 1e-6


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((2, 2)), r"features must have shape \(n_contexts, n_actions, dim\), got shape"),
        (np.ones((2, 0, 3)), r"features must not be empty, got shape \(2, 0, 3\)"),
        ([[[1.0, math.nan]]], r"features must be finite, got nan at index \(0, 0, 1\)"),
        ([[[-math.inf]]], r"features must be finite, got -inf at index \(0, 0, 0\)"),
    ],
)
def test_a_table_of_something_else_is_refused(features: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Table(features)


@pytest.mark.parametrize("name", ["L", "B"])
@pytest.mark.parametrize(
    ("value", "rule"), [(0.0, "greater than 0"), (-1.0, "greater than 0"), (math.inf, "finite")]
)
def test_a_bound_must_be_positive_and_finite(name: str, value: float, rule: str) -> None:
    message = f"{name} must be {rule}, got {value}"
    bound = {name: value}
    with pytest.raises(InvalidArgument, match=message):
        Table(FEATURES, **bound)
    with pytest.raises(InvalidArgument, match=message):
        Given(n_actions=3, dim=2, **bound)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=message):
        Mapped(lambda x: x, n_actions=3, dim=2, **bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["n_actions", "dim"])
def test_sizes_must_be_positive_integers(name: str) -> None:
    sizes: dict[str, Any] = {"n_actions": 3, "dim": 2}
    with pytest.raises(InvalidArgument, match=f"{name} must be at least 1, got 0"):
        Given(**{**sizes, name: 0})
    with pytest.raises(InvalidType, match=rf"{name} must be an integer, got 2\.0"):
        Mapped(lambda x: x, **{**sizes, name: 2.0})
