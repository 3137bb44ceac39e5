"""Named columns become the vector that their kinds say; what does not fit is refused."""

from typing import Any

import numpy as np
import pytest

import banditsrl
from banditsrl import Column, Stream
from banditsrl.errors import InvalidArgument, InvalidType, UnknownName

COLUMNS = [
    Column("age", "number"),
    Column("income", "number", default=20.0),
    Column("city", "category", values=("rome", "oslo", 7)),
    Column("member", "flag"),
]
STREAM = Stream(columns=COLUMNS, n_actions=3)


def slow_vector(row: dict[str, Any]) -> list[float]:
    """The vector, written out by name."""
    found = dict.fromkeys(STREAM.vector_names, 0.0)
    for name in ("age", "member", "city"):
        value = row.get(name)
        if value is None or value != value:  # noqa: PLR0124 - NaN
            found[f"{name} is missing"] = 1.0
        elif name != "city":
            found[name] = float(value)
        elif f"city={value}" in found:
            found[f"city={value}"] = 1.0
    income = row.get("income")
    found["income"] = 20.0 if income is None or income != income else float(income)  # noqa: PLR0124
    return list(found.values())


ROWS: list[dict[str, Any]] = [
    {"age": 31, "income": 5.5, "city": "oslo", "member": True},
    {"age": None, "income": float("nan"), "city": None, "member": None},
    {},
    {"age": np.float32(2.5), "city": "lima", "member": 0},
    {"member": np.bool_(True), "city": 7, "age": np.int64(-4)},
]


@pytest.mark.parametrize("row", ROWS)
def test_a_row_becomes_the_vector_of_its_kinds(row: dict[str, Any]) -> None:
    vector = STREAM.encode(row)
    assert vector.dtype == np.float64
    assert vector.tolist() == slow_vector(row)


def test_many_rows_become_many_vectors_in_either_form() -> None:
    expected = [slow_vector(row) for row in ROWS]
    assert STREAM.encode(ROWS).tolist() == expected
    names = ("age", "income", "city", "member")
    lists = {name: [row.get(name) for row in ROWS] for name in names}
    assert STREAM.encode(lists).tolist() == expected
    ages = np.array([1.0, np.nan])
    assert STREAM.encode({"age": ages})[:, :2].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert STREAM.encode([]).shape == STREAM.encode({"age": []}).shape == (0, 9)


def test_the_vector_has_names_and_the_stream_its_length() -> None:
    assert STREAM.vector_names == (
        "age", "age is missing", "income", "city=rome", "city=oslo", "city=7", "city is missing",
        "member", "member is missing",
    )  # fmt: skip
    assert STREAM.representations[0].n_columns == 9
    assert STREAM.n_actions == 3


def test_an_agent_takes_encoded_rows() -> None:
    agent = banditsrl.Agent(banditsrl.make_policy("linucb-disjoint", STREAM))
    for row in ROWS:
        context = STREAM.encode(row)
        agent.learn(context, agent.act(context), reward=1.0)
    assert agent.n_rounds == len(ROWS)
    policy = banditsrl.make_policy("linucb-disjoint", STREAM)
    log: dict[str, Any] = {
        "contexts": STREAM.encode(ROWS),
        "actions": [0, 1, 2, 0, 1],
        "rewards": [0.0] * 5,
    }
    assert banditsrl.Agent.from_log(policy, **log).n_rounds == 5


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ({"agee": 3}, UnknownName, "no column named 'agee'; did you mean 'age'"),
        ({"age": "old"}, InvalidType, "age must be a real number, got 'old'"),
        ({"age": float("inf")}, InvalidArgument, "age must be finite, got inf"),
        ({"member": 2}, InvalidType, "member must be True or False, got 2"),
        ({"age": [1, 2], "city": ["rome"]}, InvalidArgument, "must hold lists of one length"),
        ({"age": [1, 2], "city": "rome"}, InvalidArgument, "must hold lists of one length"),
        ([1.0, 2.0], InvalidType, "rows must be a mapping of names to values, or a list"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        STREAM.encode(rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", "word"), "kind must be one of number, category, flag, got 'word'"),
        (("x", "category"), "values of x must be one or more different values"),
        (("x", "category", ("a", "a")), "values of x must be one or more different values"),
        (("x", "number", ("a",)), "values must be given for a category only, got number"),
        (("x", "category", ("a",), 0.0), "default must be None for a category, got 0.0"),
    ],
)
def test_columns_that_make_no_sense_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Column(*arguments)


def test_streams_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="one of n_columns and columns must be given, got No"):
        Stream(n_actions=2)
    with pytest.raises(InvalidArgument, match="one of n_columns and columns must be given, got 3"):
        Stream(3, 2, columns=COLUMNS)
    with pytest.raises(InvalidArgument, match="must have one or more different names, got"):
        Stream(columns=[COLUMNS[0], COLUMNS[0]], n_actions=2)
    with pytest.raises(InvalidType, match="columns must be a sequence of Column, got 'age'"):
        Stream(columns=["age"], n_actions=2)  # type: ignore[list-item]
    with pytest.raises(InvalidType, match="n_actions must be an integer, got None"):
        Stream(3)
    with pytest.raises(InvalidArgument, match="encode needs named columns"):
        Stream(3, 2).encode({"age": 3})
