"""Is each row that cannot be used named in one sentence, or skipped and counted?"""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import banditsrl
from banditsrl import Log
from banditsrl.errors import BanditSRLError, InvalidArgument

N = 6
BROKEN = 4
"""The row that is broken, of N rows."""

ROUNDS: list[dict[str, Any]] = [
    {
        "age": 30.0 + i,
        "city": ["rome", "oslo"][i % 2],
        "action": ["red", "green", "blue"][i % 3],
        "reward": float(i % 2),
        "propensity": 0.5,
    }
    for i in range(N)
]


def check(path: Path, says: str, **settings: Any) -> None:
    """Check that a log is refused with the row, and that skipping leaves all other rows."""
    with pytest.raises(BanditSRLError) as caught:
        Log.read(path, **settings).collect()
    message = str(caught.value)
    assert message.startswith(f"{path}: row {BROKEN}: ")
    assert says in message
    assert "\n" not in message
    log = Log.read(path, skip_bad=True, **settings)
    assert BROKEN not in log.collect().rows
    assert len(log.collect().rows) == N - 1
    assert (log.skipped.count, log.skipped.first.startswith(f"{path}: row {BROKEN}: ")) == (1, True)


def write_lines(path: Path, lines: list[str], broken: str) -> Path:
    path.write_text("\n".join([*lines[: BROKEN - 1], broken, *lines[BROKEN:]]) + "\n")
    return path


def change(**values: Any) -> list[dict[str, Any]]:
    return [row if at != BROKEN - 1 else {**row, **values} for at, row in enumerate(ROUNDS)]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"age": "old"}, "got 'old'"),
        ({"age": [1, 2]}, "got [1, 2]"),
        ({"city": {"a": 1}}, "got {'a': 1}"),
        ({"available": [["red"]]}, "available must list known actions, got [['red']]."),
        ({"audited": [1]}, "audited must be true or false, got [1]."),
        ({"certified": {"a": 1}}, "certified must be true or false, got {'a': 1}."),
        ({"reward": "1_0"}, "reward must be a number, got '1_0'."),
    ],
)
def test_an_odd_value_in_json_lines(tmp_path: Path, values: dict[str, Any], says: str) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in change(**values)))
    check(path, says)


@pytest.mark.parametrize("ending", ["jsonl", "dsjson"])
@pytest.mark.parametrize("opening", ["[", '{"c":'])
def test_a_line_that_is_nested_too_deeply(tmp_path: Path, ending: str, opening: str) -> None:
    event = {"_label_cost": -1, "_label_probability": 0.5, "_label_Action": 1, "a": [1, 2]}
    events = [{**event, "c": {"age": i}} for i in range(N)]
    rows = ROUNDS if ending == "jsonl" else events
    path = tmp_path / f"rounds.{ending}"
    check(
        write_lines(path, [json.dumps(row) for row in rows], opening * 100_000),
        "a line must be a JSON object, got one that is nested too deeply.",
    )


@pytest.mark.parametrize("line", ["33,old,red,1,0.5", "33,7,red,1,0.5"])
def test_a_column_of_csv_is_of_the_kind_of_most_rows_if_others_are_skipped(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "rounds.csv"
    is_text = "old" in line
    lines = [f"{i},{i if is_text else 'true'},red,1,0.5" for i in range(N)]
    write_lines(path, lines, line)
    path.write_text("age,thing,action,reward,propensity\n" + path.read_text())
    check(path, "thing must", actions=["red", "blue"])


def test_a_line_without_a_label_does_not_turn_other_lines_of_vw_into_a_group(
    tmp_path: Path,
) -> None:
    lines = [f"{i % 2 + 1}:-1:0.5 | age:{i}" for i in range(N)]
    path = write_lines(tmp_path / "rounds.vw", lines, "| age:3")
    check(path, "a line must have one label ACTION:COST:PROBABILITY, got 0.")


def test_a_bad_row_of_an_open_bandit_file_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "rounds.npz"
    rewards = np.ones(N)
    rewards[BROKEN - 1] = np.nan
    np.savez(
        path, n_rounds=N, n_actions=2, context=np.zeros((N, 1)), action=np.arange(N) % 2,
        reward=rewards, pscore=np.full(N, 0.5),
    )  # fmt: skip
    check(path, "reward must be a number, got none.")


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("n_rounds", "x", "n_rounds must be an integer, got 'x'"),
        ("n_rounds", None, "n_rounds must be an integer, got None"),
        ("n_actions", float("inf"), "n_actions must be an integer, got inf"),
        ("n_actions", 2.5, "n_actions must be an integer, got 2.5"),
        ("context", [[1.0, 2.0], [1.0]], "context must have rows of one length"),
        ("pi_b", "x", "pi_b must be an array of numbers, got str"),
    ],
)
def test_a_feedback_of_another_form_is_refused(key: str, value: Any, says: str) -> None:
    feedback = {
        "n_rounds": 2, "n_actions": 2, "context": np.zeros((2, 1)), "action": np.array([0, 1]),
        "reward": np.ones(2), "pscore": np.full(2, 0.5),
    }  # fmt: skip
    with pytest.raises(BanditSRLError, match=says):
        Log.from_obp({**feedback, key: value})


