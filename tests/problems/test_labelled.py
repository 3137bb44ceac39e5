"""Does a labelled table become the bandit that it describes, and is a bad table refused?"""

import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument, InvalidProblem, InvalidType, UnknownName
from banditsrl.problems.labelled import TableProblem, read_table, standardise
from banditsrl.representations.mapped import Mapped

ROWS = np.random.default_rng(0).normal(loc=5.0, scale=[0.1, 3.0, 200.0], size=(40, 3))
LABELS = np.random.default_rng(1).integers(0, 4, size=40)

SINGLE = 1e-5
"""Columns are kept in float32."""


def columns_of(problem: TableProblem) -> Any:
    return np.asarray(problem.representations[0].table)


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_columns_have_mean_zero_and_population_deviation_one() -> None:
    table = standardise(ROWS)
    assert table.dtype == np.float32
    for i in range(3):
        values = ROWS[:, i].tolist()
        mean = sum(values) / 40
        deviation = (sum((value - mean) ** 2 for value in values) / 40) ** 0.5
        np.testing.assert_allclose(table[:, i], (ROWS[:, i] - mean) / deviation, rtol=SINGLE)


def test_constant_columns_become_zero_even_where_their_deviation_rounds() -> None:
    constant = np.column_stack([np.full(40, 0.1), np.zeros(40), np.full(40, 1e300), ROWS])
    np.testing.assert_array_equal(standardise(constant)[:, :3], np.zeros((40, 3)))


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e304])
def test_the_unit_of_a_column_does_not_matter(size: float) -> None:
    np.testing.assert_allclose(standardise(ROWS * size), standardise(ROWS), atol=SINGLE)


def test_whole_numbers_are_standardised_as_their_values() -> None:
    whole = np.array([[1, 200], [2, 100], [3, 0]], dtype=np.uint8)
    np.testing.assert_array_equal(standardise(whole), standardise(whole.astype(float)))
    np.testing.assert_array_equal(standardise(whole), standardise(whole.tolist()))


def test_the_rows_own_class_pays_often_and_the_others_seldom() -> None:
    problem = TableProblem(ROWS, LABELS)
    assert (problem.n_contexts, problem.n_columns, problem.n_actions) == (40, 3, 4)
    assert (problem.name, problem.sigma) == ("table", 0.5)
    means = jax.jit(jax.vmap(problem.means, out_axes=-1))(jnp.arange(40))
    assert means.dtype == jnp.float64
    expected = [[0.9 if action == label else 0.1 for action in range(4)] for label in LABELS]
    np.testing.assert_array_equal(np.asarray(means).T, expected)
    assert problem.mask(0).tolist() == [True] * 4


def test_settings_change_the_probabilities() -> None:
    problem = TableProblem(ROWS, LABELS, p_right=1.0, p_wrong=0.0)
    np.testing.assert_array_equal(problem.means(3), np.eye(4)[LABELS[3]])


def test_classes_are_sorted_by_value() -> None:
    assert TableProblem(ROWS[:3], [10, 9, 10]).classes == ("9", "10")
    words = TableProblem(ROWS[:3], ["b", "B", "a"])
    assert words.classes == ("B", "a", "b")
    assert words.labels.tolist() == [2, 0, 1]


def test_contexts_are_uniform_and_rewards_are_bernoulli() -> None:
    problem, n = TableProblem(ROWS, LABELS), 20_000
    contexts = np.asarray(problem.contexts(jax.random.key(0), n))
    assert contexts.dtype == np.int32
    counts = np.bincount(contexts, minlength=40)
    np.testing.assert_allclose(counts, n / 40, atol=5 * np.sqrt(n / 40))
    with jax.enable_x64(True):
        paid = problem.reward(jnp.full(n, 0.9), problem.noises(jax.random.key(1), n))
    rewards = np.asarray(paid)
    assert set(rewards.tolist()) == {0.0, 1.0}
    assert rewards.mean() == pytest.approx(0.9, abs=5 * 0.3 / np.sqrt(n))


def test_rows_are_embedded_in_the_block_of_the_action() -> None:
    problem = TableProblem(ROWS, LABELS)
    phi = np.asarray(problem.representations[0].embed(7)).reshape(4, 4, 3)
    for action in range(4):
        np.testing.assert_array_equal(phi[action, action], columns_of(problem)[7])
        assert not phi[action, [a for a in range(4) if a != action]].any()


