"""What if the disk fails in the middle of a transaction? Then nothing of it is there afterwards.

SQLite runs on a file system of apsw whose n-th write or sync fails; n is counted up until nothing
fails any more. That file system has no shared memory, so SQLite keeps a rollback journal here.
"""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from banditsrl import Loop
from banditsrl.errors import StoreUnavailable
from banditsrl.live_store.sqlite_store import SqliteStore

apsw = pytest.importorskip("apsw", reason="The file system that fails on purpose needs apsw.")

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb-disjoint",
}

VFS = "banditsrl failing"
LARGEST_N = 400
"""No transaction of these tests writes and syncs that often."""


class Countdown:
    """Fails once, when it was asked n times."""

    def __init__(self) -> None:
        self.left, self.failed = -1, False

    def arm(self, n: int) -> None:
        self.left, self.failed = n, False

    def disarm(self) -> None:
        self.left = -1

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.failed = True
            raise apsw.IOError("The disk fails on purpose.")


COUNTDOWN = Countdown()


class FailingFile(apsw.VFSFile):  # type: ignore[misc, name-defined]
    def __init__(self, filename: Any, flags: list[int]) -> None:
        super().__init__("", filename, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        COUNTDOWN.step()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        COUNTDOWN.step()
        super().xSync(flags)


class FailingFiles(apsw.VFS):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__(VFS, "")

    def xOpen(self, name: Any, flags: list[int]) -> FailingFile:
        return FailingFile(name, flags)


class ApswConnection:
    """A connection of apsw with the members of `sqlite3.Connection` that a store uses."""

    def __init__(self, path: Path) -> None:
        self.inner = apsw.Connection(str(path), vfs=VFS)
        self.inner.set_busy_timeout(5000)

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        try:
            rows = list(self.inner.execute(sql, tuple(parameters)))
        except apsw.Error as error:
            raise sqlite3.OperationalError(str(error)) from error
        return Rows(rows)

    def executemany(self, sql: str, rows: Any) -> None:
        for row in rows:
            self.execute(sql, row)

    @property
    def in_transaction(self) -> bool:
        return bool(self.inner.in_transaction)

    def close(self) -> None:
        self.inner.close()


class Rows(list[Any]):
    def fetchall(self) -> list[Any]:
        return list(self)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    files = FailingFiles()
    monkeypatch.setattr(SqliteStore, "_connect", lambda store: ApswConnection(store.path))
    yield files
    COUNTDOWN.disarm()
    files.unregister()


def test_what_could_not_be_written_is_not_there_and_what_was_answered_is(
    failing: Any, tmp_path: Path
) -> None:
    n = 0
    expected: dict[str, float | None] = {}
    with Loop.create(tmp_path / "offers.db", CONFIG, warm_up=False) as loop:
        loop._engine._learner.close()  # it would write now and then, and use up the countdown
        succeeded = 0
        while succeeded < 2 and n < LARGEST_N:
            n += 1
            id_ = f"id {n}"
            COUNTDOWN.arm(n)
            try:
                loop.decide({"age": 0.5}, id=id_)
                expected[id_] = None
                loop.reward(id_, 0.5)
                expected[id_] = 0.5
                succeeded += not COUNTDOWN.failed
            except StoreUnavailable:
                assert COUNTDOWN.failed
            COUNTDOWN.disarm()
        assert 5 < n < LARGEST_N
        check(loop, expected)
    with Loop.open(tmp_path / "offers.db", warm_up=False) as loop:
        check(loop, expected)


def check(loop: Loop, expected: dict[str, float | None]) -> None:
    """Everything that was answered is there, and nothing that was not."""
    records = loop.log(limit=10**6)
    assert [record["position"] for record in records] == list(range(1, len(records) + 1))
    assert {one["id"] for one in records if one["kind"] == "decision"} == set(expected)
    rewarded = [one["id"] for one in records if one["kind"] == "reward"]
    assert sorted(rewarded) == sorted(id_ for id_, value in expected.items() if value is not None)
    loop.flush()
    assert loop.status()["rounds"] == len(rewarded)
