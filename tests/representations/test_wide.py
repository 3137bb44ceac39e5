"""Is the wide embedding its formula, and where do its columns come from?"""

from typing import Any

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.problems import TableProblem, Wheel
from banditsrl.representations.coded import Coded
from banditsrl.representations.mapped import Mapped
from banditsrl.representations.wide import FARTHEST, LARGEST_SHARE, MOST_PLAIN, Scaling, Wide


def standardise(scaling: Scaling, x: np.ndarray) -> np.ndarray:
    """Standardised columns, cut off, and rounded to float32."""
    z = (x - np.asarray(scaling.centre)) / np.asarray(scaling.deviation)
    return np.asarray(np.clip(z, -FARTHEST, FARTHEST).astype(np.float32), dtype=np.float64)


def by_formula(wide: Wide, scaling: Scaling, x: np.ndarray) -> np.ndarray:
    z = standardise(scaling, x)
    waves = np.cos(z @ np.asarray(wide.matrix) + np.asarray(wide.phase))
    return np.concatenate([[1.0], z / np.sqrt(len(x)), np.sqrt(2.0 / len(waves)) * waves])


@in_float64
def test_a_coded_context_has_the_embedding_of_the_formula_for_every_action() -> None:
    wide = Wide(Wheel().representations[0], n_features=6)
    x = np.array([0.3, -0.5], dtype=np.float32)
    scaling = Scaling(np.array([0.1, 0.2]), np.array([0.5, 2.0]), np.zeros(0))
    psi = np.asarray(wide.at(scaling).embed(x))
    assert psi.shape == (5, wide.dim) == (5, 1 + 2 + 6)
    for action in range(5):
        np.testing.assert_allclose(psi[action], by_formula(wide, scaling, x), rtol=1e-12)


@in_float64
def test_a_new_value_of_a_constant_column_is_far_away_and_others_are_standardised() -> None:
    wide = Wide(Wheel().representations[0], n_features=0)
    scaling = Scaling(np.array([0.1, 7.0]), np.array([0.5, np.inf]), np.zeros(0))
    placed = wide.at(scaling)
    known, new = (np.array([0.35, second], dtype=np.float32) for second in (7.0, 6.5))
    np.testing.assert_allclose(placed.standardise(new), [[0.5, 0.0]], atol=1e-6)
    np.testing.assert_allclose(placed.locate(known), [[0.5, 0.0]], atol=1e-6)
    np.testing.assert_allclose(placed.locate(new), [[0.5, FARTHEST]], atol=1e-6)


@in_float64
def test_the_columns_of_a_table_are_those_of_the_context_only() -> None:
    problem = banditsrl.make_problem("wheel", n_contexts=7)
    wide = Wide(problem.representations[0])
    features = problem.representations[0].features
    assert wide.n_columns == 2
    np.testing.assert_array_equal(wide.rows(3), features[3, :1, :2])


@in_float64
def test_other_representations_give_one_row_per_action() -> None:
    table = np.random.default_rng(0).normal(size=(4, 3, 2))
    assert Wide(table).rows(1).shape == (3, 2)
    mapped = Mapped(lambda x: x * np.ones((3, 2)), n_actions=3, dim=2)
    wide = Wide(mapped)
    placed = wide.at(wide.init(jax.random.key(0)))
    assert placed.embed(2.0).shape == (3, 1 + 2 + 128)


@in_float64
def test_a_constant_column_adds_nothing() -> None:
    wide = Wide(Wheel().representations[0], n_features=5)
    scaling = Scaling(np.array([0.0, 0.4]), np.array([1.0, np.inf]), np.zeros(0))
    one = wide.at(scaling).embed(np.array([0.2, 0.4], dtype=np.float32))
    other = wide.at(scaling).embed(np.array([0.2, 0.9], dtype=np.float32))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("n_columns", "n_plain"), [(MOST_PLAIN, MOST_PLAIN), (300, MOST_PLAIN)])
def test_many_columns_are_projected(n_columns: int, n_plain: int) -> None:
    rng = np.random.default_rng(1)
    problem = TableProblem(rng.normal(size=(20, n_columns)), [0, 1] * 10)
    assert Wide(problem.representations[0], n_features=8).dim == 1 + n_plain + 8


