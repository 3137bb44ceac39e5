"""Does a gate let a candidate through exactly if its evidence is there, and seldom otherwise?"""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.evaluation.gate_verdict import read_gate
from banditsrl.evaluation.promotion_gate import STAKES, PromotionGate
from banditsrl.selection.confidence_sequence import (
    BETS,
    add_observation,
    empty_bets,
    evidence_against,
)

Floats = NDArray[np.float64]


def simulate(
    n: int, value: float, seed: int, *, current: float = 0.5
) -> tuple[Floats, Floats, Floats]:
    """Two actions, logged evenly; the candidate plays the second, the current policy wrote it."""
    rng = np.random.default_rng(seed)
    second = rng.random(n) < 0.5
    first_mean = 2 * current - value
    rewards = (rng.random(n) < np.where(second, value, first_mean)).astype(float)
    return np.where(second, 2.0, 0.0), np.ones(n), rewards


def capital_against(differences: Floats, threshold: float) -> float:
    """The average over stakes of the capital, by a loop; rewards in [0, 1]."""
    capitals = []
    for stake in STAKES:
        capital = 1.0
        for d in differences:
            capital *= (1 + stake * d) / (1 + stake * threshold)
        capitals.append(capital)
    return float(np.mean(capitals))


@pytest.mark.parametrize(
    ("words", "threshold"), [("better:0.01", 0.01), ("not-worse:0.02", -0.02), ("better:0", 0.0)]
)
def test_words_name_a_rule(words: str, threshold: float) -> None:
    assert read_gate(words).threshold == threshold
    assert str(read_gate(words)) == words


@pytest.mark.parametrize("words", ["better", "worse:0.1", "better:", "better:much", "better:-0.1"])
def test_other_words_are_refused(words: str) -> None:
    with pytest.raises(InvalidArgument, match=r"gate must be better:MARGIN|margin must be"):
        read_gate(words)


def test_the_gate_opens_where_the_capital_of_a_loop_says_so() -> None:
    weights, ones, rewards = simulate(300, 0.7, 1)
    differences = (weights - 1) * rewards
    limit = 1 / 0.05
    first = next(n for n in range(1, 301) if capital_against(differences[:n], 0.01) > limit)
    gate = PromotionGate("better:0.01", reward_range=(0.0, 1.0))
    for start in range(0, 300, 70):  # in pieces, as a stream comes
        some = slice(start, start + 70)
        verdict = gate.add(weights[some], ones[some], rewards[some])
    assert verdict.first_round == first
    assert verdict.n == 300
    assert verdict.difference == pytest.approx(differences.mean())
    assert verdict.promoted == (capital_against(differences, 0.01) > limit)


def test_the_lower_bound_is_where_the_capital_is_one_over_the_level() -> None:
    weights, ones, rewards = simulate(500, 0.65, 2)
    verdict = PromotionGate("better:0", reward_range=(0.0, 1.0)).add(weights, ones, rewards)
    capital = capital_against((weights - 1) * rewards, verdict.low)
    assert math.log(capital) == pytest.approx(math.log(20), abs=1e-6)
    assert verdict.low < 0.15


def test_a_reference_that_did_not_write_the_log_has_weights_of_its_own() -> None:
    """The difference of two constant policies on an even log, in another unit of reward."""
    rng = np.random.default_rng(3)
    second = rng.random(4000) < 0.5
    rewards = 10.0 * (rng.random(4000) < np.where(second, 0.7, 0.3)) - 5.0
    gate = PromotionGate("better:1", reward_range=(-5.0, 5.0))
    verdict = gate.add(np.where(second, 2.0, 0.0), np.where(second, 0.0, 2.0), rewards)
    direct = rewards[second].mean() - rewards[~second].mean()
    assert verdict.difference == pytest.approx(direct, abs=0.5)
    assert verdict.promoted
    assert 1.0 < verdict.low < direct


def test_a_candidate_that_is_not_good_enough_is_seldom_let_through() -> None:
    """200 equal candidates watched at every round; 5% are allowed, and 20 has chance 1e-3."""
    n_open = 0
    for seed in range(200):
        gate = PromotionGate("better:0", reward_range=(0.0, 1.0))
        n_open += gate.add(*simulate(400, 0.5, seed)).first_round is not None
    assert n_open <= 20


def test_not_worse_is_easier_than_better() -> None:
    rounds = simulate(4000, 0.5, 4)
    judged = {
        words: PromotionGate(words, reward_range=(0, 1)).add(*rounds).promoted
        for words in ("better:0.1", "better:0", "not-worse:0.2")
    }
    assert judged == {"better:0.1": False, "better:0": False, "not-worse:0.2": True}


def test_folds_share_the_capital() -> None:
    weights, ones, rewards = simulate(600, 0.7, 5)
    folds = np.arange(600) % 3
    gate = PromotionGate("better:0", reward_range=(0, 1), n_folds=3)
    verdict = gate.add(weights, ones, rewards, folds)
    differences = (weights - 1) * rewards
    shared = np.mean([capital_against(differences[folds == k], 0.0) for k in range(3)])
    assert verdict.promoted == (shared > 20)
    assert verdict.first_round is None


def test_a_verdict_says_why_in_one_sentence() -> None:
    gate = PromotionGate("better:0.01", reward_range=(0, 1))
    opened = gate.add(*simulate(2000, 0.8, 6))
    assert opened.sentence.startswith("The gate better:0.01 is open: from 2,000 rounds")
    shut = PromotionGate("better:0.01", reward_range=(0, 1)).judge("the log has no rounds.")
    assert shut.sentence == "The gate better:0.01 stays shut: the log has no rounds."
    assert (shut.promoted, shut.as_dict()["difference"]) == (False, None)


def test_rewards_outside_the_range_are_refused() -> None:
    gate = PromotionGate("better:0", reward_range=(0, 1))
    with pytest.raises(InvalidArgument, match=r"rewards must lie between 0 and 1, got 1\.5"):
        gate.add(np.ones(2), np.ones(2), np.array([0.0, 1.5]))
    with pytest.raises(InvalidArgument, match="must be LOW HIGH with LOW < HIGH, got 1 1"):
        PromotionGate("better:0", reward_range=(1, 1))


def test_the_capital_is_that_of_the_audits() -> None:
    """The gate computes in NumPy what `selection.confidence_sequence` computes in JAX."""
    weights, ones, rewards = simulate(800, 0.7, 7)
    bets, bound = empty_bets(1), 1.0
    for d in ((weights - 1) * rewards)[:50]:
        bets = add_observation(bets, np.array([-d]), bound)
    audits = float(evidence_against(bets, -0.02)[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("banditsrl.evaluation.promotion_gate.STAKES", BETS)
        gate = PromotionGate("better:0.02", reward_range=(0, 1))
        verdict = gate.add(weights[:50], ones[:50], rewards[:50])
        refuted = PromotionGate("better:0.02", reward_range=(0, 1), level=math.exp(-audits) * 1.001)
        barely = refuted.add(weights[:50], ones[:50], rewards[:50])
        missed = PromotionGate("better:0.02", reward_range=(0, 1), level=math.exp(-audits) * 0.999)
        not_quite = missed.add(weights[:50], ones[:50], rewards[:50])
    assert verdict.n == 50
    assert (barely.promoted, not_quite.promoted) == (True, False)
