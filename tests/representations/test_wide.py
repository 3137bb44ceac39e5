"""Is the wide embedding its formula, and where do its columns come from?"""

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.problems import TableProblem, Wheel
from banditsrl.representations.mapped import Mapped
from banditsrl.representations.wide import MOST_PLAIN, Scaling, Wide


def by_formula(wide: Wide, scaling: Scaling, x: np.ndarray) -> np.ndarray:
    z = (x - np.asarray(scaling.mean)) / np.asarray(scaling.deviation)
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
    for k in range(30):
        values = np.sort(columns[:, which[k]])
        cut, wanted = float(scaling.cuts[k]), values[int(levels[k] * 80)]
        if which[k] == 0:
            assert cut == wanted
        elif which[k] == 1:
            assert cut == 1.0  # a column of two values has one place for a step
        else:
            assert cut == np.inf
    np.testing.assert_allclose(scaling.mean, columns.mean(0))
    np.testing.assert_allclose(scaling.deviation[:2], columns.std(0)[:2])
    assert np.isinf(scaling.deviation[2])


@in_float64
def test_a_step_counts_what_reaches_its_cut() -> None:
    wide = Wide(Wheel().representations[0], kind="steps", n_features=4)
    cuts = np.array([-0.5, 0.3, 0.31, 0.9])
    scaling = Scaling(np.zeros(2), np.ones(2), cuts)
    x = np.array([0.3, -0.5])
    psi = np.asarray(wide.at(scaling).embed(x))
    assert psi.shape == (5, 1 + 2 + 4)
    expected = np.where(x[np.asarray(wide.which)] >= cuts, 0.5, 0.0)
    np.testing.assert_allclose(psi, np.tile([1.0, *(x / np.sqrt(2)), *expected], (5, 1)))


@in_float64
def test_before_anything_is_seen_columns_are_taken_as_they_are() -> None:
    wide = Wide(Wheel().representations[0], n_features=6)
    scaling = wide.init(jax.random.key(0))
    np.testing.assert_array_equal(scaling.mean, np.zeros(2))
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


def test_an_unknown_kind_of_feature_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="kind must be one of waves, steps, got 'stairs'"):
        Wide(Wheel().representations[0], kind="stairs")
