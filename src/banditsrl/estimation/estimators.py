"""What would a target have earned on logged rounds? The mean of some terms, with intervals.

The terms are those of `estimator_formulas.py`, the interval for a fixed number of rounds is one of
`mean_intervals.py`, and the one that holds at all rows at once is that of `always_intervals.py`.
The estimate of dr is not that mean: it is tempered (`tempering.py`), within the same interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import one_of, probability
from banditsrl.errors import InvalidArgument
from banditsrl.estimation.always_intervals import (
    SLACK,
    KnownBounds,
    always_interval,
    check_bounds,
)
from banditsrl.estimation.estimator_formulas import ESTIMATORS, weight_limit
from banditsrl.estimation.mean_intervals import (
    Interval,
    bernstein_interval,
    student_interval,
    summarise,
)
from banditsrl.estimation.target_terms import TargetTerms, effective_sample_size
from banditsrl.estimation.tempering import temper

Floats = NDArray[np.float64]

INTERVALS = ("student", "bernstein")
"""Kinds of fixed-sample intervals."""

NOWHERE = Interval(-math.inf, math.inf)


@dataclass(frozen=True)
class Estimate:
    """An estimated value, or an estimated difference of two values.

    Attributes:
        name: Name of the estimator.
        value: The estimate.
        stderr: Its standard error; for "dr" that of full weights, which is larger.
        low: Lower end of the interval for this number of rounds; -inf if nothing can be said.
        high: Its upper end.
        always_low: Lower end of the interval that may be looked at after every round; -inf unless
            the range of the rewards is known.
        always_high: Its upper end.
        n: Number of rounds.
        effective_n: Number of rounds of the target itself that would tell about as much.
    """

    name: str
    value: float
    stderr: float
    low: float
    high: float
    always_low: float
    always_high: float
    n: int
    effective_n: float

    @property
    def always_empty(self) -> bool:
        """Whether no value fits the interval at all times, so that its assumptions do not hold."""
        return self.always_low > self.always_high


def estimate(
    name: str,
    terms: TargetTerms,
    *,
    level: float = 0.05,
    reward_range: tuple[float, float] | None = None,
    least_propensity: float | None = None,
    limit: float | None = None,
    interval: str = "student",
) -> Estimate:
    """Return the value of a target with its intervals.

    Args:
        name: One of `ESTIMATORS`.
        terms: The rounds.
        level: Probability of an interval that does not hold the value.
        reward_range: Least and largest reward that is possible. The anytime-valid interval and
            "bernstein" need it; the other interval ends within it.
        least_propensity: Least probability of any action that was played, known before. "bernstein"
            needs it, and it makes the anytime-valid interval tighter if there are predictions.
        limit: Weight limit c; None means the rule of the estimator.
        interval: "student" or "bernstein", see `mean_intervals.py`.

    Example:
        >>> ones = np.ones(4)
        >>> terms = TargetTerms(2.0 * ones, np.array([0.0, 1.0, 1.0, 0.0]), 0 * ones, 0 * ones)
        >>> estimate("ips", terms).value
        1.0
    """
    probability("level", level)
    one_of("interval", interval, INTERVALS)
    known = None if reward_range is None else check_bounds(terms, reward_range, least_propensity)
    values = estimator_terms(name, terms, limit=limit, interval=interval)
    fixed, always = student_interval(values, level=level), NOWHERE
    if interval == "bernstein":
        bounds = term_bounds(name, terms, known, limit)
        fixed = bernstein_interval(values, bounds=bounds, level=level)
    if known is not None:
        fixed = clip(fixed, (known.low, known.high))
        always = always_interval(terms, known, level=level)
    size = effective_sample_size(terms.weights)
    found = make_estimate(name, values, fixed=fixed, always=always, size=size)
    return found if interval == "bernstein" else use_tempered(found, values, [terms])


def estimator_terms(
    name: str, terms: TargetTerms, *, limit: float | None = None, interval: str = "student"
) -> Floats:
    """Return the terms of an estimator, (n,), whose mean is the estimate; see `INTERVALS`."""
    if len(terms.rewards) == 0:
        raise InvalidArgument("terms must have at least one round, got none.")
    entry = ESTIMATORS[name]
    found = entry.terms if interval == "student" else entry.independent
    if found is None:
        raise InvalidArgument(
            f"interval must be student for {name}, which is a ratio, got {interval}."
        )
    return found(terms, weight_limit(name, terms, limit))


def use_tempered(found: Estimate, values: Floats, pair: Sequence[TargetTerms]) -> Estimate:
    """Return an estimate, or the tempered one within the same interval, if it has one.

    Args:
        found: The estimate with full weights.
        values: Its terms.
        pair: The rounds of the target, and of the target that is subtracted, if there is one.
    """
    make = ESTIMATORS[found.name].tempered
    if make is None:
        return found
    first, *rest = (make(terms, math.inf) for terms in pair)
    value = temper(values, first - rest[0] if rest else first)
    return replace(found, value=min(max(value, found.low), found.high))


def make_estimate(
    name: str, values: Floats, *, fixed: Interval, always: Interval, size: float
) -> Estimate:
    """Return the mean of terms with intervals."""
    found = summarise(values)
    stderr = found.deviation / math.sqrt(found.n)
    return Estimate(name, found.mean, stderr, *fixed, *always, n=found.n, effective_n=size)


def clip(interval: Interval, ends: tuple[float, float]) -> Interval:
    """Return the part of an interval between two ends, at which the quantity is known to lie."""
    return Interval(*(min(max(end, ends[0]), ends[1]) for end in interval))


def term_bounds(
    name: str, terms: TargetTerms, known: KnownBounds | None, limit: float | None
) -> tuple[float, float]:
    """Return the least and the largest value that a term of an estimator can have."""
    if known is None or known.least_propensity is None:
        raise InvalidArgument(
            "reward_range and least_propensity must be given for the interval bernstein."
        )
    if name in ("dm", "dr", "switch-dr") and not _is_within(terms, known):
        raise InvalidArgument(
            "reward_range must hold every prediction for the interval bernstein, "
            f"got ({known.low:g}, {known.high:g})."
        )
    return ESTIMATORS[name].bounds(known, weight_limit(name, terms, limit))


def _is_within(terms: TargetTerms, known: KnownBounds) -> bool:
    """Return whether all predictions are in the range of the rewards."""
    both = np.concatenate([terms.predicted_played, terms.predicted_target])
    slack = SLACK * (abs(known.low) + abs(known.high))
    return bool(both.min() >= known.low - slack and both.max() <= known.high + slack)
