"""Is the difference of two targets paired, and does its interval hold?"""

import math

import numpy as np
import pytest

from banditsrl.errors import InvalidArgument
from banditsrl.estimation.always_intervals import KnownBounds, evidence_at_each_row
from banditsrl.estimation.estimator_formulas import ESTIMATORS
from banditsrl.estimation.estimators import estimate
from banditsrl.estimation.paired_comparison import (
    compare,
    compare_several,
    difference_wagers,
    measure_disagreement,
)
from banditsrl.estimation.target_terms import TargetTerms

A = 3
MEANS = np.array([0.2, 0.5, 0.6])


def two_targets(rng: np.random.Generator, n: int) -> tuple[TargetTerms, TargetTerms, np.ndarray]:
    """Return terms of two targets that agree in most rounds; a is better by 0.2 * 0.3."""
    actions = rng.integers(0, A, n)
    rewards = (rng.random(n) < MEANS[actions]).astype(float)
    first = np.full(n, 1)
    second = np.where(rng.random(n) < 0.2, 0, 1)
    pmfs = np.eye(A)[first], np.eye(A)[second]
    both = [
        TargetTerms(
            3.0 * pmf[np.arange(n), actions], rewards, MEANS[actions], pmf @ MEANS,
            np.full(n, 0.4), np.full(n, 0.4),
        )
        for pmf in pmfs
    ]  # fmt: skip
    return both[0], both[1], measure_disagreement(*pmfs)


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_a_difference_is_that_of_the_estimates(name: str) -> None:
    first, second, _ = two_targets(np.random.default_rng(0), 200)
    found = compare(first, second, name=name)
    expected = estimate(name, first).value - estimate(name, second).value
    assert found.value == pytest.approx(expected, abs=1e-12)


def test_pairing_makes_the_standard_error_smaller() -> None:
    first, second, _ = two_targets(np.random.default_rng(1), 2000)
    errors = [estimate("ips", terms).stderr for terms in (first, second)]
    assert compare(first, second, name="ips").stderr < 0.6 * math.hypot(*errors)


def test_disagreement_is_the_share_of_rounds_played_differently() -> None:
    first, second = np.array([[0.5, 0.5, 0.0]]), np.array([[0.2, 0.5, 0.3]])
    assert measure_disagreement(first, second) == pytest.approx([0.3])


@pytest.mark.parametrize("least", [None, 1.0 / A])
@pytest.mark.parametrize("paired", [True, False])
def test_each_wager_has_the_difference_as_its_mean_and_keeps_its_bound(
    least: float | None, paired: bool
) -> None:
    first, second, apart = two_targets(np.random.default_rng(2), 400_000)
    known = KnownBounds(0.0, 1.0, least)
    wagers = difference_wagers(first, second, known, disagreement=apart if paired else None)
    assert len(wagers) == (1 if least is None else 2)
    for wager in wagers:
        assert wager.values.min() >= -wager.bound
        assert wager.values.mean() == pytest.approx(0.06, abs=0.01)


def test_a_difference_is_missed_at_any_row_in_few_logs() -> None:
    rng = np.random.default_rng(3)
    known, n_logs, missed = KnownBounds(0.0, 1.0, 1.0 / A), 120, 0
    for _ in range(n_logs):
        first, second, apart = two_targets(rng, 300)
        sides = ((first, second), 0.06), ((second, first), -0.06)
        missed += any(
            (
                evidence_at_each_row(difference_wagers(*pair, known, disagreement=apart), truth)
                >= math.log(40.0)
            ).any()
            for pair, truth in sides
        )
    assert missed <= 0.05 * n_logs


def test_knowing_where_targets_agree_makes_the_anytime_interval_tighter() -> None:
    first, second, apart = two_targets(np.random.default_rng(4), 10_000)
    with_it, without = (
        compare(first, second, reward_range=(0.0, 1.0), disagreement=d) for d in (apart, None)
    )
    assert with_it.always_low <= 0.06 <= with_it.always_high
    narrow, wide = (e.always_high - e.always_low for e in (with_it, without))
    assert narrow < 0.6 * wide


def test_several_comparisons_share_the_level() -> None:
    first, second, _ = two_targets(np.random.default_rng(5), 500)
    found = compare_several(second, {"a": first, "same": second}, level=0.1, name="ips")
    alone = compare(first, second, level=0.05, name="ips")
    assert found["a"] == alone
    assert found["same"].value == 0.0


def test_equal_targets_differ_by_nothing_only_if_that_is_known() -> None:
    first, _, _ = two_targets(np.random.default_rng(6), 50)
    known = compare(first, first, disagreement=np.zeros(50))
    assert (known.low, known.high) == (0.0, 0.0)
    assert compare(first, first).high == math.inf


def test_terms_of_other_rounds_are_refused() -> None:
    first, second, _ = two_targets(np.random.default_rng(7), 50)
    other = TargetTerms(*(part[:40] for part in second if part is not None))
    with pytest.raises(InvalidArgument, match="must be of the same rounds, got 50 and 40 rounds"):
        compare(first, other)
