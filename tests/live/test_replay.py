"""Does a replay of the log give the same state and the same decisions, to the last bit?"""

import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from replays import open_replay
from waiting import wait_until

from banditsrl import Loop
from banditsrl.live.replay import Replay
from banditsrl.live_store.state_bytes import digest_content, pack_state

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green", "blue"],
    "columns": {"a": "number", "b": "number"},
    "policy": "glrt-linucb",
    "audit": 0.05,
    "reward": {"range": [0, 1]},
}


def play(loop: Loop, rng: np.random.Generator, n: int) -> None:
    for _ in range(n):
        a, b = rng.normal(size=2)
        decision = loop.decide({"a": a, "b": b})
        mean = {"red": a, "green": b}.get(decision.action, 0.0)
        loop.reward(decision.id, float(rng.random() < 1.0 / (1.0 + np.exp(-mean))))


def wait_for_model(loop: Loop, version: int) -> None:
    wait_until(lambda: loop.status()["model"] >= version)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A loop that was played, trained, changed, put back and reopened; and its last state."""
    path = tmp_path_factory.mktemp("replay") / "offers.db"
    rng = np.random.default_rng(0)
    with Loop.create(path, CONFIG) as loop:
        play(loop, rng, 40)
        wait_for_model(loop, 1)
        loop.add_action("pink")
        play(loop, rng, 30)
    with Loop.open(path) as loop:
        loop.promote(1)
        play(loop, rng, 10)
        loop.resume()
        loop.set_mode("shadow")
        loop.decide({"a": 1.0}, baseline="red")
        loop.set_mode("learn")
        play(loop, rng, 30)
        loop.flush()
        state = loop._engine.fold.state
        return path, digest_content(pack_state(state))


@pytest.fixture
def replay(played: tuple[Path, str]) -> Iterator[Replay]:
    with open_replay(played[0]) as found:
        yield found


def test_everything_is_computed_again_bit_for_bit(replay: Replay) -> None:
    found = replay.verify()
    assert found.differences == []
    assert found.decisions == 111
    assert found.trainings >= 1
    assert found.snapshots >= 1
    assert "no difference in 111 decisions" in str(found)


def test_the_last_state_follows_from_the_log_alone(
    replay: Replay, played: tuple[Path, str]
) -> None:
    reported: list[tuple[int, int, float]] = []
    fold = replay.state_at(progress=lambda *values: reported.append(values))
    assert fold.rounds == 110
    # The training that runs when the loop is closed is not in the state that was looked at.
    with_training = Replay.state_at(replay, last=fold.position)
    assert digest_content(pack_state(fold.state)) == digest_content(pack_state(with_training.state))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("SET value = 1 - value WHERE settled_at = (SELECT MIN(settled_at) FROM decisions)", "has"),
        ("SET slot = (slot + 1) % 3 WHERE position = 2", "position 2 has another slot"),
        ("SET model = 7 WHERE position = 2", "position 2 has another model"),
        ("SET action = 'pink' WHERE position = 2", "position 2 has another action"),
        ("SET context = '{}' WHERE position = 2", "position 2 has another features"),
        ("SET context = '{\"size\": 1}' WHERE position = 2", "position 2 has another features"),
    ],
)
def test_a_log_that_was_tampered_with_is_found_out(
    played: tuple[Path, str], tmp_path: Path, change: str, message: str
) -> None:
    copy = tmp_path / "copy.db"
    with sqlite3.connect(played[0]) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        target.execute(f"UPDATE decisions {change}")
    source.close()
    target.commit()
    target.close()
    with open_replay(copy) as replay:
        found = replay.verify()
    assert not found.passed
    assert message in " ".join(found.differences)


def test_the_time_left_is_not_judged_by_the_rounds_that_compile(
    replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first records take 100 seconds each and the others half a second."""
    moments = itertools.accumulate([100.0] * 3 + [0.5] * 10_000)
    clock = SimpleNamespace(monotonic=lambda: next(moments))
    monkeypatch.setattr("banditsrl.live.loop_opening.time", clock)
    reported: list[tuple[int, int, float]] = []
    replay.state_at(progress=lambda *values: reported.append(values))
    assert len(reported) > 10
    assert max(seconds for _, _, seconds in reported) < 250


@pytest.fixture(scope="module")
def erased(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A loop whose first contexts were erased, and which was opened five times afterwards.

    Returns its store and the position of the erasure.
    """
    path = tmp_path_factory.mktemp("erased") / "offers.db"
    rng = np.random.default_rng(1)
    with Loop.create(path, {**CONFIG, "policy": "linucb", "audit": 0}) as loop:
        play(loop, rng, 10)
        loop.decide({"a": 0.5, "b": 0.5}, id="forgotten")
        assert loop.erase(["forgotten"]) == 1
        position = loop.status()["position"]
    for _ in range(5):
        with Loop.open(path) as loop:
            play(loop, rng, 4)
    return path, position


def test_everything_since_an_erasure_is_compared(erased: tuple[Path, int]) -> None:
    path, position = erased
    with open_replay(path) as replay:
        found = replay.verify()
    assert found.passed, str(found)
    assert (found.first, found.decisions) == (position, 20)
    assert f"contexts were erased up to position {position}" in str(found)


def test_without_a_snapshot_nothing_is_compared_with_rows_that_are_gone(
    erased: tuple[Path, int], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    with sqlite3.connect(erased[0]) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        target.execute("DELETE FROM snapshots")
    source.close()
    target.commit()
    target.close()
    with open_replay(copy) as replay:
        found = replay.verify()
    assert (found.passed, found.n_differences) == (False, 0)
    assert str(found).startswith("No decision of 'offers' could be compared. ")
