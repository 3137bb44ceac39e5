"""Do anytime-valid bounds hold at every row, and is their capital what betting gives?"""

import math

import numpy as np
import pytest

from banditsrl.estimation.always_intervals import (
    KnownBounds,
    Wager,
    always_interval,
    evidence_at_each_row,
    lower_bound,
    mirror_terms,
    value_wagers,
)
from banditsrl.estimation.target_terms import TargetTerms
from banditsrl.selection.confidence_sequence import BETS


def slow_capital(wagers: list[Wager], quantity: float) -> list[float]:
    """Return the log capital after each row, by multiplying the stakes of every bettor."""
    capitals = [[1.0] * len(BETS) for _ in wagers]
    found = []
    for s in range(len(wagers[0].values)):
        for wager, capital in zip(wagers, capitals, strict=True):
            for i, g in enumerate(BETS):
                won = 1.0 + g * wager.values[s] / wager.bound
                capital[i] *= won / (1.0 + g * quantity / wager.bound)
        found.append(math.log(np.mean([np.mean(capital) for capital in capitals])))
    return found


def rare_rounds(rng: np.random.Generator, n: int, value: float) -> TargetTerms:
    """Return rounds of a target whose actions were played with probability 0.05 or 0.9."""
    p = np.where(rng.random(n) < 0.5, 0.05, 0.9)
    w = (rng.random(n) < p) / p
    r = (rng.random(n) < value).astype(float)
    return TargetTerms(w, r, 0.0 * w, 0.0 * w, np.full(n, 0.4), np.full(n, 0.4))


def test_capital_is_the_product_of_the_stakes() -> None:
    rng = np.random.default_rng(0)
    wagers = [Wager(rng.random(30), 1.3), Wager(rng.normal(0.4, 0.2, 30), 2.0)]
    assert evidence_at_each_row(wagers, 0.35) == pytest.approx(slow_capital(wagers, 0.35))


def test_a_bound_is_where_the_capital_reaches_one_over_the_level() -> None:
    rng = np.random.default_rng(1)
    wagers = [Wager(rng.random(400), 1.0), Wager(rng.normal(0.5, 0.3, 400), 3.0)]
    low = lower_bound(wagers, 0.025, (0.0, 1.0))
    assert 0.0 < low < 0.5
    assert slow_capital(wagers, low)[-1] == pytest.approx(math.log(40.0), rel=1e-6)


@pytest.mark.parametrize("least", [None, 0.05])
def test_a_value_is_missed_at_any_row_in_few_logs(least: float | None) -> None:
    rng = np.random.default_rng(2)
    known, value, n_logs = KnownBounds(0.0, 1.0, least), 0.3, 120
    missed = 0
    for _ in range(n_logs):
        terms = rare_rounds(rng, 400, value)
        sides = (value_wagers(terms, known), value), (
            value_wagers(mirror_terms(terms), known.mirror()), 1.0 - value
        )  # fmt: skip
        missed += any((evidence_at_each_row(w, v) >= math.log(40.0)).any() for w, v in sides)
    assert missed <= 0.05 * n_logs


def test_an_interval_shrinks_around_the_value_without_a_least_propensity() -> None:
    rng = np.random.default_rng(3)
    known = KnownBounds(0.0, 1.0, None)
    few, many = (
        always_interval(rare_rounds(rng, n, 0.3), known, level=0.05) for n in (500, 50_000)
    )
    assert few.low <= 0.3 <= few.high
    assert many.low <= 0.3 <= many.high
    assert many.high - many.low < 0.12 < few.high - few.low


def test_good_predictions_of_earlier_rows_make_it_tighter() -> None:
    rng = np.random.default_rng(4)
    n = 20_000
    w = (rng.random(n) < 0.25) * 4.0
    good = rng.random(n) < 0.5
    r = (rng.random(n) < np.where(good, 0.95, 0.05)).astype(float)
    q = np.where(good, 0.95, 0.05)
    terms = TargetTerms(w, r, 0.0 * w, 0.0 * w, q, q)
    known = KnownBounds(0.0, 1.0, 0.25)
    without = always_interval(terms._replace(earlier_played=None), known, level=0.05)
    with_model = always_interval(terms, known, level=0.05)
    assert with_model.high - with_model.low < 0.7 * (without.high - without.low)


def test_shifting_the_rewards_shifts_the_interval() -> None:
    terms = rare_rounds(np.random.default_rng(5), 1000, 0.3)
    first = always_interval(terms, KnownBounds(0.0, 1.0, None), level=0.1)
    moved = terms._replace(rewards=10.0 * terms.rewards - 3.0)
    second = always_interval(moved, KnownBounds(-3.0, 7.0, None), level=0.1)
    assert second == pytest.approx([10.0 * end - 3.0 for end in first])
