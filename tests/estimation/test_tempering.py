"""Are weights tempered where that helps, and only until the log refutes it? Derived in loops."""

import math

import numpy as np
import pytest
import scipy.stats

from banditsrl.estimation.estimators import estimate
from banditsrl.estimation.mean_intervals import student_interval
from banditsrl.estimation.paired_comparison import compare
from banditsrl.estimation.target_terms import TargetTerms


def draw_rounds(
    rng: np.random.Generator, n: int, *, missed: float = 0.0, even: bool = False
) -> TargetTerms:
    """Return rounds of a target that always plays one action, which seldom happens in half of them.

    The model is wrong by `missed` in that half. The value of the target is 1.
    """
    thin = rng.random(n) < 0.5
    p = np.full(n, 0.3) if even else np.where(thin, 0.02, 0.8)
    played = rng.random(n) < p
    rewards = 1.0 + missed * (thin - 0.5) + rng.normal(size=n)
    return TargetTerms(played / p, rewards, np.ones(n), np.ones(n), propensities=p)


def slow_terms(terms: TargetTerms, power: float) -> np.ndarray:
    """Return the terms of doubly robust with weights w p^power, one round after the other."""
    n, weights, residuals = len(terms.rewards), [], []
    for i in range(n):
        p = float(terms.propensities[i]) if terms.propensities is not None else 1.0
        weights.append(float(terms.weights[i]) * p**power)
        residuals.append(float(terms.rewards[i] - terms.predicted_played[i]))
    b = sum(w * e for w, e in zip(weights, residuals, strict=True)) / sum(weights)
    mean = sum(weights) / n
    return np.array(
        [
            float(terms.predicted_target[i]) + b + weights[i] / mean * (residuals[i] - b)
            for i in range(n)
        ]
    )


def slow_tempered(full: np.ndarray, tempered: np.ndarray) -> float:
    n = len(full)
    difference = float(np.mean(full - tempered))
    if np.var(tempered) >= np.var(full):
        return float(np.mean(full))
    away = [float(f - t) - difference for f, t in zip(full, tempered, strict=True)]
    squares, fourths = sum(a**2 for a in away), sum(a**4 for a in away)
    freedom = min(max(2.0 * n / (n * fourths / squares**2 - 1.0), 1.0), n - 1.0)
    variance = (squares + max(a**2 for a in away)) / (n * (n - 1))
    half = float(scipy.stats.t.ppf(0.975, freedom)) * math.sqrt(variance)
    kept = max(0.0, 1.0 - half**2 / difference**2)
    return float(np.mean(tempered)) + kept * difference


@pytest.mark.parametrize("missed", [0.0, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("seed", range(4))
def test_doubly_robust_is_the_tempered_mean_and_has_the_interval_of_all_weight(
    seed: int, missed: float
) -> None:
    terms = draw_rounds(np.random.default_rng(seed), 500, missed=missed)
    full, tempered = slow_terms(terms, 0.0), slow_terms(terms, 0.5)
    low, high = student_interval(full, level=0.05)
    found = estimate("dr", terms)
    expected = min(max(slow_tempered(full, tempered), low), high)
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)
    assert found.stderr == pytest.approx(estimate("sndr", terms).stderr, rel=1e-12)


def test_a_difference_is_tempered_by_itself() -> None:
    rng = np.random.default_rng(5)
    first = draw_rounds(rng, 400)
    second = first._replace(weights=1.0 * (rng.random(400) < 0.5) / 0.5)
    full, tempered = (slow_terms(first, k) - slow_terms(second, k) for k in (0.0, 0.5))
    assert compare(first, second).value == pytest.approx(slow_tempered(full, tempered), rel=1e-9)
    assert compare(first, first).value == 0.0


def test_a_model_that_is_right_makes_errors_much_smaller() -> None:
    rng = np.random.default_rng(0)
    logs = [draw_rounds(rng, 300) for _ in range(400)]
    errors = {
        name: math.sqrt(np.mean([(estimate(name, terms).value - 1.0) ** 2 for terms in logs]))
        for name in ("dr", "sndr")
    }
    assert errors["dr"] < 0.7 * errors["sndr"]


def test_a_model_that_is_wrong_is_corrected_in_the_limit() -> None:
    """Tempered weights alone would keep an error of more than one."""
    rng = np.random.default_rng(1)
    terms = draw_rounds(rng, 400_000, missed=4.0)
    assert slow_terms(terms, 0.5).mean() < 0.0
    assert estimate("dr", terms).value == pytest.approx(1.0, abs=0.1)


def test_nothing_is_tempered_without_propensities_or_if_they_are_equal() -> None:
    terms = draw_rounds(np.random.default_rng(2), 300, even=True)
    thin = draw_rounds(np.random.default_rng(3), 300)._replace(propensities=None)
    for one in (terms, thin):
        assert estimate("dr", one).value == estimate("sndr", one).value
