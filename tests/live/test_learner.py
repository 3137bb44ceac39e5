"""Does the learner train, publish, close decisions and come back, whatever happens meanwhile?"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from replays import verify_loop
from waiting import Clock, wait_until

from banditsrl import Loop
from banditsrl.core.phases import phase_ends
from banditsrl.live.fold import PendingTraining, next_end_after
from banditsrl.live.loop_changes import add_action_change, set_settings, start_training
from banditsrl.live.model_shelf import add_model
from banditsrl.live.programs import Programs

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb-disjoint",
    "reward": {"wait": 10, "default": 0.25},
    "spare_actions": 0,
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def loop(tmp_path: Path, clock: Clock) -> Iterator[Loop]:
    with Loop.create(tmp_path / "offers.db", CONFIG, clock=clock, warm_up=False) as made:
        yield made


def play(loop: Loop, n: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(n):
        loop.reward(loop.decide({"age": float(rng.normal())}).id, float(rng.random()))
    loop.flush()


@pytest.mark.parametrize(("growth", "longest"), [(2.0, None), (1.2, None), (1.5, 7), (2.0, 5)])
def test_the_next_phase_end_is_that_of_the_list(growth: float, longest: int | None) -> None:
    ends = phase_ends(growth, 400, longest)
    for step in range(ends[-1]):
        assert next_end_after(growth, step, longest) == min(end for end in ends if end > step)


def test_a_decision_without_a_reward_gets_the_default_when_its_wait_is_over(
    loop: Loop, clock: Clock
) -> None:
    first, second = loop.decide({}), loop.decide({})
    loop.reward(second.id, 1.0)
    clock.now += 11
    wait_until(lambda: loop.outcome(first.id)["status"] == "settled")
    assert loop.outcome(first.id)["value"] == 0.25
    assert loop.outcome(second.id)["value"] == 1.0
    loop.flush()
    assert (loop.status()["rounds"], loop.status()["waiting"]) == (2, 0)


def test_a_training_is_published_and_can_be_put_back(loop: Loop) -> None:
    play(loop, 10)
    wait_until(lambda: loop.status()["model"] >= 1 and not loop.status()["training"])
    rounds = loop.status()["rounds"]
    loop.promote(1)
    assert (loop.status()["model"], loop.status()["pinned"]) == (1, True)
    (current,) = [model for model in loop.models() if model["current"]]
    assert current["version"] == 1
    play(loop, 30)
    time.sleep(0.5)
    assert (loop.status()["model"], loop.status()["training"]) == (1, False)
    assert loop.status()["rounds"] == rounds + 30
    loop.resume()
    wait_until(lambda: loop.status()["model"] > 1)


@pytest.mark.parametrize(
    ("policy", "near"),
    [
        ({"policy": "glrt-linucb"}, 1e-8),
        ({"policy": "glrt-linucb", "audit": 0.05}, 1e-8),
        ({"policy": "linucb-disjoint"}, 0.1),  # each training chooses the penalty afresh
    ],
)
def test_the_first_training_after_a_rollback_starts_at_once_on_all_rounds(
    tmp_path: Path, policy: dict[str, Any], near: float
) -> None:
    """What is known is that of a loop without the rollback, and no further round was needed."""
    path = tmp_path / "offers.db"
    with Loop.create(path, {**CONFIG, **policy}, warm_up=False) as loop:
        play(loop, 70)
        wait_until(lambda: loop.status()["model"] >= 1 and not loop.status()["training"])
        trained, rows = loop.status()["model"], [[-1.0], [0.5], [2.0]]
        contexts = [loop._engine.encoder.encode({"age": age}, []) for (age,) in rows]

        def predict() -> list[Any]:
            state = loop._engine.fold.state
            return [loop._engine.programs.predict(state, context) for context in contexts]

        before = predict()
        loop.promote(0)
        assert np.abs(np.asarray(predict()) - before).max() > 0.2
        loop.resume()
        wait_until(lambda: loop.status()["model"] > trained)
        assert np.asarray(predict()) == pytest.approx(np.asarray(before), abs=near)
        assert loop.status()["rounds"] == 70
        assert loop.models()[-1]["rounds"] == 70
    found = verify_loop(path)
    assert found.differences == []
    assert (found.decisions, found.trainings >= 2) == (70, True)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="The system has no SIGKILL.")
def test_a_training_process_that_dies_is_started_again(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("banditsrl.live.learner.RETRY_SECONDS", 0.1)
    play(loop, 3)
    wait_until(lambda: loop.status()["training_process"] is not None)
    os.kill(loop.status()["training_process"], signal.SIGKILL)
    wait_until(lambda: loop.status()["training_starts"] == 2 or loop.status()["model"] > 0)
    play(loop, 20)
    wait_until(lambda: loop.status()["training_starts"] == 2 and loop.status()["model"] > 0)
    wait_until(lambda: loop.status()["trouble"] == "")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="The system has no SIGKILL.")
def test_a_training_process_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """The process that starts it here ends without closing anything, like one that is killed."""
    with Loop.create(tmp_path / "offers.db", CONFIG, warm_up=False) as loop:
        play(loop, 1)
    program = (
        "import os, sys, time\n"
        "from banditsrl import Loop\n"
        "loop = Loop.open(sys.argv[1], warm_up=False)\n"
        "for _ in range(3): loop.reward(loop.decide({}).id, 1.0)\n"
        "while loop.status()['training_process'] is None: time.sleep(0.02)\n"
        "print(loop.status()['training_process'], flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "offers.db")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    child = int(done.stdout)
    wait_until(lambda: not is_alive(child))


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_deciding_does_not_compile_after_warming_up(tmp_path: Path) -> None:
    from banditsrl.live import programs

    with Loop.create(tmp_path / "offers.db", CONFIG) as loop:
        compiled = [program._cache_size() for program in (programs._choose, programs._learn)]
        play(loop, 12)
        wait_until(lambda: loop.status()["model"] >= 1)
        play(loop, 3)
        after = [program._cache_size() for program in (programs._choose, programs._learn)]
    with Loop.open(tmp_path / "offers.db") as loop:
        play(loop, 3)
        again = [program._cache_size() for program in (programs._choose, programs._learn)]
    assert compiled == after == again


def test_a_second_process_follows_and_takes_over(tmp_path: Path, clock: Clock) -> None:
    """Two loops on one store stand for two processes: the store cannot tell them apart."""
    path = tmp_path / "offers.db"
    first = Loop.create(path, CONFIG, clock=clock, warm_up=False)
    second = Loop.open(path, clock=clock, replica=1, warm_up=False)
    try:
        assert (first.status()["learner"], second.status()["learner"]) == (True, False)
        decision = first.decide({"age": 0.5})
        assert second.reward(decision.id, 1.0).counted
        assert not first.reward(decision.id, 1.0).counted
        first.flush()
        second.flush()
        assert first.status()["rounds"] == second.status()["rounds"] == 1
        first.close()
        wait_until(lambda: second.status()["learner"])
        waiting = second.decide({})
        clock.now += 11
        wait_until(lambda: second.outcome(waiting.id)["status"] == "settled")
    finally:
        first.close()
        second.close()


def test_a_loop_of_other_settings_is_computed_again_from_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "offers.db"
    with Loop.create(path, CONFIG, warm_up=False) as loop:
        play(loop, 6)
        rounds = loop.status()["rounds"]
    monkeypatch.setattr("banditsrl.live.model_shelf.digest_settings", lambda _: "another release")
    reported: list[Any] = []
    with Loop.open(path, warm_up=False, progress=lambda *values: reported.append(values)) as loop:
        assert loop.status()["rounds"] == rounds
        context = loop._engine.encoder.encode({"age": 0.5}, [])
        found = loop._engine.programs.predict(loop._engine.fold.state, context)
    monkeypatch.undo()
    with Loop.open(path, warm_up=False) as loop:
        again = loop._engine.programs.predict(loop._engine.fold.state, context)
    assert found == pytest.approx(again)


def test_a_version_that_was_put_back_is_computed_again_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "offers.db"
    with Loop.create(path, CONFIG, warm_up=False) as loop:
        play(loop, 10)
        wait_until(lambda: loop.status()["model"] >= 1 and not loop.status()["training"])
        loop.promote(1)
        context = loop._engine.encoder.encode({"age": 0.5}, [])
        before = loop._engine.programs.predict(loop._engine.fold.state, context)
    monkeypatch.setattr("banditsrl.live.model_shelf.digest_settings", lambda _: "another release")
    with Loop.open(path, warm_up=False) as loop:
        assert (loop.status()["model"], loop.status()["pinned"]) == (1, True)
        after = loop._engine.programs.predict(loop._engine.fold.state, context)
    assert after == pytest.approx(before)


def test_a_loop_that_is_frozen_during_a_training_keeps_its_model(loop: Loop) -> None:
    loop.set_mode("frozen")
    pending = PendingTraining(position=0, rounds=0, state=None, erased=0)
    start = partial(start_training, known=loop.status()["position"], time=0.0)
    position = loop._engine.write(start)
    assert position is not None
    publish = partial(add_model, pending=replace(pending, position=position), kept=b"")
    about = {"settings": "", "time": 0.0, "evaluation": {}}
    loop._engine.change(lambda ledger: publish(ledger, **about) or 0)
    kinds = [record["kind"] for record in loop.log(after=position)]
    assert kinds == ["abandoned"]
    assert [model["version"] for model in loop.models()] == [0]


def test_a_change_of_actions_holds_at_once_even_if_learning_is_behind(tmp_path: Path) -> None:
    path = tmp_path / "offers.db"
    pause = {"change": "pause", "name": "red"}
    with Loop.create(path, CONFIG, warm_up=False) as loop:
        play(loop, 3)
        engine = loop._engine
        engine._follower.close()  # nothing is folded in any more
        loop.reward(loop.decide({"age": 0.1}).id, 1.0)
        engine.write(partial(add_action_change, config=loop.config, change=pause, time=0.0))
        assert loop.decide({"age": 0.5}).available == ("green",)
        engine.write(partial(set_settings, settings={"mode": "frozen"}, time=0.0))
        assert loop.decide({"age": 0.5}).mode == "frozen"
    found = verify_loop(path)
    assert (found.decisions, found.differences) == (6, [])


def test_programs_of_one_seed_start_alike() -> None:
    from banditsrl.live.loop_config import read_config

    first, second = (Programs(read_config(CONFIG)) for _ in range(2))
    assert first.draw_key(1, 2) == second.draw_key(1, 2)
    assert first.draw_key(1, 2) != second.draw_key(1, 3)
    assert first.draw_key(1, 2) != second.draw_key(2, 2)
