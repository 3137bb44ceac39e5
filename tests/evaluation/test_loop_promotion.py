"""Does a loop promote a model version only if its own log speaks for it, and say why?"""

import contextlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from banditsrl import Loop
from banditsrl.cli.commands import app
from banditsrl.core.policy import State
from banditsrl.errors import Conflict, InvalidArgument, NotFound
from banditsrl.evaluation.loop_promotion import LoopVerdict, judge_version
from banditsrl.live.fold import PendingTraining
from banditsrl.live.loop_changes import start_training
from banditsrl.live.loop_opening import find_config
from banditsrl.live.model_shelf import add_model
from banditsrl.live.programs import LearnedRound
from banditsrl.live_store.decision_rows import to_bytes
from banditsrl.live_store.state_bytes import pack_state
from banditsrl.live_store.store_address import open_store

pytestmark = pytest.mark.usefixtures("without_training")

EPSILON = 0.4

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "egreedy",
    "settings": {"epsilon": EPSILON},
    "spare_actions": 0,
    "reward": {"range": [0, 1]},
}


def learn_favourite(loop: Loop, favourite: int) -> State:
    """Return a state that finds one action better than the other."""
    programs, encoder = loop._engine.programs, loop._engine.encoder
    state, pmf = programs.start(), np.full(2, 0.5)
    for t in range(60):
        features = encoder.encode({"age": t % 7 / 7.0}, [])
        reward = float(t % 2 == favourite)
        one = LearnedRound(features, t % 2, pmf, False, np.nan, np.inf, 0, False, reward, True)
        state = programs.learn(state, one)
    return state


def publish(loop: Loop, state: State) -> None:
    """Publish a state as the next model version, as a training does."""
    engine = loop._engine
    position = engine.write(partial(start_training, known=engine.fold.position, time=0.0))
    assert position is not None
    engine.flush()
    pending = PendingTraining(position=position, rounds=0, state=None, erased=0)
    about = {"settings": engine.shelf.settings, "time": 0.0, "evaluation": {}}
    change = partial(add_model, pending=pending, kept=pack_state(state), **about)
    engine.change(lambda ledger: change(ledger) or 0)


def play(loop: Loop, n: int, seed: int) -> None:
    """Play rounds in which green earns 0.8 and red 0.2 on average."""
    rng = np.random.default_rng(seed)
    requests = [{"context": {"age": age}} for age in rng.random(n)]
    decisions = [d for i in range(0, n, 50) for d in loop.decide_many(requests[i : i + 50])]
    means = {"red": 0.2, "green": 0.8}
    rewards = [{"id": d.id, "value": float(rng.random() < means[d.action])} for d in decisions]
    loop.reward_many(rewards)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, without_training: None) -> Path:
    """A store whose version 1 prefers red and decides, and whose version 2 prefers green."""
    path = tmp_path_factory.mktemp("promotion") / "offers.db"
    with Loop.create(path, CONFIG, warm_up=False) as loop:
        for favourite in (0, 1):
            publish(loop, learn_favourite(loop, favourite))
        loop.promote(1)
        loop.set_mode("frozen")
        play(loop, 300, 1)
    return path


@pytest.fixture
def store(prepared: Path, tmp_path: Path) -> Path:
    path = tmp_path / "copy.db"
    with contextlib.closing(open_store(prepared, create=False)) as opened:
        opened.backup(path)
    return path


def judge(path: Path, version: int, gate: str, **ways: Any) -> LoopVerdict:
    with contextlib.closing(open_store(path, create=False)) as opened:
        return judge_version(opened, find_config(opened, None), version, gate, **ways)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["loop", *words], catch_exceptions=False)
    return result.exit_code, result.stdout


def test_the_difference_is_that_of_a_loop_over_decisions(store: Path) -> None:
    found = judge(store, 2, "better:0.01")
    with Loop.open(store, warm_up=False, learner=False) as loop:
        decisions = loop.decisions(last=300)
        differences = []
        for decision in decisions:
            reward = loop.outcome(decision.id)["value"]
            green = decision.action == "green"
            wanted = (1 - EPSILON) * green + EPSILON / 2
            differences.append((wanted / decision.probability - 1) * reward)
    assert found.verdict.n == 300
    assert found.verdict.difference == pytest.approx(np.mean(differences))
    assert found.verdict.promoted
    assert 0.01 < found.verdict.low < 0.36  # the truth is 0.6 times 0.6
    assert (found.version, found.current, found.unsupported) == (2, 1, 0.0)


def test_a_promotion_and_its_evidence_are_in_the_log_and_can_be_undone(store: Path) -> None:
    status, said = run("promote", str(store), "2", "--gate", "better:0.01", "--from-log")
    assert (status, "Version 2 decides now" in said) == (0, True)
    assert "The gate better:0.01 is open: from 300 rounds" in said
    with Loop.open(store, warm_up=False, learner=False) as loop:
        record = [one for one in loop.log() if one["kind"] == "promoted"][-1]
        evidence = record["body"]["evidence"]
        assert (record["body"]["version"], evidence["current"], evidence["n"]) == (2, 1, 300)
        assert evidence["low"] > 0.01
        assert loop.status()["model"] == 2
        loop.promote(1)
        assert loop.status()["model"] == 1
        assert loop.decide({"age": 0.5}).model == 1


