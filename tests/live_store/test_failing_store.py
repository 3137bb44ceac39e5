"""What happens when the store fails? The caller gets an error, and nothing else has changed.

Two ways to fail: a connection that refuses the n-th statement that writes, and a file system (of
apsw) whose n-th write or sync fails. In both, n is counted up until nothing fails.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from banditsrl import Loop
from banditsrl.errors import StoreUnavailable
from banditsrl.live_store.sqlite_store import SqliteStore

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb-disjoint",
}


class FailingConnection:
    """A connection whose n-th statement fails, counted from `arm`."""

    def __init__(self, inner: sqlite3.Connection) -> None:
        self.inner, self.left, self.failed = inner, -1, False

    def arm(self, n: int) -> None:
        self.left, self.failed = n, False

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.failed = True
            raise sqlite3.OperationalError("disk I/O error")

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        if sql != "ROLLBACK":
            self._count()
        return self.inner.execute(sql, parameters)

    def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
        self._count()
        return self.inner.executemany(sql, rows)

    @property
    def in_transaction(self) -> bool:
        return self.inner.in_transaction

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[tuple[Loop, FailingConnection]]:
    with Loop.create(tmp_path / "offers.db", CONFIG, warm_up=False) as loop:
        store = loop._engine.store
        assert isinstance(store, SqliteStore)
        connection = FailingConnection(store._writer)
        store._writer = connection  # type: ignore[assignment]
        yield loop, connection


def test_a_decision_that_cannot_be_written_is_not_answered(
    failing: tuple[Loop, FailingConnection],
) -> None:
    loop, connection = failing
    connection.arm(1)
    with pytest.raises(StoreUnavailable, match=r"cannot be used \(disk I/O error\)"):
        loop.decide({})
    n, n_answered = 0, 0
    while not n_answered:
        n += 1
        before = loop.log()
        connection.arm(n)
        try:
            decision = loop.decide({"age": 0.5}, id=f"try {n}")
        except StoreUnavailable:
            assert loop.log() == before
            continue
        n_answered += 1
        assert not connection.failed
        assert loop.decision(f"try {n}") == decision
    assert n > 4


def test_a_reward_that_cannot_be_written_is_not_counted(
    failing: tuple[Loop, FailingConnection],
) -> None:
    loop, connection = failing
    decision = loop.decide({"age": 0.5})
    n = 0
    while True:
        n += 1
        connection.arm(n)
        try:
            settled = loop.reward(decision.id, 1.0)
        except StoreUnavailable:
            assert loop.outcome(decision.id)["status"] == "waiting"
            continue
        assert settled.counted
        break
    loop.flush()
    assert (loop.status()["rounds"], loop.status()["waiting"]) == (1, 0)
    assert n > 4


def test_a_group_that_fails_once_is_written_one_by_one(
    failing: tuple[Loop, FailingConnection],
) -> None:
    loop, connection = failing
    decisions = [loop.decide({}) for _ in range(5)]
    connection.arm(7)
    answers = loop.reward_many([{"id": one.id, "value": 1.0} for one in decisions])
    assert connection.failed or connection.left > 0
    assert [answer.counted for answer in answers] == [True] * 5
    loop.flush()
    assert loop.status()["rounds"] == 5


def test_nothing_is_acknowledged_into_a_file_that_was_removed(tmp_path: Path) -> None:
    path, away = tmp_path / "offers.db", tmp_path / "away.db"
    with Loop.create(path, CONFIG, warm_up=False) as loop:
        known = loop.decide({"age": 0.5})
        path.rename(away)
        for call in (lambda: loop.decide({}), lambda: loop.reward(known.id, 1.0), loop.status):
            with pytest.raises(StoreUnavailable, match=r"offers\.db was removed or replaced"):
                call()
        assert not path.exists()
        path.write_bytes(away.read_bytes())  # the same content in another file
        with pytest.raises(StoreUnavailable, match="was removed or replaced"):
            loop.decide({})
        away.rename(path)
        assert loop.reward(known.id, 1.0).counted
        assert [record["kind"] for record in loop.log()] == ["created", "decision", "reward"]


def test_nothing_is_acknowledged_without_the_write_ahead_log(tmp_path: Path) -> None:
    Loop.create(tmp_path / "offers.db", CONFIG, warm_up=False).close()
    with Loop.open(tmp_path / "offers.db", warm_up=False) as loop:
        known = loop.decide({})
        log = tmp_path / "offers.db-wal"
        log.rename(tmp_path / "away")
        with pytest.raises(StoreUnavailable, match="was removed or replaced"):
            loop.reward(known.id, 1.0)
        (tmp_path / "away").rename(log)
        assert loop.reward(known.id, 1.0).counted


def test_a_closed_loop_says_so(tmp_path: Path) -> None:
    loop = Loop.create(tmp_path / "offers.db", CONFIG, warm_up=False)
    loop.close()
    loop.close()
    with pytest.raises(StoreUnavailable, match="The loop 'offers' is closed"):
        loop.decide({})
    with pytest.raises(StoreUnavailable, match="is closed"):
        loop.status()


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("This is not a database, but a text of some length.\n" * 50)
    with pytest.raises(StoreUnavailable, match="file is not a database"):
        Loop.open(path)
    with pytest.raises(StoreUnavailable, match="its folder does not exist"):
        Loop.create(tmp_path / "nowhere" / "a.db", CONFIG)