@in_float64
def test_steps_are_at_quantiles_of_their_columns() -> None:
    rng = np.random.default_rng(2)
    columns = np.column_stack([rng.normal(size=80), rng.integers(0, 2, 80), np.full(80, 3.0)])
    problem = TableProblem(rng.normal(size=(10, 3)), [0, 1] * 5)
    wide = Wide(problem.representations[0], kind="steps", n_features=30)
    valid = np.arange(100) < 80
    scaling = wide.fit_scaling(np.vstack([columns, rng.normal(size=(20, 3))]), valid)
    which, levels = np.asarray(wide.which), np.asarray(wide.levels)
    assert sorted(which) == sorted([0, 1, 2] * 10)
    z = standardise(scaling, columns)
    for k in range(30):
        values = np.sort(z[:, which[k]])
        if which[k] == 0:
            assert scaling.cuts[k] == values[int(levels[k] * 80)]
        elif which[k] == 1:
            assert scaling.cuts[k] == values[-1]  # two values leave one place for a step
        else:
            assert scaling.cuts[k] == np.inf


@in_float64
def test_a_step_counts_what_reaches_its_cut() -> None:
    wide = Wide(Wheel().representations[0], kind="steps", n_features=4)
    cuts = np.array([-0.5, 0.25, 0.26, 0.9])
    scaling = Scaling(np.zeros(2), np.ones(2), cuts)
    x = np.array([0.25, -0.5])
    psi = np.asarray(wide.at(scaling).embed(x))
    assert psi.shape == (5, 1 + 2 + 4)
    z = standardise(scaling, x)
    expected = np.where(z[np.asarray(wide.which)] >= cuts, 0.5, 0.0)
    np.testing.assert_allclose(psi, np.tile([1.0, *(z / np.sqrt(2)), *expected], (5, 1)))


@in_float64
def test_before_anything_is_seen_columns_are_taken_as_they_are() -> None:
    wide = Wide(Wheel().representations[0], n_features=6)
    scaling = wide.init(jax.random.key(0))
    np.testing.assert_array_equal(scaling.centre, np.zeros(2))
    np.testing.assert_array_equal(scaling.deviation, np.ones(2))
    x = np.array([0.3, -0.5], dtype=np.float32)
    psi = np.asarray(wide.at(scaling).embed(x))
    np.testing.assert_allclose(psi[0], by_formula(wide, scaling, x), rtol=1e-12)


def test_without_a_scaling_nothing_is_embedded() -> None:
    wide = Wide(Wheel().representations[0], n_features=6)
    message = "scaling must be given before a wide embedding is used, got None; use wide.at"
    with pytest.raises(InvalidArgument, match=message):
        wide.embed(np.array([0.3, -0.5], dtype=np.float32))


@in_float64
def test_at_leaves_the_embedding_as_it_was() -> None:
    wide = Wide(Wheel().representations[0], n_features=6)
    wide.at(wide.init(jax.random.key(0)))
    assert wide.scaling is None


@pytest.mark.parametrize("x64", [False, True])
def test_embeddings_are_in_float64_whatever_settings_the_caller_has(x64: bool) -> None:
    wide = Wide(Wheel().representations[0], n_features=6)
    scaling = in_float64(wide.init)(jax.random.key(0))
    with jax.enable_x64(x64):
        psi = wide.at(scaling).embed(np.array([0.3, -0.5], dtype=np.float32))
    assert psi.dtype == np.float64


def fit(columns: np.ndarray, **settings: Any) -> tuple[Wide, Scaling]:
    """The scaling of columns, behind which there are rows that do not count."""
    n, m = columns.shape
    wide = Wide(Coded(n_actions=2, code="blocks", n_columns=m), **{"n_features": 8, **settings})
    rows = np.vstack([columns, np.full((7, m), 1e6)])
    return wide, wide.fit_scaling(rows, np.arange(n + 7) < n)


@in_float64
def test_centre_and_deviation_are_by_quantiles() -> None:
    columns = np.random.default_rng(3).gamma(2.0, size=(200, 3))
    _, scaling = fit(columns)
    low, median, high = np.sort(columns, axis=0)[[32, 100, 168]]
    np.testing.assert_array_equal(scaling.centre, median)
    np.testing.assert_allclose(scaling.deviation, (high - low) / 2.0, rtol=1e-12)


@in_float64
def test_the_deviation_of_a_normal_column_is_its_standard_deviation() -> None:
    _, scaling = fit(3.0 + 2.0 * np.random.default_rng(4).normal(size=(4000, 1)))
    np.testing.assert_allclose(scaling.centre, 3.0, atol=0.1)
    np.testing.assert_allclose(scaling.deviation, 2.0, rtol=0.05)


