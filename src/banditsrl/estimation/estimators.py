"""What would a target have earned on logged rounds? Six estimators, each a mean of terms.

With the notation of `target_terms.py` (weight w, reward r, predictions q = q(x, a) and q_pi =
sum_b pi(b | x) q(x, b)), a shift b of predictions and a weight limit c, the terms of a round are

    ips          w r
    clipped-ips  min(w, c) r
    snips        v + w (r - v) / mean(w),  v = sum(w r) / sum(w)
    dm           q_pi
    dr           q_pi + b + w (r - q - b)
    switch-dr    q_pi + w (r - q) if w <= c, otherwise q_pi

The estimate is the mean of the terms. Inverse propensity (ips), and doubly robust (dr) with
predictions and shifts that have not seen the round, have no bias if the propensities are right. The
shift is zero in the published formula; `term_calibration.py` says where it comes from. The ratio
snips is written as v plus its linear part: the terms have the mean v, and their standard deviation
over sqrt(n) is the standard error of the ratio (delta method).

The other three trade bias for variance: the direct method (dm) is as wrong as its model,
clipped-ips loses what is cut, and switch-dr trusts the model where weights are large. Their
intervals are about the mean of their own terms and know nothing of the bias.

Unless a limit is given, that of clipped-ips is c = sqrt(n). Since E w = 1, the cut then vanishes as
the log grows. That of switch-dr is chosen among quantiles of the weights, zero (dm) and infinity
(dr) by the least estimated squared error,

    var(terms) / n + max(B^2 - var(dropped) / n, 0),

where the dropped parts w (r - q) of rounds with w > c have the mean B, the estimated bias.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import one_of, positive, probability
from banditsrl.errors import InvalidArgument
from banditsrl.estimation.always_intervals import (
    SLACK,
    KnownBounds,
    always_interval,
    check_bounds,
)
from banditsrl.estimation.mean_intervals import (
    Interval,
    bernstein_interval,
    student_interval,
    summarise,
)
from banditsrl.estimation.target_terms import TargetTerms, effective_sample_size
from banditsrl.registry import Registry

Floats = NDArray[np.float64]

INTERVALS = ("student", "bernstein")
"""Kinds of fixed-sample intervals."""

SWITCH_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Quantiles of the positive weights that switch-dr tries as its limit."""

NOWHERE = Interval(-math.inf, math.inf)


class Estimator(NamedTuple):
    """One way to estimate a value."""

    terms: Callable[[TargetTerms, float], Floats]  # from the terms of a target and the limit c
    bounds: Callable[[KnownBounds, float], tuple[float, float]] | None  # of a term; None: no mean
    biased: bool  # whether its interval leaves a bias out


ESTIMATORS = Registry[Estimator]("estimator")


@dataclass(frozen=True)
class Estimate:
    """An estimated value, or an estimated difference of two values.

    Attributes:
        name: Name of the estimator.
        value: The estimate.
        stderr: Its standard error.
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
    if interval == "bernstein":
        terms = terms._replace(shifts=None)  # a shifted prediction may leave the range
    values = estimator_terms(name, terms, limit=limit)
    fixed, always = student_interval(values, level=level), NOWHERE
    if interval == "bernstein":
        bounds = term_bounds(name, terms, known, limit)
        fixed = bernstein_interval(values, bounds=bounds, level=level)
    if known is not None:
        fixed = clip(fixed, (known.low, known.high))
        always = always_interval(terms, known, level=level)
    size = effective_sample_size(terms.weights)
    return make_estimate(name, values, fixed=fixed, always=always, size=size)


def estimator_terms(name: str, terms: TargetTerms, *, limit: float | None = None) -> Floats:
    """Return the terms of an estimator, (n,), whose mean is the estimate."""
    n = len(terms.rewards)
    if n == 0:
        raise InvalidArgument("terms must have at least one round, got none.")
    entry = ESTIMATORS[name]
    return entry.terms(terms, weight_limit(name, terms, limit))


def weight_limit(name: str, terms: TargetTerms, limit: float | None) -> float:
    """Return the limit c of the weights: the one that is given, or that of the estimator's rule."""
    if limit is not None:
        return positive("limit", limit)
    return choose_switch(terms) if name == "switch-dr" else math.sqrt(len(terms.rewards))


