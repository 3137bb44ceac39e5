"""Does a loop behave like a plain dictionary? Hypothesis drives both, and compares them."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from banditsrl import Loop
from banditsrl.errors import Conflict, NotFound

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb-disjoint",
    "spare_actions": 2,
}
WAIT = 100.0
IDS = st.sampled_from(["a", "b", "c", "d", "e"])
AGES = st.sampled_from([0.0, 0.5])
VALUES = st.sampled_from([0.0, 0.5, 1.0])
COMBINE = st.sampled_from(["first", "last", "sum", "error"])
DEFAULTS = st.sampled_from([None, 0.25])


class LoopMachine(RuleBasedStateMachine):
    """The model keeps, by id, what a loop must know about a decision."""

    @initialize(combine=COMBINE, default=DEFAULTS)
    def create(self, combine: str, default: float | None) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.now = 1000.0
        self.combine, self.default = combine, default
        reward = {"wait": WAIT, "default": default, "combine": combine}
        config = {**CONFIG, "reward": reward}
        self.loop = Loop.create(self.folder / "a.db", config, clock=self.clock, warm_up=False)
        self.known: dict[str, dict[str, Any]] = {}
        self.actions = {"red": "active", "green": "active"}
        self.n_learned = 0

    def clock(self) -> float:
        return self.now

    @rule(id_=IDS, age=AGES, deferred=st.booleans())
    def decide(self, id_: str, age: float, deferred: bool) -> None:
        body = (age, deferred)
        if id_ in self.known and self.known[id_]["body"] != body:
            with pytest.raises(Conflict, match="used before for another request"):
                self.loop.decide({"age": age}, id=id_, deferred=deferred)
            return
        decision = self.loop.decide({"age": age}, id=id_, deferred=deferred)
        if id_ in self.known:
            assert decision == self.known[id_]["decision"]
            return
        active = {name for name, state in self.actions.items() if state == "active"}
        assert set(decision.available) == active
        self.known[id_] = {
            "body": body,
            "decision": decision,
            "status": "deferred" if deferred else "waiting",
            "deadline": None if deferred else self.now + WAIT,
            "rewards": [],
            "value": None,
            "keys": {},
        }

    @rule(id_=IDS, value=VALUES, key=st.sampled_from([None, "k"]))
    def reward(self, id_: str, value: float, key: str | None) -> None:
        one = self.known.get(id_)
        if one is None:
            with pytest.raises(NotFound, match="no decision with the id"):
                self.loop.reward(id_, value, key=key)
            return
        if key in one["keys"]:
            before, answer = one["keys"][key]
            if before == value:
                assert self.loop.reward(id_, value, key=key) == answer
            else:
                with pytest.raises(Conflict, match="had the value"):
                    self.loop.reward(id_, value, key=key)
            return
        late = one["deadline"] is not None and self.now > one["deadline"]
        has_one = one["status"] == "settled" or bool(one["rewards"])
        if not late and has_one and self.combine == "error":
            with pytest.raises(Conflict, match="has its reward already"):
                self.loop.reward(id_, value, key=key)
            return
        answer = self.loop.reward(id_, value, key=key)
        if key is not None:
            one["keys"][key] = (value, answer)
        counts = not late and one["status"] in ("waiting", "deferred")
        counts &= not (has_one and self.combine == "first")
        assert answer.counted == counts
        if counts:
            one["rewards"].append(value)
            if one["status"] == "waiting" and self.combine in ("first", "error"):
                self.settle(one, value)

    @rule(id_=IDS)
    def activate(self, id_: str) -> None:
        one = self.known.get(id_)
        if one is None:
            with pytest.raises(NotFound, match="no decision with the id"):
                self.loop.activate(id_)
            return
        assert self.loop.activate(id_).counted == (one["status"] == "deferred")
        if one["status"] == "deferred":
            one["status"], one["deadline"] = "waiting", self.now + WAIT
            if one["rewards"] and self.combine in ("first", "error"):
                self.settle(one, one["rewards"][0])

    def settle(self, one: dict[str, Any], value: float) -> None:
        one["status"], one["value"] = "settled", value
        self.n_learned += 1

    @rule(seconds=st.sampled_from([1.0, 60.0, 150.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.now += seconds
        self.loop._engine._learner._expire()
        for one in self.known.values():
            if one["status"] != "waiting" or not one["deadline"] < self.now:
                continue
            kept, value = one["rewards"], self.default
            if kept:
                value = sum(kept) if self.combine == "sum" else kept[-1]
            if value is None:
                one["status"] = "expired"
            else:
                self.settle(one, value)

    @rule(name=st.sampled_from(["pink", "grey", "gold"]))
    def add(self, name: str) -> None:
        if name in self.actions or len(self.actions) == 4:
            with pytest.raises(Conflict, match=r"already an action|no slot left"):
                self.loop.add_action(name)
            return
        self.loop.add_action(name)
        self.actions[name] = "active"

    @rule(
        name=st.sampled_from(["red", "pink", "gold"]),
        verb=st.sampled_from(["pause", "resume", "retire"]),
    )
    def change(self, name: str, verb: str) -> None:
        change = getattr(self.loop, f"{verb}_action")
        others = [n for n, state in self.actions.items() if state == "active" and n != name]
        if name not in self.actions:
            with pytest.raises(NotFound, match="no action named"):
                change(name)
        elif self.actions[name] == "retired" or (verb != "resume" and not others):
            with pytest.raises(Conflict, match=r"cannot be undone|last active one"):
                change(name)
        else:
            change(name)
            after = {"pause": "paused", "resume": "active", "retire": "retired"}
            self.actions[name] = after[verb]

    @rule()
    def restart(self) -> None:
        self.loop.close()
        self.loop = Loop.open(self.folder / "a.db", clock=self.clock, warm_up=False)

    @invariant()
    def agrees(self) -> None:
        for id_, one in self.known.items():
            outcome = self.loop.outcome(id_)
            assert (outcome["status"], outcome["value"]) == (one["status"], one["value"])
        assert {a["name"]: a["state"] for a in self.loop.actions()} == self.actions
        self.loop.flush()
        status = self.loop.status()
        waiting = sum(one["status"] == "waiting" for one in self.known.values())
        assert (status["rounds"], status["waiting"]) == (self.n_learned, waiting)

    def teardown(self) -> None:
        self.loop.close()
        shutil.rmtree(self.folder)


TestLoopMachine = LoopMachine.TestCase
TestLoopMachine.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