@in_float64
def test_a_rare_flag_is_scaled_by_mean_and_standard_deviation() -> None:
    flag = (np.arange(200) % 25 == 0).astype(float)[:, None]
    _, scaling = fit(flag)
    np.testing.assert_allclose(scaling.centre, flag.mean(0), rtol=1e-12)
    np.testing.assert_allclose(scaling.deviation, flag.std(0), rtol=1e-12)


@in_float64
def test_a_few_huge_values_neither_spoil_the_others_nor_dominate() -> None:
    column = np.random.default_rng(5).normal(size=(200, 1))
    huge = column.copy()
    huge[:3] = [[1e12], [-1e9], [40.0]]
    wide, scaling = fit(huge, kind="waves")
    np.testing.assert_array_equal(scaling.centre, np.sort(huge, axis=0)[100])
    # A single huge value has a part in the deviation, so that it cannot be infinitely far away.
    np.testing.assert_allclose(scaling.deviation, huge.std(0) / LARGEST_SHARE, rtol=1e-9)
    z = np.array([wide.at(scaling).standardise(row)[0] for row in huge])
    assert np.abs(z).max() == FARTHEST
    mild = huge.copy()
    mild[:3] = [[9.0], [-9.0], [40.0]]
    _, scaling = fit(mild)
    low, high = np.sort(mild, axis=0)[[32, 168]]
    np.testing.assert_allclose(scaling.deviation, (high - low) / 2.0, rtol=1e-12)


@in_float64
@pytest.mark.parametrize("value", [0.0, 3.0, -0.1, 1e12])
def test_a_constant_column_has_an_infinite_deviation_also_where_sums_are_rounded(
    value: float,
) -> None:
    columns = np.column_stack([np.full(70, value), np.random.default_rng(6).normal(size=70)])
    wide, scaling = fit(columns)
    assert np.isinf(scaling.deviation[0])
    assert np.isfinite(scaling.deviation[1])
    z = wide.at(scaling).standardise(np.array([1e9, 0.5]))
    assert float(z[0, 0]) == 0.0


@in_float64
def test_a_column_far_from_zero_is_not_constant() -> None:
    """Its mean is a million times its deviation."""
    column = np.random.default_rng(7).normal(size=(100, 1))
    wide, scaling = fit(1e6 + column)
    _, plain = fit(column)
    np.testing.assert_allclose(scaling.deviation, plain.deviation, rtol=1e-8)
    z = wide.at(scaling).standardise(np.array([1e6 + 0.5]))
    np.testing.assert_allclose(z, standardise(plain, np.array([[0.5]])), atol=1e-6)


@in_float64
@pytest.mark.parametrize("kind", ["waves", "steps"])
@pytest.mark.parametrize("unit", [1e-7, 1e7])
def test_neither_the_unit_nor_the_zero_of_a_column_matters(kind: str, unit: float) -> None:
    """Codes of categories are cut at their very values, so this also tests the rounding."""
    rng = np.random.default_rng(8)
    columns = np.column_stack(
        [rng.normal(size=90), rng.integers(0, 5, 90), rng.gamma(1.0, size=90)]
    )
    moved = unit * (columns + np.array([3.0, 7.0, -1e3]))
    (wide, scaling), (_, other) = (fit(x, kind=kind, n_features=40) for x in (columns, moved))
    alone = jax.jit(lambda scaling, x: wide.at(scaling).embed(x)[0])
    expected = np.array([alone(scaling, x) for x in columns])
    found = jax.jit(jax.vmap(lambda x: wide.at(other).embed(x)[0]))(moved)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


@in_float64
def test_far_columns_are_cut_off() -> None:
    wide = Wide(Wheel().representations[0], n_features=0)
    scaling = Scaling(np.array([1.0, 0.0]), np.array([2.0, 0.5]), np.zeros(0))
    z = np.asarray(wide.at(scaling).standardise(np.array([1e30, -1e30])))
    np.testing.assert_array_equal(z, [[FARTHEST, -FARTHEST]])
    near = np.asarray(wide.at(scaling).standardise(np.array([2.0, -0.125])))
    np.testing.assert_array_equal(near, [[0.5, -0.25]])


def test_an_unknown_kind_of_feature_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="kind must be one of waves, steps, got 'stairs'"):
        Wide(Wheel().representations[0], kind="stairs")