def test_a_worse_version_is_not_promoted(store: Path) -> None:
    with Loop.open(store, warm_up=False, learner=False) as loop:
        loop.promote(2)
        play(loop, 200, 2)
    status, said = run("promote", str(store), "1", "--gate", "not-worse:0.05", "--json")
    found = json.loads(said)
    assert (status, found["promoted"], found["n"]) == (3, False, 200)
    assert found["difference"] < 0
    with Loop.open(store, warm_up=False, learner=False) as loop:
        assert loop.status()["model"] == 2


def test_a_gate_stays_shut_if_the_logged_laws_do_not_fit_the_plays(store: Path) -> None:
    with contextlib.closing(open_store(store, create=False)) as opened, opened.write() as cursor:
        cursor.execute("UPDATE decisions SET law = ?", (to_bytes(np.array([0.5, 0.5])),))
    status, said = run("promote", str(store), "2", "--gate", "not-worse:0.9")
    assert status == 3
    assert "stays shut: the propensities do not fit the plays: " in said
    assert "should have been played 150 times" in said


def test_rounds_before_both_versions_existed_do_not_count(store: Path) -> None:
    with Loop.open(store, warm_up=False, learner=False) as loop:
        loop.set_mode("learn")
        publish(loop, learn_favourite(loop, 1))
        loop.promote(1)
    refused = judge(store, 3, "better:0").verdict
    assert (refused.promoted, refused.n) == (False, 0)
    assert refused.refusal == (
        "no round with a reward was decided by version 1 after both versions were trained."
    )


def test_a_deterministic_baseline_of_shadow_mode_is_a_reason_to_refuse(store: Path) -> None:
    with Loop.open(store, warm_up=False, learner=False) as loop:
        loop.promote(2)
        loop.set_mode("shadow")
        for age in range(20):
            decision = loop.decide({"age": age / 20}, baseline="red")
            loop.reward(decision.id, 0.5)
    found = judge(store, 1, "better:0")
    assert (found.n_shadow, found.verdict.promoted) == (20, False)
    assert found.unsupported == pytest.approx(EPSILON / 2)
    assert found.verdict.refusal == (
        "version 1 plays what could not be played in 20.0% of the rounds, since in shadow mode the "
        "baseline plays one action for sure."
    )


def test_evidence_of_another_time_is_refused(store: Path) -> None:
    evidence = judge(store, 2, "better:0.01").evidence
    with Loop.open(store, warm_up=False, learner=False) as loop:
        loop.promote(0)
        with pytest.raises(Conflict, match="Another model version has started to decide"):
            loop.promote(2, evidence=evidence)
        assert loop.status()["model"] == 0


def test_requests_that_cannot_be_judged_are_refused(store: Path) -> None:
    assert judge(store, 1, "better:0").verdict.refusal == "version 1 decides already."
    with pytest.raises(NotFound, match="no model version 9"):
        judge(store, 9, "better:0")
    with contextlib.closing(open_store(store, create=False)) as opened:
        config = find_config(opened, None)
        unbounded = replace(config, reward=replace(config.reward, low=None, high=None))
        with pytest.raises(InvalidArgument, match="range must be given in the reward settings"):
            judge_version(opened, unbounded, 2, "better:0")


def test_evaluate_reads_the_store_and_its_versions(store: Path) -> None:
    """All rounds are of version 1, so the gate of `evaluate` sees what that of the loop sees."""
    words = ("--target", "version:2", "--estimator", "ips", "--gate", "better:0.01", "--json")
    result = CliRunner().invoke(
        app, ["evaluate", str(store), *words, "--reward-range", "0", "1"], catch_exceptions=False
    )
    found, verdict = json.loads(result.stdout)["gate"], judge(store, 2, "better:0.01").verdict
    assert result.exit_code == 0
    assert found["n"] == verdict.n
    assert found["low"] == pytest.approx(verdict.low)
    assert found["difference"] == pytest.approx(verdict.difference)


def test_rounds_behind_one_that_still_waits_do_not_count(store: Path) -> None:
    """Clicks come at once and their absence later, so recent rounds that are settled flatter."""
    with Loop.open(store, warm_up=False, learner=False) as loop:
        waiting = loop.decide({"age": 0.5})
        play(loop, 50, 3)
    assert judge(store, 2, "better:0").verdict.n == 350
    with contextlib.closing(open_store(store, create=False)) as opened:
        config = find_config(opened, None)
        waits = replace(config, reward=replace(config.reward, wait=60.0))
        found = judge_version(opened, waits, 2, "better:0")
    assert (found.verdict.n, found.end) == (300, waiting.position - 1)
    assert found.last == found.end + 1 + 100
