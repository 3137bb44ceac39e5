"""Does a loop decide, count rewards and refuse what it must, as a person would expect?"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from replays import open_replay
from waiting import Clock

from banditsrl import Loop
from banditsrl.errors import Conflict, InvalidArgument, InvalidType, NotFound
from banditsrl.live.loop_queries import read_revision

NewStore = Callable[[], str]

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green", "blue"],
    "columns": {"age": "number", "member": "flag", "city": {"category": ["rome", "oslo"]}},
    "policy": "linucb-disjoint",
    "reward": {"range": [0, 1], "wait": 10, "default": 0},
}

ERASABLE: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number", "user": {"category": ["ann", "bob"]}},
    "policy": "linucb-disjoint",
}

pytestmark = pytest.mark.usefixtures("without_training")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def loop(new_store: NewStore, clock: Clock) -> Iterator[Loop]:
    with Loop.create(new_store(), CONFIG, clock=clock) as made:
        yield made


def test_a_decision_says_what_it_was_drawn_from(loop: Loop) -> None:
    decision = loop.decide({"age": 0.3, "city": "rome"}, available=["blue", "red"])
    assert decision.available == ("red", "blue")
    assert decision.action in decision.available
    assert decision.probability == decision.pmf[decision.action]
    assert sum(decision.pmf.values()) == pytest.approx(1.0)
    assert loop.decision(decision.id) == decision


def test_the_same_id_gives_the_same_decision_and_another_body_a_conflict(loop: Loop) -> None:
    first = loop.decide({"age": 0.3}, id="a", available=["red", "blue"])
    assert loop.decide({"age": 0.3}, id="a", available=["blue", "red"]) == first
    with pytest.raises(Conflict, match="'a' was used before for another request"):
        loop.decide({"age": 0.4}, id="a", available=["red", "blue"])


def test_a_repetition_is_answered_even_after_its_action_was_retired(loop: Loop) -> None:
    first = loop.decide({"age": 0.3}, id="a", available=["red"])
    loop.retire_action("red")
    assert loop.decide({"age": 0.3}, id="a", available=["red"]) == first


def test_the_first_reward_counts_and_a_second_does_not(loop: Loop) -> None:
    decision = loop.decide({"age": 0.3})
    assert loop.reward(decision.id, 0.5).counted
    second = loop.reward(decision.id, 1.0)
    assert (second.counted, "first one counts" in second.reason) == (False, True)
    assert loop.outcome(decision.id)["value"] == 0.5
    loop.flush()
    assert loop.status()["rounds"] == 1


def test_a_key_makes_a_reward_repeatable(loop: Loop) -> None:
    decision = loop.decide({})
    answer = loop.reward(decision.id, 0.5, key="k")
    assert loop.reward(decision.id, 0.5, key="k") == answer
    with pytest.raises(Conflict, match=r"had the value 0\.5 before"):
        loop.reward(decision.id, 0.6, key="k")


def test_a_reward_after_the_wait_does_not_count(loop: Loop, clock: Clock) -> None:
    decision = loop.decide({})
    clock.now += 10.5
    late = loop.reward(decision.id, 1.0)
    assert (late.counted, late.reason) == (False, "The reward came after the wait of 10 seconds.")


def test_a_deferred_decision_is_learned_from_once_it_is_active(loop: Loop) -> None:
    decision = loop.decide({}, deferred=True)
    assert "once the decision is activated" in loop.reward(decision.id, 1.0).reason
    loop.flush()
    assert loop.status()["rounds"] == 0
    assert loop.activate(decision.id).counted
    assert not loop.activate(decision.id).counted
    loop.flush()
    assert (loop.status()["rounds"], loop.outcome(decision.id)["value"]) == (1, 1.0)


def test_actions_are_added_paused_and_retired(loop: Loop) -> None:
    loop.add_action("pink")
    assert loop.decide({}, available=["pink"]).action == "pink"
    loop.pause_action("pink")
    with pytest.raises(Conflict, match="'pink' is paused"):
        loop.decide({}, available=["pink"])
    loop.resume_action("pink")
    loop.retire_action("pink")
    with pytest.raises(Conflict, match="already an action named 'pink', which is retired"):
        loop.add_action("pink")
    assert {action["name"]: action["slot"] for action in loop.actions()}["pink"] == 3
    assert "pink" not in loop.decide({}).available


def test_a_full_loop_names_the_setting(loop: Loop) -> None:
    for name in "wxyz":
        loop.add_action(name)
    with pytest.raises(Conflict, match="created with 7 slots; `spare_actions` sets how many"):
        loop.add_action("one too many")


def test_the_last_active_action_must_stay(loop: Loop) -> None:
    loop.pause_action("red")
    loop.retire_action("green")
    with pytest.raises(Conflict, match="'blue' is the last active one"):
        loop.pause_action("blue")


def test_everything_is_there_after_a_restart(new_store: NewStore, clock: Clock) -> None:
    path = new_store()
    with Loop.create(path, CONFIG, clock=clock) as loop:
        decisions = [loop.decide({"age": age / 10}) for age in range(10)]
        for decision in decisions[:6]:
            loop.reward(decision.id, 0.5)
        loop.flush()
        before = loop.status()
    with Loop.open(path, clock=clock) as loop:
        assert loop.status() == before
        assert loop.decisions(last=10) == decisions[::-1]
        assert not loop.reward(decisions[0].id, 0.5).counted
        assert loop.reward(decisions[9].id, 0.5).counted


def test_shadow_mode_plays_the_baseline_and_logs_the_policy(loop: Loop) -> None:
    loop.set_mode("shadow")
    with pytest.raises(InvalidArgument, match="baseline must be given in shadow mode"):
        loop.decide({})
    decision = loop.decide({}, baseline="green")
    assert (decision.action, decision.probability, decision.mode) == ("green", 1.0, "shadow")
    assert decision.shadow in ("red", "green", "blue")


def test_a_frozen_loop_logs_rewards_and_learns_nothing(loop: Loop) -> None:
    loop.set_mode("frozen")
    decision = loop.decide({})
    loop.reward(decision.id, 1.0)
    loop.flush()
    assert (loop.status()["rounds"], loop.outcome(decision.id)["value"]) == (0, 1.0)


def test_several_loops_share_a_store(new_store: NewStore) -> None:
    path = new_store()
    other = {**CONFIG, "name": "other"}
    with Loop.create(path, CONFIG) as first, Loop.create(path, other) as second:
        assert first.decide({}, id="a").loop == "offers"
        assert second.decide({}, id="a").loop == "other"
    with pytest.raises(InvalidArgument, match="name must be given"):
        Loop.open(path)
    with pytest.raises(NotFound, match="no loop named 'third'"):
        Loop.open(path, "third")
    with pytest.raises(Conflict, match="already a loop named 'offers'"):
        Loop.create(path, CONFIG)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"context": [1]}, InvalidType, "context must be a mapping"),
        ({"context": {"agee": 1}}, InvalidArgument, "did you mean 'age'"),
        ({"context": {"age": "old"}}, InvalidType, "age must be a number, got 'old'"),
        ({"context": {"age": 1e30}}, InvalidArgument, "age must be at most 1e\\+19"),
        ({"context": {"age": float("inf")}}, InvalidArgument, "age must be at most 1e\\+19"),
        ({"context": {"age": {}}}, InvalidType, "age must be one number, flag or text"),
        ({"context": {}, "available": []}, InvalidArgument, "one or more different actions"),
        ({"context": {}, "available": "red"}, InvalidType, "available must be a list"),
        ({"context": {}, "available": ["pink"]}, NotFound, "no action named 'pink'"),
        ({"context": {}, "id": ""}, InvalidArgument, "id must be 1 to 200 printable"),
        ({"context": {}, "id": 5}, InvalidType, "id must be text, got 5"),
        ({"context": {}, "deferred": 1}, InvalidType, "deferred must be True or False"),
        ({"context": {}, "actions": {"red": {"x": 1}}}, InvalidArgument, "action_columns must be"),
    ],
)
def test_a_wrong_request_is_refused_in_one_sentence(
    loop: Loop, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    before = loop.status()["position"]
    with pytest.raises(error, match=message):
        loop.decide(**arguments)
    assert loop.status()["position"] == before


@pytest.mark.parametrize("value", [2.0, -0.1, float("nan"), "1", None])
def test_a_wrong_reward_is_refused(loop: Loop, value: Any) -> None:
    decision = loop.decide({})
    with pytest.raises((InvalidArgument, InvalidType), match="reward must"):
        loop.reward(decision.id, value)
    assert loop.outcome(decision.id)["status"] == "waiting"


def test_a_reward_for_an_unknown_id_is_refused(loop: Loop) -> None:
    with pytest.raises(NotFound, match="no decision with the id 'nobody'"):
        loop.reward("nobody", 1.0)


def test_yes_and_no_are_rewards(loop: Loop) -> None:
    for value, counts in ((True, 1.0), (False, 0.0), (np.True_, 1.0)):
        decision = loop.decide({})
        loop.reward(decision.id, value)
        assert loop.outcome(decision.id)["value"] == counts


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda loop: loop.decide_many([{"context": {}}, {"contxt": {}}]),
            InvalidArgument,
            "item 2 has an unknown field 'contxt'; did you mean 'context'?",
        ),
        (
            lambda loop: loop.decide_many([{"context": {}}, {"id": "x"}]),
            InvalidArgument,
            "item 2 must have the field 'context', got ['id'].",
        ),
        (
            lambda loop: loop.decide_many([{"context": {}}, "context"]),
            InvalidArgument,
            "item 2 must be a mapping of names to values, got 'context'.",
        ),
        (
            lambda loop: loop.reward_many([{"id": "x", "vlaue": 1}]),
            InvalidArgument,
            "item 1 has an unknown field 'vlaue'; did you mean 'value'?",
        ),
        (
            lambda loop: loop.reward_many([{"id": "x", "value": "a"}]),
            InvalidType,
            "item 1: reward must be a real number, got 'a'.",
        ),
        (
            lambda loop: loop.decide({}, available=["gren"]),
            NotFound,
            "There is no action named 'gren'; did you mean 'green'?",
        ),
        (
            lambda loop: loop.retire_action("gren"),
            NotFound,
            "There is no action named 'gren'; did you mean 'green'?",
        ),
        (
            lambda loop: loop.set_mode("shadw"),
            InvalidArgument,
            "mode must be one of learn, shadow, frozen, got 'shadw'; did you mean 'shadow'?",
        ),
    ],
)
def test_a_slip_of_the_keyboard_is_told_in_one_sentence(
    loop: Loop, call: Callable[[Loop], Any], error: type[Exception], message: str
) -> None:
    before = loop.status()["position"]
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call(loop)
    assert loop.status()["position"] == before


def test_a_loop_that_is_opened_again_reads_contexts_as_before(tmp_path: Path) -> None:
    """The order of columns and actions is that of the configuration, not of the alphabet."""
    config = {
        "name": "order",
        "actions": {"zebra": None, "ape": None},
        "columns": {"zip": "number", "age": {"number": {"default": 40}}},
        "policy": "linucb-disjoint",
    }
    seen = []
    with Loop.create(tmp_path / "order.db", config, warm_up=False) as loop:
        seen.append((loop._engine.encoder.encode({"zip": 5, "age": 1}, []).tolist(), loop.config))
        slots = {name: entry.slot for name, entry in loop._engine.fold.actions.items()}
    with Loop.open(tmp_path / "order.db", warm_up=False) as loop:
        seen.append((loop._engine.encoder.encode({"zip": 5, "age": 1}, []).tolist(), loop.config))
        found = read_revision(loop._engine.store, loop.config)["actions"]
    assert seen[0] == seen[1]
    assert {name: entry.slot for name, entry in found.items()} == slots == {"zebra": 0, "ape": 1}


def test_a_loop_is_asked_for_by_its_name(loop: Loop, tmp_path: Path) -> None:
    Loop.create(tmp_path / "names.db", {**CONFIG, "name": "offers"}, warm_up=False).close()
    with pytest.raises(NotFound, match=r"no loop named 'ofers' in this store; did you mean 'off"):
        Loop.open(tmp_path / "names.db", "ofers")


def test_what_is_erased_is_in_no_file_while_the_loop_runs(tmp_path: Path) -> None:
    with Loop.create(tmp_path / "offers.db", ERASABLE, warm_up=False) as loop:
        forgotten = loop.decide({"age": 0.123456789, "user": "ann"})
        loop.reward(forgotten.id, 1.0)
        kept = loop.decide({"age": 0.987654321, "user": "bob"})
        assert loop.erase(column="user", value="ann") == 1
        held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"0.987654321" in held
        assert b"0.123456789" not in held
        assert loop.erase([forgotten.id]) == 0  # there is nothing left to erase
        assert loop.erase([kept.id]) == 1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"ids": "abc"}, InvalidType, "ids must be a list of ids, got the string 'abc'"),
        ({"ids": ["nope"]}, NotFound, "There is no decision with the id 'nope'"),
        ({"ids": ["a\0"]}, InvalidArgument, "id must be 1 to 200 printable characters"),
        ({"column": "usr", "value": "ann"}, NotFound, "named 'usr'; did you mean 'user'?"),
        ({}, InvalidArgument, "one of ids and column must be given, got neither"),
    ],
)
def test_a_wrong_erasure_is_refused_and_erases_nothing(
    tmp_path: Path, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with Loop.create(tmp_path / "offers.db", ERASABLE, warm_up=False) as loop:
        known = loop.decide({"age": 0.5, "user": "ann"}).id
        if "nope" in given.get("ids", ()):
            given = {"ids": [known, "nope"]}
        with pytest.raises(error, match=re.escape(message)):
            loop.erase(**given)
        assert loop.erase([known]) == 1  # it was still there


@pytest.mark.parametrize(
    ("replica", "message"),
    [
        (2**32, "replica must be at most 4294967295, got 4294967296"),
        (-1, "replica must be at least 0, got -1"),
        ("x", "replica must be an integer, got 'x'"),
    ],
)
def test_a_wrong_replica_is_refused_before_the_loop_is_made(
    tmp_path: Path, replica: Any, message: str
) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        Loop.create(tmp_path / "o.db", CONFIG, replica=replica)
    assert not (tmp_path / "o.db").exists()
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        Loop.open(tmp_path / "o.db", replica=replica)


def test_the_largest_replica_decides(tmp_path: Path) -> None:
    with Loop.create(tmp_path / "o.db", CONFIG, replica=2**32 - 1) as loop:
        loop.reward(loop.decide({}).id, 1.0)
        loop.flush()
    with open_replay(tmp_path / "o.db") as replay:
        found = replay.verify()
    assert (found.decisions, found.differences) == (1, [])
