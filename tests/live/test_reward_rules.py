"""Which reward counts? Each way to combine them, against what a person would say."""

import time
from pathlib import Path
from typing import Any

import pytest
from waiting import Clock

from banditsrl import Loop
from banditsrl.errors import Conflict

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb-disjoint",
}


def settle(path: Path, combine: str, values: list[float]) -> Any:
    """Give rewards to a decision, let its wait pass, and return the value that counts."""
    clock = Clock()
    config = {**CONFIG, "reward": {"combine": combine, "wait": 10}}
    with Loop.create(path, config, clock=clock, warm_up=False) as loop:
        decision = loop.decide({})
        for value in values:
            clock.now += 1
            loop.reward(decision.id, value)
        clock.now += 11
        end = time.monotonic() + 30
        while loop.outcome(decision.id)["status"] == "waiting" and time.monotonic() < end:
            time.sleep(0.02)
        return loop.outcome(decision.id)


@pytest.mark.parametrize(("combine", "value"), [("first", 1.0), ("last", 4.0), ("sum", 7.0)])
def test_several_rewards_amount_to_one(tmp_path: Path, combine: str, value: float) -> None:
    outcome = settle(tmp_path / "a.db", combine, [1.0, 2.0, 4.0])
    assert (outcome["status"], outcome["value"]) == ("settled", value)


def test_without_a_default_a_decision_closes_unlearned(tmp_path: Path) -> None:
    outcome = settle(tmp_path / "a.db", "first", [])
    assert (outcome["status"], outcome["value"]) == ("expired", None)


def test_a_second_reward_is_an_error_if_the_loop_says_so(tmp_path: Path) -> None:
    config = {**CONFIG, "reward": {"combine": "error"}}
    with Loop.create(tmp_path / "a.db", config, warm_up=False) as loop:
        decision = loop.decide({})
        loop.reward(decision.id, 1.0)
        with pytest.raises(Conflict, match="has its reward already"):
            loop.reward(decision.id, 1.0)
        kinds = [record["kind"] for record in loop.log()]
        assert kinds.count("reward") == 1


def test_the_law_gives_every_available_action_a_chance_where_there_are_audits(
    tmp_path: Path,
) -> None:
    config = {**CONFIG, "policy": "glrt-linucb", "audit": 0.1, "actions": ["a", "b", "c", "d"]}
    with Loop.create(tmp_path / "a.db", config, warm_up=False) as loop:
        for i in range(40):
            decision = loop.decide({"age": i / 40}, available=["a", "b", "d"])
            assert set(decision.pmf) == {"a", "b", "d"}
            assert min(decision.pmf.values()) >= 0.1 / 3 - 1e-12
            assert sum(decision.pmf.values()) == pytest.approx(1.0)
            loop.reward(decision.id, float(decision.action == "a"))
