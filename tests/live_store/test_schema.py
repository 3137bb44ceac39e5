"""Does a store of an older release come forward, and is one of a later release refused?"""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from banditsrl import Loop
from banditsrl.errors import InvalidArgument
from banditsrl.live_store import schema

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb-disjoint",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "offers.db"
    with Loop.create(made, CONFIG, warm_up=False) as loop:
        loop.reward(loop.decide({"age": 0.5}, id="a").id, 1.0)
    return made


def read_schema(path: Path) -> str:
    connection = sqlite3.connect(path)
    ((value,),) = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchall()
    connection.close()
    return str(value)


def test_a_store_comes_forward_and_keeps_everything(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ("ALTER TABLE loops ADD COLUMN owner TEXT", "UPDATE loops SET owner = 'nobody'")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, more))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    for _ in range(2):  # the second time there is nothing to do
        with Loop.open(path, warm_up=False) as loop:
            assert loop.outcome("a")["value"] == 1.0
            assert loop.reward(loop.decide({}).id, 1.0).counted
            with loop._engine.store.read() as cursor:
                assert cursor.execute("SELECT owner FROM loops") == [("nobody",)]
    assert read_schema(path) == str(schema.SCHEMA_VERSION)


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_schema(path)
    more = ("CREATE TABLE later (name TEXT)", "NOT SQL AT ALL")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, more))
        patch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
        with pytest.raises(OSError, match="syntax error"):
            Loop.open(path)
    assert read_schema(path) == before
    with Loop.open(path, warm_up=False) as loop:
        assert loop.outcome("a")["value"] == 1.0


def test_a_store_of_a_later_release_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    connection.commit()
    connection.close()
    with pytest.raises(InvalidArgument, match="got version 99; it was written by a later release"):
        Loop.open(path)