def test_the_table_is_kept_once_and_on_the_device() -> None:
    leaves = jax.tree.leaves(TableProblem(ROWS, LABELS))
    assert all(isinstance(leaf, jax.Array) for leaf in leaves)
    kept = sorted((leaf.shape, leaf.dtype.name) for leaf in leaves)
    assert kept == [((40,), "int32"), ((40, 3), "float32")]


def test_a_policy_meets_a_table() -> None:
    """Random play over four classes loses 0.8 in three rounds of four."""
    blind = Mapped(lambda _: jnp.eye(4), n_actions=4, dim=4)
    problem = TableProblem(ROWS, LABELS)
    result = banditsrl.simulate(problem, banditsrl.Uniform(blind), horizon=1000, seeds=4)
    assert result.mean[-1] / 1000 == pytest.approx(0.6, abs=5 * 0.35 / np.sqrt(4000))


CSV = "size,colour,fresh,kind\n1.0,red,true,b\n2.0,,false,a\n4.0,?,true,b\n8.0,blue,true,c\n"


def test_a_csv_file_is_read_column_by_column(tmp_path: Path) -> None:
    problem = read_table(written(tmp_path, CSV), label="kind")
    assert (problem.name, problem.classes) == ("table", ("a", "b", "c"))
    assert problem.labels.tolist() == [1, 0, 1, 2]
    codes = [[1, 2, 1], [2, 3, 0], [4, 0, 1], [8, 1, 1]]  # ? < blue < red < missing
    np.testing.assert_allclose(columns_of(problem), standardise(codes), atol=SINGLE)


def test_parquet_and_csv_give_the_same_problem(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "size": [1.0, 2.0, 4.0, 8.0],
            "colour": pl.Series(["red", None, "?", "blue"], dtype=pl.Categorical),
            "fresh": [True, False, True, True],
            "kind": ["b", "a", "b", "c"],
        }
    )
    frame.write_parquet(tmp_path / "table.parquet")
    one = read_table(written(tmp_path, CSV), label="kind")
    two = banditsrl.make_problem(tmp_path / "table.parquet", label="kind", p_right=0.8)
    np.testing.assert_array_equal(columns_of(one), columns_of(two))
    np.testing.assert_array_equal(one.labels, two.labels)
    assert two.p_right == 0.8


def test_a_file_may_have_other_separators_columns_to_drop_and_a_name(tmp_path: Path) -> None:
    path = written(tmp_path, "id;x;y\n7;1.5;0\n8;2.5;1\n", "[odd] name.csv")
    problem = banditsrl.make_problem(
        str(path), label="y", drop=["id"], separator=";", name="mine", p_wrong=0.2
    )
    assert (problem.name, problem.n_columns, problem.p_wrong) == ("mine", 1, 0.2)
    np.testing.assert_allclose(columns_of(problem)[:, 0], [-1.0, 1.0], rtol=SINGLE)


@pytest.mark.parametrize("label", ["1,2,1", "1.0,2.0,1.0", "no,yes,no", "false,true,false"])
def test_labels_may_be_whole_numbers_words_or_truth_values(label: str, tmp_path: Path) -> None:
    rows = "".join(f"{x},{y}\n" for x, y in zip([1, 2, 4], label.split(","), strict=True))
    problem = read_table(written(tmp_path, f"x,y\n{rows}"), label="y")
    assert problem.labels.tolist() == [0, 1, 0]


def test_a_column_of_numbers_and_text_is_coded_with_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path, "x,y\n10,0\n9,1\n?,1\n")
    with pytest.warns(UserWarning, match=r"column 'x' holds numbers and text \('\?' in row 3\)"):
        problem = read_table(path, label="y")
    np.testing.assert_allclose(columns_of(problem), standardise([[0], [1], [2]]), atol=SINGLE)


