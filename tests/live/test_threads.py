"""Is a loop safe to use from several threads? Every round counts once, and nothing grows."""

import threading
from pathlib import Path
from typing import Any

import pytest

from banditsrl import Loop
from banditsrl.live.live_loop import Loop as LoopClass

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green", "blue"],
    "columns": {"age": "number"},
    "policy": "linucb-disjoint",
    "spare_actions": 0,
}

N_ROUNDS = 1000


@pytest.mark.parametrize("n_threads", [2, 8])
def test_rounds_of_several_threads_are_all_counted(tmp_path: Path, n_threads: int) -> None:
    ids: list[list[str]] = [[] for _ in range(n_threads)]
    with Loop.create(tmp_path / "offers.db", CONFIG) as loop:

        def work(number: int) -> None:
            for i in range(0, N_ROUNDS, 10):
                decisions = loop.decide_many([{"context": {"age": i / N_ROUNDS}}] * 10)
                loop.reward_many([{"id": one.id, "value": float(number)} for one in decisions])
                ids[number] += [one.id for one in decisions]

        run_all([threading.Thread(target=work, args=(number,)) for number in range(n_threads)])
        loop.flush()
        status, counts = loop.status(), loop.trust().counts
        assert status["rounds"] == n_threads * N_ROUNDS
        assert (status["waiting"], status["trouble"]) == (0, "")
        assert counts["decisions"] == counts["rewards"] == n_threads * N_ROUNDS
        assert len({one for own in ids for one in own}) == n_threads * N_ROUNDS
        kinds = [record["kind"] for record in loop.log(limit=10**6)]
        assert kinds.count("decision") == kinds.count("reward") == n_threads * N_ROUNDS
        total = sum(entry["mean"] * entry["rewards"] for entry in loop.history())
        assert total == pytest.approx(sum(range(n_threads)) * N_ROUNDS)
        check_small(loop)
    with Loop.open(tmp_path / "offers.db") as loop:
        assert loop.status()["rounds"] == n_threads * N_ROUNDS


def check_small(loop: LoopClass) -> None:
    """Nothing that lives as long as the loop holds an entry per settled decision."""
    seen: set[int] = set()
    todo: list[tuple[str, Any]] = [("loop", loop)]
    while todo:
        name, thing = todo.pop()
        if id(thing) in seen or isinstance(thing, type | str | bytes):
            continue
        seen.add(id(thing))
        if isinstance(thing, dict | list | tuple | set):
            assert len(thing) < 100, f"{name} has {len(thing)} entries"
            values = thing.values() if isinstance(thing, dict) else thing
            todo += [(f"{name}[...]", value) for value in values]
        elif type(thing).__module__.startswith("banditsrl.live"):
            todo += [(f"{name}.{key}", value) for key, value in vars(thing).items()]
    assert len(seen) > 30  # the writer, the follower and the learner were looked at


def test_the_same_id_from_several_threads_is_one_decision(tmp_path: Path) -> None:
    found: list[Any] = []
    with Loop.create(tmp_path / "offers.db", CONFIG) as loop:

        def work() -> None:
            for i in range(20):
                found.append(loop.decide({"age": 0.5}, id=f"id {i}"))
                loop.reward(f"id {i}", 1.0)

        run_all([threading.Thread(target=work) for _ in range(4)])
        loop.flush()
        assert loop.status()["rounds"] == 20
    assert len(found) == 80
    for i in range(20):
        assert len({str(one) for one in found if one.id == f"id {i}"}) == 1


def test_actions_change_while_others_decide(tmp_path: Path) -> None:
    """A decision behind a change in the log never plays what the change has retired."""
    config = {**CONFIG, "spare_actions": 10}
    with Loop.create(tmp_path / "offers.db", config) as loop:
        ends = threading.Event()

        def work() -> None:
            while not ends.is_set():
                loop.decide({})

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for i in range(5):
            loop.add_action(f"new {i}")
            loop.retire_action(f"new {i}")
        ends.set()
        for thread in threads:
            thread.join()
        retired: set[str] = set()
        for record in loop.log(limit=100_000):
            if record["kind"] == "actions" and record["body"]["change"] == "retire":
                retired.add(record["body"]["name"])
            elif record["kind"] == "decision":
                assert not retired & set(loop.decision(record["id"]).available)
        assert len(retired) == 5


def run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
