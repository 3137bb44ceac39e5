"""Does a log that refutes its own propensities give no verdict, and keep every gate shut?"""

from typing import Any

import numpy as np
import pytest
from logged_offers import FixedTarget, make_offers
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.estimation.estimators import Estimate
from banditsrl.evaluation.judgement import TargetJudgement
from banditsrl.evaluation.log_quality import examine_log
from banditsrl.evaluation.promotion_gate import PromotionGate
from banditsrl.logs.log import Log
from banditsrl.reports.evaluation_findings import Evaluation
from banditsrl.reports.evaluation_report import evaluate

Floats = NDArray[np.float64]

QUICK: dict[str, Any] = {"estimators": ["ips"], "reward_range": (0, 1)}


def make_gap(*, with_laws: bool, n: int = 4000, seed: int = 5) -> Log:
    """Green could not be played for half of the people; red and blue could be for all."""
    rng = np.random.default_rng(seed)
    old = rng.random(n) < 0.5
    laws = np.where(old[:, None], [0.5, 0.0, 0.5], [0.3, 0.4, 0.3])
    actions = (laws.cumsum(1) < rng.random((n, 1))).sum(1)
    rewards = (rng.random(n) < np.array([0.2, 0.7, 0.3])[actions]).astype(float)
    law = {"pmf": laws} if with_laws else {"propensities": laws[np.arange(n), actions]}
    return Log.from_arrays(
        contexts=old[:, None].astype(float),
        actions=actions,
        rewards=rewards,
        action_names=["red", "green", "blue"],
        **law,
    )


def lie(scale: float = 0.5) -> Log:
    """Propensities that are all too small or too large by one factor."""
    true = make_offers(3000).collect()
    return make_offers(3000, pmf=None, propensities=np.minimum(true.propensities * scale, 1.0))


@pytest.mark.parametrize("with_laws", [True, False])
def test_what_could_not_be_played_is_refused_with_and_without_laws(with_laws: bool) -> None:
    log = make_gap(with_laws=with_laws)
    found = evaluate(log, ["always:green"], gate="not-worse:0.9", **QUICK)
    target, rounds = found.targets[0], log.collect()
    assert (target.estimates, target.difference) == ({}, None)
    assert "so the log cannot tell what it would have earned" in str(target.refusal)
    if not with_laws:
        mean = float(((rounds.actions == 1) / rounds.propensities).mean())
        assert f"The weights of always:green average {mean:.3f} and not one" in found.text()
    assert found.gate is not None
    assert not found.gate.promoted
    assert "earns more" not in found.text()


def test_a_target_that_a_log_without_laws_can_speak_for_is_judged() -> None:
    found = evaluate(make_gap(with_laws=False), ["always:blue"], **QUICK).targets[0]
    assert found.refusal is None
    assert found.estimates["ips"].low < 0.3 < found.estimates["ips"].high


def test_weights_above_one_mean_that_propensities_are_wrong() -> None:
    found = evaluate(lie(0.5), ["uniform"], **QUICK).targets[0]
    assert found.estimates == {}
    assert "average 1.992" in str(found.refusal)
    assert "so the propensities are wrong" in str(found.refusal)


@pytest.mark.parametrize("seed", range(20))
def test_rare_large_weights_that_did_not_come_are_no_proof(seed: int) -> None:
    """Six rounds of weight 500 are expected in 3,000; by chance there may be two."""
    rng = np.random.default_rng(seed)
    actions = (rng.random(3000) < 0.002).astype(int)
    actions[0] = 1
    log = Log.from_arrays(
        contexts=rng.random((3000, 1)),
        actions=actions,
        rewards=np.zeros(3000),
        propensities=np.where(actions == 1, 0.002, 0.998),
    )
    overlap = examine_log(log, FixedTarget([0.0, 1.0])).overlap
    assert overlap is not None
    assert not overlap.weights_off


def test_the_difference_to_a_reference_without_support_is_not_given() -> None:
    log = make_gap(with_laws=False)
    found = evaluate(log, ["always:blue"], against="always:green", gate="better:0", **QUICK)
    assert found.targets[0].difference is None
    assert "No difference is given: The weights of always:green average" in found.text()
    assert found.gate is not None
    assert "stays shut: the weights of always:green average" in found.gate.sentence


