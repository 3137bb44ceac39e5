"""Do intervals for a fixed number of terms cover what they promise?"""

import math

import numpy as np
import pytest
from scipy import stats

from banditsrl.estimation.mean_intervals import (
    bernstein_interval,
    student_interval,
    summarise,
)


def coverage(draw, mean: float, n_samples: int = 2000) -> float:
    """Return how often the interval of level 5% holds the mean."""
    hits = 0
    for _ in range(n_samples):
        low, high = student_interval(draw(), level=0.05)
        hits += low <= mean <= high
    return hits / n_samples


def test_moments_are_those_of_scipy() -> None:
    values = np.random.default_rng(0).exponential(size=50)
    found = summarise(values)
    assert found.kurtosis == pytest.approx(stats.kurtosis(values, fisher=False))
    assert found.deviation == pytest.approx(values.std(ddof=1))


def test_the_interval_is_its_formula() -> None:
    values = np.random.default_rng(4).exponential(size=40)
    centred = [value - sum(values) / 40 for value in values]
    squares = sum(c * c for c in centred) + max(abs(c) for c in centred) ** 2
    freedom = 2.0 * 40 / (stats.kurtosis(values, fisher=False) - 1.0)
    half = stats.t.ppf(0.95, freedom) * math.sqrt(squares / (40 * 39))
    expected = values.mean() - half, values.mean() + half
    assert student_interval(values, level=0.1) == pytest.approx(expected)


def test_normal_terms_have_nearly_the_interval_of_student() -> None:
    values = np.random.default_rng(1).normal(2.0, 3.0, 400)
    found = student_interval(values, level=0.05)
    expected = stats.t.interval(0.95, 399, values.mean(), stats.sem(values))
    assert found == pytest.approx(expected, abs=0.02 * values.std())


def test_terms_that_are_all_equal_say_nothing() -> None:
    assert student_interval(np.full(10, 0.3), level=0.05) == (-math.inf, math.inf)
    assert student_interval(np.array([1.0]), level=0.05) == (-math.inf, math.inf)


def test_weighted_rare_terms_are_covered_where_the_plain_interval_fails() -> None:
    """Of 300 terms about eight are 40, and the others are 0: an action that was seldom played."""
    rng = np.random.default_rng(2)
    p = 8.0 / 300.0
    assert 0.93 <= coverage(lambda: 40.0 * (rng.random(300) < p), 40.0 * p) <= 0.985
    values = [40.0 * (rng.random(300) < p) for _ in range(2000)]
    plain = np.mean([abs(v.mean() - 40.0 * p) <= 1.96 * stats.sem(v) for v in values])
    assert plain < 0.93


def test_bernstein_is_the_published_formula_and_wider() -> None:
    values = np.random.default_rng(3).random(200)
    low, high = bernstein_interval(values, bounds=(0.0, 1.0), level=0.05)
    log_term = math.log(4.0 / 0.05)
    half = math.sqrt(2.0 * values.var(ddof=1) * log_term / 200) + 7.0 * log_term / (3.0 * 199)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half))
    narrow = student_interval(values, level=0.05)
    assert low < narrow.low < narrow.high < high
