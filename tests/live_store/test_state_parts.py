"""Does a state that is kept in parts come back as it was, and do parts without use go away?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from banditsrl import Loop
from banditsrl.errors import StoreUnavailable
from banditsrl.live.loop_opening import find_config
from banditsrl.live.replay import Replay
from banditsrl.live_store import state_parts
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.live_store.state_bytes import pack_state
from banditsrl.live_store.state_parts import (
    check_parts,
    load_parts,
    remove_unused_parts,
    save_parts,
)
from banditsrl.live_store.store_address import open_store

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb-disjoint",
    "spare_actions": 0,
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_parts, "PART_BYTES", 1000)


@pytest.fixture
def store(new_store: Any) -> Iterator[LoopStore]:
    made = open_store(new_store(), create=True)
    yield made
    made.close()


def count_parts(store: LoopStore) -> int:
    with store.read() as cursor:
        return int(cursor.execute("SELECT COUNT(*) FROM state_parts")[0][0])


@pytest.mark.parametrize("size", [0, 1, 1000, 1001, 2000, 12_345])
def test_a_state_of_any_size_comes_back(store: LoopStore, size: int) -> None:
    content = np.random.default_rng(size).bytes(size)
    kept = save_parts(store, "offers", content)
    assert count_parts(store) == (0 if size <= 1000 else -(-size // 1000))
    with store.read() as cursor:
        check_parts(cursor, "offers", kept)
        assert load_parts(cursor, "offers", kept) == content
        assert len(kept) <= 1000


def test_parts_that_are_gone_are_noticed_before_and_after(store: LoopStore) -> None:
    kept = save_parts(store, "offers", bytes(2500))
    with store.write() as cursor:
        cursor.execute("DELETE FROM state_parts WHERE part = ?", (1,))
    with store.read() as cursor:
        with pytest.raises(StoreUnavailable, match="parts of a state were removed before it was"):
            check_parts(cursor, "offers", kept)
        assert load_parts(cursor, "offers", kept) == b""


def test_parts_of_one_loop_are_removed_and_those_of_another_stay(store: LoopStore) -> None:
    save_parts(store, "offers", bytes(2500))
    save_parts(store, "others", bytes(1500))
    remove_unused_parts(store, "offers")
    assert count_parts(store) == 2


def test_parts_that_come_into_use_meanwhile_stay(
    store: LoopStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were without use when the parts to be removed were looked for."""
    kept = save_parts(store, "offers", bytes(2500))
    real, values = type(store).write, ("offers", 7, 0.0, "", "", "{}", kept)

    def write(self: LoopStore) -> Any:
        monkeypatch.undo()
        with real(self) as cursor:  # type: ignore[arg-type]
            cursor.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        return real(self)  # type: ignore[arg-type]

    monkeypatch.setattr(type(store), "write", write)
    remove_unused_parts(store, "offers")
    assert count_parts(store) == 3
    with store.read() as cursor:
        assert load_parts(cursor, "offers", kept) == bytes(2500)


def test_a_loop_goes_on_from_states_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "offers.db"
    with Loop.create(path, CONFIG, warm_up=False) as loop:
        rng = np.random.default_rng(0)
        for _ in range(20):
            loop.reward(loop.decide({"age": float(rng.normal())}).id, float(rng.random()))
        loop.flush()
        loop.erase([])  # keeps snapshots
        expected = pack_state(loop._engine.fold.state)
        save_parts(loop._engine.store, "offers", bytes(5000))
        loop.erase([])
    store = open_store(str(path), create=False)
    with store.read() as cursor:
        states = [bytes(row[0]) for row in cursor.execute("SELECT state FROM snapshots")]
        assert states
        assert all(state.startswith(b"parts:") for state in states)
        used = sum(int(state.split(b":")[1]) for state in states)
        models = [bytes(row[0]) for row in cursor.execute("SELECT state FROM models")]
        used += sum(int(state.split(b":")[1]) for state in models if state.startswith(b"parts:"))
    assert count_parts(store) == used
    with Loop.open(path, warm_up=False) as again:
        assert pack_state(again._engine.fold.state) == expected
    replay = Replay(store, find_config(store, None))
    found = replay.verify()
    assert found.passed
    assert found.snapshots == len(states)
    replay.close()
    store.close()