def refute_in_segments() -> Log:
    """Claims even play; the weights of a target that mixes evenly average one all the same."""
    rng = np.random.default_rng(0)
    old = rng.random(6000) < 0.5
    often = rng.random(6000) < 0.8
    actions = np.where(often, old, ~old).astype(int)
    rewards = (rng.random(6000) < np.where(actions == 1, 0.9, 0.2)).astype(float)
    ways: dict[str, Any] = {"propensities": np.full(6000, 0.5), "action_names": ["red", "green"]}
    contexts = np.stack([old, rng.random(6000)], axis=1).astype(float)
    return Log.from_arrays(contexts=contexts, actions=actions, rewards=rewards, **ways)


def test_a_gate_stays_shut_if_the_propensities_do_not_fit_the_plays() -> None:
    found = evaluate(refute_in_segments(), ["always:green"], gate="better:0.01", **QUICK)
    overlap, gate = found.targets[0].overlap, found.gate
    assert overlap is not None
    assert gate is not None
    assert not overlap.weights_off  # so that the other test decides
    assert (gate.promoted, gate.low > 0.01) == (False, True)
    assert "stays shut: the propensities do not fit the plays" in gate.sentence
    assert "nothing follows" in found.text()


def test_a_gate_refuses_bounds_that_contradict_each_other() -> None:
    """With weights of two in every round, the candidate would be both better and worse."""
    rewards = np.tile([0.0, 1.0], 300)
    verdict = PromotionGate("better:0", reward_range=(0, 1)).add(
        np.full(600, 2.0), np.ones(600), rewards
    )
    assert verdict.low > 0 > verdict.high
    assert not verdict.promoted
    assert "so the propensities or the range of rewards are wrong" in verdict.sentence


def test_bounds_of_a_difference_hold_it() -> None:
    rng = np.random.default_rng(2)
    second = rng.random(2000) < 0.5
    rewards = (rng.random(2000) < np.where(second, 0.7, 0.3)).astype(float)
    gate = PromotionGate("better:0", reward_range=(0, 1))
    verdict = gate.add(np.where(second, 2.0, 0.0), np.ones(2000), rewards)
    mirrored = PromotionGate("better:0", reward_range=(0, 1))
    other = mirrored.add(np.ones(2000), np.where(second, 2.0, 0.0), rewards)
    assert verdict.low < 0.2 < verdict.high
    assert verdict.high == pytest.approx(-other.low)


def write_with(found: Evaluation, **changes: Any) -> str:
    """Return the text of an evaluation whose first target is changed."""
    target = TargetJudgement(**{**found.targets[0].__dict__, **changes})
    return Evaluation(**{**found.__dict__, "targets": (target,)}).text()


def test_an_empty_interval_is_a_sentence() -> None:
    empty = Estimate("ips", 0.5, 0.1, 0.3, 0.7, 1.0, 0.015, 100, 50.0)
    found = evaluate(make_offers(), ["always:green"], **QUICK)
    text = write_with(found, estimates={"ips": empty})
    assert "none fits" in text
    assert "1.000 to 0.015" not in text
    assert "so nothing follows" in text
    judged = TargetJudgement("always:green", estimates={"ips": empty})
    assert "the propensities or the range of rewards are wrong" in str(judged.contradiction)


def test_the_same_policy_differs_by_nothing() -> None:
    found = evaluate(make_offers(), ["logged"], estimators=["dr"], reward_range=(0, 1))
    difference = found.targets[0].difference
    assert difference is not None
    ends = (difference.low, difference.high, difference.always_low, difference.always_high)
    assert (difference.value, difference.stderr, *ends) == (0.0,) * 6
    assert "logged minus logged: 0, since they play the same." in found.text()


@pytest.mark.parametrize("ends", [(1, 0), (0.5, 0.5)])
def test_a_range_of_rewards_must_increase(ends: tuple[float, float]) -> None:
    words = f"reward range must be LOW HIGH with LOW < HIGH, got {ends[0]} {ends[1]}"
    with pytest.raises(InvalidArgument, match=words):
        evaluate(make_offers(), ["uniform"], reward_range=ends)