REFUSED = [
    ("", "must hold a header and rows, got an empty file"),
    ("x,y\n", "must hold rows, got a header only"),
    ("y\n0\n1\n", r"must hold a label and another column, got \['y'\]"),
    ("x,y\n1,0\n2,0\n", "label 'y' must hold at least two classes, got '0' only"),
    ("x,y\n1,0\n2,\n", "label 'y' must be known in every row, got a missing value in row 2"),
    ("x,y\n1,0.5\n2,1\n", "label 'y' must hold text or whole numbers, got Float64"),
    ("x,y\n1,2020-01-01\n2,2020-01-02\n", "label 'y' must hold text or whole numbers, got Date"),
    ("x,y\n1,0\n,1\n", "column 'x' must hold finite numbers, got a missing value in row 2"),
    ("x,y\n1.5,0\nNaN,1\n", "column 'x' must hold finite numbers, got nan in row 2"),
    ("x,y\n-inf,0\n1.5,1\n", "column 'x' must hold finite numbers, got -inf in row 1"),
    ("x,y\ntrue,0\n,1\n", "column 'x' must hold finite numbers, got a missing value in row 2"),
    ("x,y\n2020-01-01,0\n2020-01-02,1\n", "column 'x' must hold numbers, text or .* got Date"),
    ("x,y\n1,0\n1,2,3\n", r"table\.csv: cannot be read as CSV \("),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_doubtful_file_is_refused_in_one_sentence(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidProblem, match=message) as refused:
        read_table(written(tmp_path, text), label="y")
    assert "\n" not in str(refused.value)
    assert "table.csv" in str(refused.value)


def test_columns_of_other_types_are_refused(tmp_path: Path) -> None:
    for column in ([[1], [2]], [date(2020, 1, 1)] * 2, [b"a", b"b"]):
        pl.DataFrame({"x": column, "y": [0, 1]}).write_parquet(tmp_path / "t.parquet")
        with pytest.raises(InvalidProblem, match="column 'x' must hold numbers, text or true"):
            read_table(tmp_path / "t.parquet", label="y")


def test_a_file_that_is_not_there_or_not_a_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"nowhere\.csv: cannot be read \(there is no such"):
        read_table(tmp_path / "nowhere.csv", label="y")
    with pytest.raises(InvalidProblem, match=r"t\.parquet: cannot be read as Parquet \("):
        read_table(written(tmp_path, "x,y\n1,2\n", "t.parquet"), label="y")
    with pytest.raises(InvalidProblem, match=r"t\.txt: must end in \.csv or \.parquet"):
        read_table(tmp_path / "t.txt", label="y")


def test_an_unknown_column_gives_the_nearest_one(tmp_path: Path) -> None:
    path = written(tmp_path, CSV)
    with pytest.raises(InvalidArgument, match="label must be a column, got 'kin'; did you mean 'k"):
        read_table(path, label="kin")
    with pytest.raises(InvalidArgument, match="drop must be a column, got 'sice'; did you mean"):
        read_table(path, label="kind", drop=["sice"])
    with pytest.raises(
        InvalidArgument, match=r"got 'zzz'\. The columns are size, colour, fresh, kind"
    ):
        read_table(path, label="zzz")


def test_make_problem_knows_names_and_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="label must name the column that holds the class"):
        banditsrl.make_problem(written(tmp_path, CSV))
    with pytest.raises(InvalidArgument, match=r"settings must be empty .* JSON, got seed"):
        banditsrl.make_problem("somewhere.json", seed=1)
    with pytest.raises(InvalidProblem, match=r"somewhere\.json: cannot be read"):
        banditsrl.make_problem("somewhere.json")
    with pytest.raises(UnknownName, match="no problem named 'mushrom'; did you mean 'mushroom'"):
        banditsrl.make_problem("mushrom")


BAD = [
    ({"labels": LABELS[:5]}, InvalidArgument, r"labels must have shape \(40,\), got shape \(5,\)"),
    ({"labels": np.zeros(40)}, InvalidType, "labels must be words or whole numbers, got float64"),
    ({"labels": [3] * 40}, InvalidArgument, r"labels must hold at least two classes, got \[3\]"),
    ({"columns": [1.0]}, InvalidArgument, "columns must have shape"),
    ({"columns": [["a"]]}, InvalidType, "columns must be an array of numbers"),
    ({"columns": np.full((40, 2), np.nan)}, InvalidArgument, r"columns must be finite, got nan at"),
    ({"p_right": 1.1}, InvalidArgument, "p_right must be above p_wrong and at most 1, got 1.1"),
    ({"p_wrong": 0.9}, InvalidArgument, "p_right must be above p_wrong .* got 0.9 and 0.9"),
    ({"p_wrong": -0.1}, InvalidArgument, "p_wrong must be at least 0, got -0.1"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD)
def test_bad_arrays_and_settings_are_refused_by_name(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        TableProblem(**{"columns": ROWS, "labels": LABELS, **changes})


def test_importing_the_library_does_not_import_what_reads_tables() -> None:
    code = "import banditsrl.problems, sys; print('polars' in sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "False"