def choose_switch(terms: TargetTerms) -> float:
    """Return the limit of switch-dr with the least estimated squared error."""
    n, some = len(terms.weights), terms.weights[terms.weights > 0.0]
    between = np.unique(np.quantile(some, SWITCH_QUANTILES)) if len(some) else some
    best, least = math.inf, math.inf
    for limit in (math.inf, *between[::-1], 0.0):
        values = _switch_dr(terms, float(limit))
        dropped = _switch_dr(terms, math.inf) - values
        bias = max(float(dropped.mean()) ** 2 - float(dropped.var()) / n, 0.0)
        error = float(values.var()) / n + bias
        if error < least:
            best, least = float(limit), error
    return best


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
    found = ESTIMATORS[name].bounds
    if found is None:
        raise InvalidArgument(f"interval must be student for {name}, which is a ratio.")
    if known is None or known.least_propensity is None:
        raise InvalidArgument(
            "reward_range and least_propensity must be given for the interval bernstein."
        )
    if name in ("dm", "dr", "switch-dr") and not _is_within(terms, known):
        raise InvalidArgument(
            "reward_range must hold every prediction for the interval bernstein, "
            f"got ({known.low:g}, {known.high:g})."
        )
    return found(known, weight_limit(name, terms, limit))


def _is_within(terms: TargetTerms, known: KnownBounds) -> bool:
    """Return whether all predictions are in the range of the rewards."""
    both = np.concatenate([terms.predicted_played, terms.predicted_target])
    slack = SLACK * (abs(known.low) + abs(known.high))
    return bool(both.min() >= known.low - slack and both.max() <= known.high + slack)


def _ips(terms: TargetTerms, _: float) -> Floats:
    return terms.weights * terms.rewards


def _clipped_ips(terms: TargetTerms, limit: float) -> Floats:
    return np.minimum(terms.weights, limit) * terms.rewards


def _snips(terms: TargetTerms, _: float) -> Floats:
    total = float(terms.weights.sum())
    if total == 0.0:
        raise InvalidArgument("weights must have a positive sum for snips, got only zeros.")
    value = float((terms.weights * terms.rewards).sum()) / total
    share = terms.weights * (len(terms.weights) / total)
    return value + share * (terms.rewards - value)


def _dm(terms: TargetTerms, _: float) -> Floats:
    return terms.predicted_target


def _dr(terms: TargetTerms, _: float) -> Floats:
    shifts = 0.0 if terms.shifts is None else terms.shifts
    residuals = terms.rewards - terms.predicted_played - shifts
    return terms.predicted_target + shifts + terms.weights * residuals


def _switch_dr(terms: TargetTerms, limit: float) -> Floats:
    weights = np.where(terms.weights <= limit, terms.weights, 0.0)
    return terms.predicted_target + weights * (terms.rewards - terms.predicted_played)


def _weighted_bounds(known: KnownBounds, largest: float) -> tuple[float, float]:
    """Return the bounds of w r for weights in [0, largest]."""
    return min(0.0, largest * known.low), max(0.0, largest * known.high)


def _corrected_bounds(known: KnownBounds, largest: float) -> tuple[float, float]:
    """Return the bounds of q_pi + w (r - q) for weights in [0, largest]."""
    return known.low - largest * known.spread, known.high + largest * known.spread


def _cut(known: KnownBounds, limit: float) -> float:
    return min(known.largest_weight, limit)


ESTIMATORS.add("ips", Estimator(_ips, lambda b, _: _weighted_bounds(b, b.largest_weight), False))
ESTIMATORS.add(
    "clipped-ips", Estimator(_clipped_ips, lambda b, c: _weighted_bounds(b, _cut(b, c)), True)
)
ESTIMATORS.add("snips", Estimator(_snips, None, False))
ESTIMATORS.add("dm", Estimator(_dm, lambda b, _: (b.low, b.high), True))
ESTIMATORS.add("dr", Estimator(_dr, lambda b, _: _corrected_bounds(b, b.largest_weight), False))
ESTIMATORS.add(
    "switch-dr", Estimator(_switch_dr, lambda b, c: _corrected_bounds(b, _cut(b, c)), True)
)
