"""Does a log survive being written and read again, in every format?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from banditsrl import Log
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.logs.log import LogBatch, SkippedRows

ENDINGS = ("parquet", "csv", "jsonl", "dsjson", "vw", "npz")
ACTIONS = ("red", "green", "blue")


def make_log(n: int = 40, **change: Any) -> Log:
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(3), size=n)
    actions = np.asarray([rng.choice(3, p=law) for law in laws])
    known: dict[str, Any] = {
        "contexts": rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-8, 8, size=(n, 2)),
        "actions": actions,
        "rewards": rng.normal(size=n),
        "pmf": laws,
        "action_names": ACTIONS,
        "columns": ["age", "city=rome"],
    }
    return Log.from_arrays(**{**known, **change})


def assert_same(found: LogBatch, expected: LogBatch) -> None:
    for name, one, other in zip(LogBatch._fields, found, expected, strict=True):
        if other is None:
            assert one is None, name
        else:
            np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_log_is_read_as_it_was_written(tmp_path: Path, ending: str) -> None:
    log, path = make_log(), tmp_path / f"rounds.{ending}"
    assert log.write(path) == 40
    named = None if ending == "npz" else ACTIONS
    again = Log.read(path, actions=named)
    expected = log.collect()
    if ending == "vw":  # it has no place for a law
        expected = expected._replace(pmf=None)
    assert_same(again.collect(), expected)
    if ending != "npz":  # it has no place for names
        assert again.schema == log.schema


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "dsjson", "vw"])
def test_available_actions_survive(tmp_path: Path, ending: str) -> None:
    masks = np.ones((40, 3), dtype=bool)
    masks[::3, 2] = False
    laws = np.where(masks, 1.0, 0.0) / masks.sum(axis=1, keepdims=True)
    log = make_log(available=masks, pmf=laws, actions=np.arange(40) % 2)
    log.write(tmp_path / f"rounds.{ending}")
    expected = log.collect()
    if ending == "vw":
        expected = expected._replace(pmf=None)
    assert_same(Log.read(tmp_path / f"rounds.{ending}", actions=ACTIONS).collect(), expected)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_flags_and_unknown_propensities_survive(tmp_path: Path, ending: str) -> None:
    rng = np.random.default_rng(1)
    log = make_log(
        certified=rng.random(40) < 0.5,
        audited=rng.random(40) < 0.5,
        pmf=None,
        propensities=np.where(rng.random(40) < 0.5, np.nan, 0.5),
    )
    log.write(tmp_path / f"rounds.{ending}")
    found = Log.read(tmp_path / f"rounds.{ending}", actions=ACTIONS).collect()
    assert_same(found, log.collect())


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_written_if_something_is_wrong(tmp_path: Path, ending: str) -> None:
    (tmp_path / "bad.csv").write_text("x,action,reward,propensity\n1,a,1,0.5\n2,b,1,0\n")
    path = tmp_path / "out" / f"rounds.{ending}"
    path.parent.mkdir()
    path.write_text("as it was")
    with pytest.raises(InvalidArgument, match="row 2: propensity must be above 0"):
        Log.read(tmp_path / "bad.csv").write(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_text() == "as it was"


@pytest.mark.parametrize("ending", ["csv", "jsonl", "dsjson", "vw", "npz"])
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path: Path, ending: str) -> None:
    path, rng = tmp_path / f"rounds.{ending}", np.random.default_rng(0)
    make_log(8).write(path)
    content, pieces = path.read_bytes(), [b'"', b"\n", b"[]", b"null", b"NaN", b"|", b",", b"\xff"]
    refusals = []
    for _ in range(60):
        at = int(rng.integers(len(content)))
        gap = at + int(rng.integers(20))
        path.write_bytes(content[:at] + pieces[rng.integers(len(pieces))] + content[gap:])
        try:
            Log.read(path).collect()
        except InvalidArgument as error:
            refusals.append(str(error))
    assert len(refusals) > 20
    assert all(says.startswith(f"{path}: ") and "\n" not in says for says in refusals)


class ManyBatches:
    """A log whose batches are small, and of which only some have a mask."""

    def __init__(self, log: Log) -> None:
        self.name, self.schema, self._rounds = "parts", log.schema, log.collect()

    def batches(self, skipped: SkippedRows) -> Iterator[LogBatch]:
        for first in range(0, len(self._rounds.rows), 7):
            parts: list[Any] = [None if p is None else p[first : first + 7] for p in self._rounds]
            batch = LogBatch(*parts)
            mask = np.ones((len(batch.rows), 3), dtype=bool)
            yield batch._replace(available=mask if first % 2 else None)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "dsjson", "npz"])
def test_a_log_is_written_batch_by_batch(tmp_path: Path, ending: str) -> None:
    log = Log(ManyBatches(make_log()))
    assert log.write(tmp_path / f"rounds.{ending}") == 40
    named = None if ending == "npz" else ACTIONS
    found = Log.read(tmp_path / f"rounds.{ending}", actions=named).collect()
    assert_same(found, make_log().collect())
    together = log.collect().available
    assert together is not None
    assert together.shape == (40, 3)


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    unknown = make_log(pmf=None)
    with pytest.raises(
        InvalidArgument, match="row 1: propensity must be known for VW text, got none"
    ):
        unknown.write(tmp_path / "rounds.vw")
    masks = np.ones((40, 3), dtype=bool)
    masks[4, 2] = False
    some = make_log(available=masks, pmf=None, actions=np.zeros(40, int))
    with pytest.raises(
        InvalidArgument, match="row 5: every action must be available in a feedback"
    ):
        some.to_obp()
    with pytest.raises(InvalidArgument, match="columns of a table must not be named 'reward'"):
        make_log(columns=["age", "reward"]).write(tmp_path / "rounds.csv")
    with pytest.raises(InvalidArgument, match="columns in dsjson must not begin with _, got '_x'"):
        make_log(columns=["age", "_x"]).write(tmp_path / "rounds.dsjson")
    with pytest.raises(InvalidArgument, match=r"format must be one of .*, got 'rounds.txt'"):
        unknown.write(tmp_path / "rounds.txt")
    assert list(tmp_path.iterdir()) == []


# Open Bandit Pipeline.

FEEDBACK: dict[str, Any] = {
    "n_rounds": 4,
    "n_actions": 3,
    "context": np.asarray([[0.5, 1.0], [0.25, 0.0], [1.0, 1.0], [0.0, 2.0]]),
    "action_context": np.eye(3),
    "action": np.asarray([2, 0, 1, 2]),
    "position": np.asarray([0, 1, 0, 1]),
    "reward": np.asarray([1, 0, 0, 1]),
    "pscore": np.asarray([0.5, 0.25, 0.125, 0.75]),
    "expected_reward": np.full((4, 3), 0.5),
    "pi_b": None,
}


def test_a_feedback_dictionary_is_a_log() -> None:
    log = Log.from_obp({**FEEDBACK, "position": None})
    rounds = log.collect()
    assert log.schema.actions == ("0", "1", "2")
    assert rounds.contexts.tolist() == FEEDBACK["context"].tolist()
    assert rounds.actions.tolist() == [2, 0, 1, 2]
    assert rounds.rewards.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert rounds.propensities.tolist() == [0.5, 0.25, 0.125, 0.75]


def test_one_position_is_chosen() -> None:
    laws = np.zeros((4, 3, 2))
    laws[0, :, 0], laws[2, :, 0] = (0.25, 0.25, 0.5), (0.5, 0.125, 0.375)
    laws[1, :, 1], laws[3, :, 1] = (0.25, 0.25, 0.5), (0.25, 0.0, 0.75)
    log = Log.from_obp({**FEEDBACK, "pi_b": laws}, position=1)
    rounds = log.collect()
    assert rounds.rows.tolist() == [2, 4]
    assert rounds.actions.tolist() == [0, 2]
    assert rounds.pmf is not None
    assert rounds.pmf.tolist() == [[0.25, 0.25, 0.5], [0.25, 0.0, 0.75]]


@pytest.mark.parametrize(
    ("change", "position", "sentence"),
    [
        ({}, None, r"position must be chosen if a log has several, got \[0, 1\]"),
        ({}, 2, r"position must be one of \[0, 1\], got 2"),
        ({"reward": np.ones(3)}, 0, r"reward must have 4 rows, got shape \(3,\)"),
        ({"pi_b": np.ones((3, 3))}, 0, "pi_b must have shape"),
        ({"pscore": np.asarray([0.5, 0.5, 0.0, 0.5])}, 0, "row 3: propensity must be above 0"),
        ({"action": np.asarray([0, 1, 3, 0])}, 0, "row 3: action must be an index below 3, got 3"),
    ],
)
def test_a_wrong_dictionary_is_refused(change: Any, position: int | None, sentence: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^feedback: {sentence}"):
        Log.from_obp({**FEEDBACK, **change}, position=position)


def test_a_dictionary_without_its_arrays_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="feedback: there is no 'context'; known: n_rounds"):
        Log.from_obp({"n_rounds": 4, "n_actions": 3})
    with pytest.raises(InvalidType, match="feedback must be a dictionary, got list"):
        Log.from_obp([])  # type: ignore[arg-type]
    odd = tmp_path / "odd.npz"
    odd.write_bytes(b"no arrays")
    with pytest.raises(InvalidArgument, match=r"odd\.npz"):
        Log.read(odd)


def test_a_log_becomes_a_dictionary() -> None:
    log = make_log()
    feedback, rounds = log.to_obp(), log.collect()
    assert (feedback["n_rounds"], feedback["n_actions"]) == (40, 3)
    np.testing.assert_array_equal(feedback["context"], rounds.contexts)
    np.testing.assert_array_equal(feedback["pscore"], rounds.propensities)
    assert feedback["pi_b"].shape == (40, 3, 1)
    assert_same(Log.from_obp(feedback).collect(), rounds)
