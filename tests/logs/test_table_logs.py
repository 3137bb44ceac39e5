"""Is a table read as the log that it is, in every format, and is every wrong row named?"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from banditsrl import Log
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.live.loop_columns import read_columns
from banditsrl.logs import log as log_room
from banditsrl.logs import table_logs
from banditsrl.logs.column_coding import encode_column
from banditsrl.problems.stream_columns import Column, encode_rows

ROWS: list[dict[str, Any]] = [
    {
        "age": 31.5,
        "city": "rome",
        "member": True,
        "action": "red",
        "reward": 1.0,
        "propensity": 0.5,
    },
    {"age": 40, "city": "oslo", "member": False, "action": "blue", "reward": 0, "propensity": 0.25},
    {"age": None, "city": None, "member": True, "action": "red", "reward": 0.5, "propensity": 1.0},
    {
        "age": 7,
        "city": "rome",
        "member": False,
        "action": "green",
        "reward": -2.5,
        "propensity": None,
    },
]
CONTEXTS = [
    [31.5, 0.0, 0.0, 1.0, 0.0, 1.0],
    [40.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0, 1.0, 1.0],
    [7.0, 0.0, 0.0, 1.0, 0.0, 0.0],
]
COLUMNS = ("age", "age is missing", "city=oslo", "city=rome", "city is missing", "member")
FORMATS = ("csv", "jsonl", "parquet")


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the format of the ending; the writers of the package are not used."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    if path.suffix == ".parquet":
        columns = {name: [row.get(name) for row in rows] for name in names}
        pl.DataFrame(columns, strict=False).write_parquet(path, row_group_size=2)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        lines = [",".join(names), *(",".join(to_field(row.get(n)) for n in names) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


def to_field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | dict):
        return '"' + json.dumps(value).replace('"', '""') + '"'
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.fixture(params=FORMATS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"rounds.{request.param}"


def test_a_table_is_read_by_its_columns(path: Path) -> None:
    log = Log.read(write_rows(path, ROWS))
    rounds = log.collect()
    assert log.name == str(path)
    assert log.schema.actions == ("blue", "green", "red")
    assert log.schema.columns == COLUMNS
    assert rounds.rows.tolist() == [1, 2, 3, 4]
    assert rounds.contexts.tolist() == CONTEXTS
    assert rounds.actions.tolist() == [2, 0, 2, 1]
    assert rounds.rewards.tolist() == [1.0, 0.0, 0.5, -2.5]
    assert rounds.propensities[:3].tolist() == [0.5, 0.25, 1.0]
    assert np.isnan(rounds.propensities[3])
    assert rounds.pmf is None
    assert rounds.available is None


def test_declared_columns_are_coded_like_those_of_a_stream(path: Path) -> None:
    declared = {
        "city": {"category": ["rome", "lima"]},
        "age": {"number": {"default": 20}},
        "member": "flag",
    }
    log = Log.read(write_rows(path, ROWS), columns=declared, actions=["red", "green", "blue"])
    columns = [
        Column("city", "category", values=("rome", "lima")),
        Column("age", "number", default=20),
        Column("member", "flag"),
    ]
    names = ("city", "age", "member")
    expected = encode_rows(columns, [{name: row[name] for name in names} for row in ROWS])
    assert log.collect().contexts.tolist() == expected.tolist()
    assert log.collect().actions.tolist() == [0, 2, 0, 1]
    assert log.schema.columns == tuple(name for column in columns for name in column.vector_names)


def test_columns_can_be_chosen_by_name(path: Path) -> None:
    log = Log.read(write_rows(path, ROWS), columns=["member", "age"])
    assert log.schema.columns == ("member", "age", "age is missing")


def test_columns_may_have_other_names(path: Path) -> None:
    rows = [
        {"x": 1.5, "arm": 1, "score": 0.5, "p": 0.5},
        {"x": 2.0, "arm": 0, "score": 1, "p": 0.1},
    ]
    log = Log.read(write_rows(path, rows), action="arm", reward="score", propensity="p")
    rounds = log.collect()
    assert log.schema == log_room.LogSchema(("0", "1"), ("x",))
    assert (rounds.actions.tolist(), rounds.propensities.tolist()) == ([1, 0], [0.5, 0.1])


def test_integers_are_indices_of_actions_with_names(path: Path) -> None:
    rows = [{"x": 0.0, "action": k, "reward": 0.0} for k in (2, 0, 1)]
    log = Log.read(write_rows(path, rows), actions=["red", "green", "blue"])
    assert log.collect().actions.tolist() == [2, 0, 1]


def test_integer_actions_are_sorted_by_size(path: Path) -> None:
    rows = [{"x": 0.0, "action": k, "reward": 0.0} for k in (10, 9, 100)]
    assert Log.read(write_rows(path, rows)).schema.actions == ("9", "10", "100")


@pytest.mark.parametrize("form", ["object", "list", "columns"])
def test_a_law_may_be_an_object_a_list_or_columns(path: Path, form: str) -> None:
    laws = [{"a": 0.25, "b": 0.75, "c": 0.0}, {"a": 0.5, "b": 0.0, "c": 0.5}]
    rows: list[dict[str, Any]] = [{"x": 1.0, "action": k, "reward": 1.0} for k in "ba"]
    for row, law in zip(rows, laws, strict=True):
        whole = law if form == "object" else list(law.values())
        row.update({f"pmf_{k}": p for k, p in law.items()} if form == "columns" else {"pmf": whole})
    actions = ["a", "b", "c"] if form == "list" else None
    log = Log.read(write_rows(path, rows), actions=actions)
    rounds = log.collect()
    assert log.schema == log_room.LogSchema(("a", "b", "c"), ("x",))
    assert rounds.pmf is not None
    assert rounds.pmf.tolist() == [list(law.values()) for law in laws]
    assert rounds.propensities.tolist() == [0.75, 0.5]


def test_available_actions_and_flags_are_read(path: Path) -> None:
    rows = [
        {"x": 1, "action": "a", "reward": 1, "available": ["a", "b"], "certified": True},
        {"x": 2, "action": "c", "reward": 1, "available": None, "certified": False},
    ]
    for row in rows:
        row["audited"] = False
    rounds = Log.read(write_rows(path, rows)).collect()
    assert rounds.available is not None
    assert rounds.available.tolist() == [[True, True, False], [True, True, True]]
    assert rounds.certified is not None
    assert rounds.certified.tolist() == [True, False]
    assert rounds.audited is not None
    assert not rounds.audited.any()


DEFECTS: list[tuple[dict[str, Any], str]] = [
    ({"propensity": 0.0}, "propensity must be above 0 and at most 1, got 0."),
    ({"propensity": -0.5}, "propensity must be above 0 and at most 1, got -0.5."),
    ({"propensity": 1.25}, "propensity must be above 0 and at most 1, got 1.25."),
    ({"propensity": float("nan")}, "propensity must be above 0 and at most 1, got nan."),
    ({"action": "purple"}, "action must be one of blue, green, red, got 'purple'."),
    ({"action": None}, "action must be one of blue, green, red, got none."),
    ({"reward": None}, "reward must be a number, got none."),
    ({"reward": float("inf")}, "reward must be finite, got inf."),
    ({"age": float("inf")}, "age must be finite, got inf."),
]


@pytest.mark.parametrize(("change", "sentence"), DEFECTS)
def test_a_wrong_row_is_named_or_skipped(path: Path, change: dict[str, Any], sentence: str) -> None:
    write_rows(path, [*ROWS[:2], {**ROWS[2], **change}, ROWS[3]])
    known = {"actions": ["blue", "green", "red"]}
    with pytest.raises(InvalidArgument) as caught:
        Log.read(path, **known).collect()
    assert str(caught.value) == f"{path}: row 3: {sentence}"
    log = Log.read(path, skip_bad=True, **known)
    for _ in range(2):  # each pass counts again
        assert log.collect().rows.tolist() == [1, 2, 4]
        assert log.skipped.count == 1
        assert log.skipped.first == f"{path}: row 3: {sentence}"


@pytest.mark.parametrize(
    ("laws", "sentence"),
    [
        ((0.5, 0.4), "pmf must sum to 1, got 0.9."),
        ((1.5, -0.5), "pmf must hold probabilities, got 1.5."),
        ((0.2, 0.8), "propensity must agree with the pmf, got 0.5 and 0.2 for 'a'."),
    ],
)
def test_a_law_that_cannot_be_is_named(path: Path, laws: Any, sentence: str) -> None:
    good = {"x": 1.0, "action": "a", "reward": 1.0, "propensity": 0.5, "pmf_a": 0.5, "pmf_b": 0.5}
    bad = {**good, "pmf_a": laws[0], "pmf_b": laws[1]}
    with pytest.raises(InvalidArgument, match="row 2: ") as caught:
        Log.read(write_rows(path, [good, bad])).collect()
    assert str(caught.value) == f"{path}: row 2: {sentence}"


@pytest.mark.parametrize(
    ("ending", "line", "sentence"),
    [
        ("jsonl", '{"age": 3, "ci', "a line must be a JSON object, got text that is not JSON"),
        ("jsonl", "[1, 2]", "a line must be a JSON object, got list."),
        ("csv", "31.5,rome,true", "a line must have 6 fields, got 3."),
        ("csv", '31.5,"rome,true,red,1,0.5', "a line must be comma-separated text, got a line"),
    ],
)
def test_a_broken_line_is_named_or_skipped(
    tmp_path: Path, ending: str, line: str, sentence: str
) -> None:
    path = write_rows(tmp_path / f"rounds.{ending}", ROWS)
    lines = path.read_text().splitlines()
    at = 2 if ending == "jsonl" else 3  # behind two rounds
    path.write_text("\n".join([*lines[:at], line, *lines[at:]]) + "\n")
    with pytest.raises(InvalidArgument, match="row 3: ") as caught:
        Log.read(path).collect()
    assert str(caught.value).startswith(f"{path}: row 3: {sentence}")
    log = Log.read(path, skip_bad=True)
    assert log.collect().contexts.tolist() == CONTEXTS
    assert log.collect().rows.tolist() == [1, 2, 4, 5]
    assert log.skipped.count == 1


def test_a_line_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rounds.csv", ROWS)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], b"\xff\xfe,rome,true,red,1,0.5", *lines[2:]]))
    with pytest.raises(InvalidArgument, match=r"row 2: .*it is not UTF-8"):
        Log.read(path).collect()


def test_a_wrong_value_in_a_declared_column_is_named(path: Path) -> None:
    rows = [{**row, "city": f"{k}"} for k, row in enumerate(ROWS)]
    rows[2]["city"] = "lots"
    if path.suffix == ".csv":
        says = "city must be a number, got 'lots'."
    else:
        says = "city must be a number, got '0'."
    with pytest.raises(InvalidArgument, match="row"):
        Log.read(write_rows(path, rows), columns={"city": "number"}).collect()
    with pytest.raises(InvalidArgument) as caught:
        Log.read(path, columns={"city": "number"}).collect()
    assert str(caught.value).endswith(says)


@pytest.mark.parametrize("name", ["action", "reward", "propensity", "columns"])
def test_a_column_that_is_not_there_is_refused(path: Path, name: str) -> None:
    write_rows(path, ROWS)
    named: Any = {"columns": ["agee"]} if name == "columns" else {name: f"{name}e"}
    wrong = "agee" if name == "columns" else f"{name}e"
    near = "age" if name == "columns" else name
    with pytest.raises(InvalidArgument) as caught:
        Log.read(path, **named).collect()
    assert str(caught.value) == (
        f"{path}: There is no column named {wrong!r}; did you mean {near!r}?"
    )


def test_a_column_of_many_texts_must_be_declared(path: Path) -> None:
    rows = [{"user": f"u{k}", "action": k % 2, "reward": 1.0} for k in range(101)]
    write_rows(path, rows)
    with pytest.raises(InvalidArgument, match="at most 100 different texts, got more; declare"):
        Log.read(path).collect()
    assert len(Log.read(path, columns={"user": "category"}).schema.columns) == 102


def test_a_column_of_several_kinds_is_refused(tmp_path: Path) -> None:
    rows = [{"x": k, "action": "a", "reward": 1.0} for k in range(150)]
    rows[120]["x"] = "many"
    for ending in ("csv", "jsonl"):
        path = write_rows(tmp_path / f"mixed.{ending}", rows)
        with pytest.raises(InvalidArgument, match="row 121: x must hold numbers, flags or texts"):
            Log.read(path).collect()
        log = Log.read(path, columns={"x": "number"}, skip_bad=True)
        assert len(log.collect().rows) == 149
        assert log.skipped.first == f"{path}: row 121: x must be a number, got 'many'."
    rows[120]["x"] = [1, 2]
    with pytest.raises(InvalidArgument, match=r"row 121: x must hold .* got \[1, 2\] \(list\)"):
        Log.read(write_rows(tmp_path / "nested.jsonl", rows)).collect()


def test_columns_are_coded_at_once_as_they_are_one_by_one() -> None:
    rng = np.random.default_rng(0)
    declared = {
        "plain": "number",
        "filled": {"number": {"default": 2.5}},
        "flag": "flag",
        "yes": {"flag": {"default": True}},
        "word": {"category": ["a", "b", "c"]},
        "mixed": {"category": ["a", 1, 2.5]},
    }
    choices: dict[str, list[Any]] = {
        "plain": [1, 2.5, None, float("nan"), -3],
        "filled": [1, 2.5, None, float("nan"), -3],
        "flag": [True, False, None],
        "yes": [True, False, None, 1, 0],
        "word": ["a", "b", "c", "d", None],
        "mixed": ["a", 1, 2.5, True, 3, None, "b", float("nan")],
    }
    for column in read_columns("columns", declared):
        options = choices[column.name]
        values = [options[k] for k in rng.integers(0, len(options), size=200)]
        broken: dict[int, str] = {}
        coded = encode_column(column, values, broken)
        expected = encode_rows([column.column], [{column.name: value} for value in values])
        np.testing.assert_array_equal(coded, expected)
        assert broken == {}


def test_a_clipped_number_is_coded_like_in_a_loop() -> None:
    (column,) = read_columns("columns", {"visits": {"number": {"clip": [0, 10]}}})
    values = [5, -1.0, 1e300, float("inf"), None, float("nan"), 10**400]
    coded = encode_column(column, values, {})
    assert coded.tolist() == [column.encode(value) for value in values]


def test_a_long_table_is_read_in_batches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"x": float(k), "action": "ab"[k % 2], "reward": 1.0} for k in range(50)]
    monkeypatch.setattr(table_logs, "SLICE_ROWS", 14)
    for room in ("table_logs", "line_blocks"):
        monkeypatch.setattr(f"banditsrl.logs.{room}.BATCH_ROWS", 7)
    log = Log.read(write_rows(path, rows))
    batches = list(log.batches())
    assert max(len(batch.rows) for batch in batches) <= 7
    rounds = log.collect()
    assert rounds.contexts[:, 0].tolist() == [float(k) for k in range(50)]
    assert rounds.rows.tolist() == list(range(1, 51))


def test_a_bar_is_drawn_on_stderr_only_if_asked(
    path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    log = Log.read(write_rows(path, ROWS))
    assert len(list(log.batches())) == 1
    assert capfd.readouterr() == ("", "")
    assert len(list(log.batches(progress=True))) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert "4/4" in err


def test_files_that_are_no_logs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"none\.csv: cannot be read \(No such file"):
        Log.read(tmp_path / "none.csv").collect()
    odd = tmp_path / "odd.parquet"
    odd.write_text("this is not Parquet, whatever its name says")
    with pytest.raises(InvalidArgument, match="cannot be read as Parquet"):
        Log.read(odd).collect()
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(InvalidArgument, match="must have one or more rows, got none"):
        Log.read(empty).collect()
    twice = tmp_path / "twice.csv"
    twice.write_text("x,x,action,reward\n1,2,a,1\n")
    with pytest.raises(InvalidArgument, match="the first line must hold different names"):
        Log.read(twice).collect()
    text = tmp_path / "text.log"
    text.write_text("hello\n")
    with pytest.raises(InvalidArgument, match=r"its format must be one of .*; give format="):
        Log.read(text)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rounds.csv", ROWS)
    with pytest.raises(InvalidArgument, match="format must be one of parquet, csv"):
        Log.read(path, format="xml")
    with pytest.raises(
        InvalidType, match="columns must be a list of names or a mapping, got 'age'"
    ):
        Log.read(path, columns="age")
    with pytest.raises(InvalidArgument, match="actions must be one or more different names"):
        Log.read(path, actions=["a", "a"])