@pytest.fixture
def loop_files(tmp_path: Path) -> tuple[Path, Path]:
    """Return a store and what it exports."""
    store, exported = tmp_path / "offers.db", tmp_path / "offers.jsonl"
    config = {
        "name": "offers", "actions": ["red", "green"], "columns": {"age": "number"},
        "policy": "egreedy",
    }  # fmt: skip
    with banditsrl.Loop.create(str(store), config, warm_up=False) as loop:
        for i in range(N):
            loop.reward(loop.decide({"age": 0.1 * i}).id, float(i % 2))
        loop.flush()
        loop.export(str(exported))
    return store, exported


def test_an_odd_value_in_an_exported_file(loop_files: tuple[Path, Path]) -> None:
    _, path = loop_files
    lines = path.read_text().splitlines()
    row = json.loads(lines[BROKEN - 1])
    for name in ("context", "pmf", "certificate", "available"):
        for value in ("x", 3, "{bad"):
            write_lines(path, lines, json.dumps({**row, name: value}))
            check(path, f"{name} must be ")
    for line, says in (("{}", "status must be a text, got none."), ('{"id"', "not JSON")):
        check(write_lines(path, lines, line), says)


@pytest.mark.parametrize(
    ("assignment", "says"),
    [
        ("value = 'x'", "reward must be a number, got 'x'."),
        ("law = x'00'", "law must have 2 numbers of 8 bytes, got 1 bytes."),
        ("features = x'0000000000000000'", "features must have 24 bytes, got 8."),
        ("available = 'zzz'", "available must be an object of slots, got 'zzz'."),
        ("available = '{\"red\": 99}'", "available must hold slots below 2"),
        ("context = NULL", "a round must have a context, got one that was erased."),
    ],
)
def test_a_damaged_row_of_a_store(
    loop_files: tuple[Path, Path], assignment: str, says: str
) -> None:
    store, _ = loop_files
    connection = sqlite3.connect(store)
    positions = "SELECT position FROM decisions ORDER BY position"
    row = connection.execute(positions).fetchall()[BROKEN - 1][0]
    connection.execute(f"UPDATE decisions SET {assignment} WHERE position = {row}")  # noqa: S608
    connection.commit()
    connection.close()
    with pytest.raises(InvalidArgument) as caught:
        Log.read(store).collect()
    assert f"row {row}: {says.removesuffix('.')}" in str(caught.value)
    log = Log.read(store, skip_bad=True)
    assert (len(log.collect().rows), log.skipped.count) == (N - 1, 1)


def _with_dates(path: Path) -> None:
    frame = pl.DataFrame(ROUNDS).with_columns(action=pl.date(2020, 1, 1))
    frame.write_parquet(path)


@pytest.mark.parametrize(
    ("name", "write", "says"),
    [
        ("a.jsonl", lambda p: p.write_text(json.dumps(ROUNDS)), "row 1: a line must be a JSON obj"),
        ("a.csv", lambda p: p.write_text("age,action,reward\n1,a,1\n", "utf-16"), "not UTF-8"),
        ("a.parquet", _with_dates, "row 1: action must be a name or an integer, got datetime"),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_reason(
    tmp_path: Path, name: str, write: Callable[[Path], Any], says: str
) -> None:
    write(tmp_path / name)
    with pytest.raises(InvalidArgument, match=says):
        Log.read(tmp_path / name).collect()


def test_empty_lines_may_come_before_the_header_of_csv(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\n\nage,action,reward\n1,a,1\n")
    assert Log.read(tmp_path / "a.csv").collect().rewards.tolist() == [1.0]


def test_codes_with_underscores_are_texts(tmp_path: Path) -> None:
    """Python reads 12_3 as a number, but nobody means 123 by it."""
    file = tmp_path / "log.csv"
    rows = [f"{'12_3' if i % 2 else '45_6'},{'ab'[i % 2]},{i % 2},0.5" for i in range(20)]
    file.write_text("\n".join(["code,action,reward,propensity", *rows]) + "\n")
    assert Log.read(file).schema.columns == ("code=12_3", "code=45_6", "code is missing")
