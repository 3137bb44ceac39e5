"""Are evaluations the numbers that the formulas give, with refusals where there is no number?"""

import json
from pathlib import Path

import numpy as np
import pytest
from logged_offers import FixedTarget, make_certain_offers, make_offers

import banditsrl
from banditsrl.errors import InvalidArgument, UnknownName
from banditsrl.evaluation.promotion_gate import PromotionGate
from banditsrl.logs.log import Log
from banditsrl.reports.evaluation_findings import Evaluation
from banditsrl.reports.evaluation_report import evaluate

LAW = np.array([0.1, 0.7, 0.2])


@pytest.fixture(scope="module")
def log() -> Log:
    return make_offers()


@pytest.fixture(scope="module")
def found(log: Log) -> Evaluation:
    targets = [FixedTarget(LAW.tolist()), "uniform", "learned:linucb-disjoint"]
    return evaluate(log, targets, reward_range=(0.0, 1.0))


def test_weighted_estimates_are_the_formulas(log: Log, found: Evaluation) -> None:
    rounds = log.collect()
    weights = LAW[rounds.actions] / rounds.propensities
    values = found.targets[0].estimates
    assert values["ips"].value == pytest.approx((weights * rounds.rewards).mean(), abs=1e-12)
    ratio = (weights * rounds.rewards).sum() / weights.sum()
    assert values["snips"].value == pytest.approx(ratio, abs=1e-12)
    assert values["dr"].effective_n == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert found.logged.value == pytest.approx(rounds.rewards.mean())


def test_all_intervals_hold_the_truth_of_this_log(found: Evaluation) -> None:
    """Ages are uniform, so the means over ages are 0.3, 0.5 and 0.35."""
    for target, truth in zip(found.targets, (LAW @ [0.3, 0.5, 0.35], 1.15 / 3), strict=False):
        for name in ("dr", "snips", "ips"):
            value = target.estimates[name]
            assert value.low < truth < value.high
            assert value.always_low < value.low
            assert value.always_high > value.high


def test_a_difference_is_paired_with_the_rewards_of_the_log(log: Log) -> None:
    rounds = log.collect()
    weights = LAW[rounds.actions] / rounds.propensities
    one = evaluate(log, [FixedTarget(LAW.tolist())], estimators=["ips"], reward_range=(0, 1))
    difference = one.targets[0].difference
    assert difference is not None
    terms = (weights - 1.0) * rounds.rewards
    assert difference.value == pytest.approx(terms.mean())
    assert difference.stderr == pytest.approx(terms.std(ddof=1) / np.sqrt(len(terms)))


def test_targets_may_be_compared_with_another_target(log: Log) -> None:
    rounds = log.collect()
    one = evaluate(log, "always:green", against="always:red", estimators=["ips"])
    assert one.reference == "always:red"
    signs = np.array([-1.0, 1.0, 0.0])[rounds.actions]
    difference = one.targets[0].difference
    assert difference is not None
    assert difference.value == pytest.approx((signs * rounds.rewards / rounds.propensities).mean())


def test_nothing_is_said_at_all_times_about_a_target_that_learned_from_later_rows(
    found: Evaluation,
) -> None:
    learned = found.targets[2]
    assert learned.estimates["dr"].always_low == -np.inf
    assert "learned from later rows" in learned.notes[-1]
    assert learned.estimates["dr"].value > found.logged.value


def test_the_gate_is_that_of_the_weights(log: Log) -> None:
    rounds, target = log.collect(), FixedTarget(LAW.tolist())
    judged = evaluate(log, [target], reward_range=(0, 1), gate="not-worse:0.1").gate
    weights = LAW[rounds.actions] / rounds.propensities
    gate = PromotionGate("not-worse:0.1", reward_range=(0, 1))
    assert judged == gate.add(weights, np.ones_like(weights), rounds.rewards)


def test_a_log_that_was_played_for_sure_gives_no_number() -> None:
    refused = evaluate(make_certain_offers(), ["uniform"], reward_range=(0, 1), gate="better:0")
    assert refused.targets[0].estimates == {}
    assert "Every round was played with probability one" in str(refused.targets[0].refusal)
    assert "no number can be given" in refused.text()
    assert refused.gate is not None
    assert not refused.gate.promoted
    assert "uniform plays what could not be played in 66.7% of the rounds" in refused.text()


def test_certificates_without_audits_are_named_as_the_reason() -> None:
    certified = np.ones(300, dtype=bool)
    refused = evaluate(make_certain_offers(certified=certified), ["uniform"])
    assert "100.0% of the rounds were decided by a certificate without audits" in refused.text()


def test_without_propensities_only_the_direct_method_is_offered() -> None:
    blind = evaluate(make_offers(pmf=None), ["uniform"])
    assert list(blind.targets[0].estimates) == ["dm"]
    assert "as wrong as its reward model" in str(blind.targets[0].refusal)
    assert "leave out a bias" in blind.text()
    weighted = evaluate(make_offers(pmf=None), ["uniform"], estimators=["ips"])
    assert weighted.targets[0].estimates == {}


def test_a_policy_may_learn_while_it_is_judged(log: Log) -> None:
    replayed = evaluate(log, ["replay:linucb-disjoint"], estimators=["ips"]).targets[0]
    assert list(replayed.estimates) == ["replay"]
    assert 50 < replayed.estimates["replay"].effective_n < 300
    assert "first" in replayed.notes[0]


def test_the_text_says_what_was_found(found: Evaluation) -> None:
    text = found.text()
    assert text.startswith("arrays: 600 rounds, 3 actions.\nPlays: ")
    assert "candidate minus logged:" in text
    assert "(rewards from 0 to 1, as given)" in text
    assert "learned:linucb-disjoint minus logged" in text


def test_a_dictionary_is_plain_json(found: Evaluation) -> None:
    document = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert document["targets"][2]["estimates"]["dr"]["always_low"] is None
    assert document["targets"][0]["estimates"]["ips"]["value"] == pytest.approx(
        found.targets[0].estimates["ips"].value
    )
    assert document["quality"]["counts"]["red"] == found.quality.counts[0]


def test_the_range_of_the_log_is_assumed_if_none_is_given(log: Log) -> None:
    assumed = evaluate(log, ["uniform"], estimators=["ips"])
    assert (assumed.reward_range, assumed.range_is_given) == ((0.0, 1.0), False)
    assert "which is an assumption" in assumed.text()


def test_a_path_is_read_as_a_log_is(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "rounds.parquet"
    log.write(path)
    plain = evaluate(log, "uniform", estimators=["ips"])
    for given in (path, str(path)):
        read = evaluate(given, "uniform", estimators=["ips"], actions=["red", "green", "blue"])
        assert read.targets[0].estimates == plain.targets[0].estimates
    with pytest.raises(InvalidArgument, match="log must be a path for the arguments actions"):
        evaluate(log, "uniform", actions=["red"])


def test_a_log_says_what_it_is(log: Log, tmp_path: Path) -> None:
    assert repr(log) == "Log(arrays, 600 rounds)"
    path = tmp_path / "rounds.parquet"
    log.write(path)
    read = Log.read(path)
    assert repr(read) == f"Log({path}, not read yet)"
    read.collect()
    assert repr(read) == f"Log({path}, 600 rounds)"


def test_requests_that_make_no_sense_are_refused(log: Log) -> None:
    with pytest.raises(InvalidArgument, match="reward_range must be given for a gate"):
        evaluate(log, "uniform", gate="better:0")
    with pytest.raises(InvalidArgument, match="targets must be exactly one target, and not"):
        evaluate(log, ["uniform", "logged"], gate="better:0", reward_range=(0, 1))
    with pytest.raises(InvalidArgument, match="estimators must be one of ips"):
        evaluate(log, "uniform", estimators=["best"])
    with pytest.raises(InvalidArgument, match="targets must name at least one"):
        evaluate(log, [])
    with pytest.raises(UnknownName):
        evaluate(log, "uniformly")


def test_it_is_part_of_the_package() -> None:
    assert banditsrl.evaluate is evaluate
