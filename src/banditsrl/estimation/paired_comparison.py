"""Which of two targets is better, and by how much? Their difference, round by round, on one log.

Both targets are judged by the same rounds, so what a round does to both cancels: the terms of the
difference are the differences of the terms (`estimator_formulas.py`), with the interval of a mean.
Whether weights are tempered is decided for the difference, since two targets may share a bias.

The anytime-valid interval bets on V_a - V_b (`always_intervals.py`) with D = w_a - w_b, its
positive part D+ and negative part D-, and rewards in [low, high] of spread R:

    D+ (r - low) + D- (high - r) - d R              >= -R
    w_a (r - low) + w_b (high - r) - R              >= -R
    q'_a - q'_b + D (r - q')                        >= -R (1 + 1 / (least propensity))

Here d = sum_b max(pi_a(b | x) - pi_b(b | x), 0) is how often the targets disagree, so that D+ and
D- have the mean d in a round. The first wager is used where d is given, and has no variance where
the targets agree; otherwise the second one is used, which also needs no bound of the weights. The
third is added where the least propensity is known; q' is the middle of the range if there are no
predictions from earlier rows.

Several targets are compared with one baseline at level / k each (Bonferroni), so that all k
intervals hold at once with probability 1 - level.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import one_of, probability
from banditsrl.errors import InvalidArgument
from banditsrl.estimation.always_intervals import (
    USUAL_WEIGHT,
    KnownBounds,
    Wager,
    check_bounds,
    clip_earlier,
    lower_bound,
)
from banditsrl.estimation.estimators import (
    INTERVALS,
    NOWHERE,
    Estimate,
    clip,
    estimator_terms,
    make_estimate,
    term_bounds,
    use_tempered,
)
from banditsrl.estimation.mean_intervals import Interval, bernstein_interval, student_interval
from banditsrl.estimation.target_terms import TargetTerms, effective_sample_size

Floats = NDArray[np.float64]


def compare(
    terms_a: TargetTerms,
    terms_b: TargetTerms,
    *,
    name: str = "dr",
    level: float = 0.05,
    reward_range: tuple[float, float] | None = None,
    least_propensity: float | None = None,
    disagreement: Floats | None = None,
    limit: float | None = None,
    interval: str = "student",
) -> Estimate:
    """Return the value of target a minus that of target b, with intervals.

    Args:
        terms_a: The rounds for target a.
        terms_b: The same rounds for target b.
        name: One of `ESTIMATORS`.
        level: Probability of an interval that does not hold the difference.
        reward_range: Least and largest reward that is possible.
        least_propensity: Least probability of any action that was played, known before.
        disagreement: d of each round, (n,), from `measure_disagreement`.
        limit: Weight limit c.
        interval: "student" or "bernstein".
    """
    probability("level", level)
    one_of("interval", interval, INTERVALS)
    _check_same_rounds(terms_a, terms_b)
    pair = terms_a, terms_b
    known = None
    if reward_range is not None:
        known, _ = (check_bounds(terms, reward_range, least_propensity) for terms in pair)
    first, second = (estimator_terms(name, t, limit=limit, interval=interval) for t in pair)
    fixed, always = student_interval(first - second, level=level), NOWHERE
    if interval == "bernstein":
        fixed = _bernstein(
            first - second, [term_bounds(name, t, known, limit) for t in pair], level
        )
    if known is not None:
        fixed = clip(fixed, (-known.spread, known.spread))
        always = always_difference(*pair, known, level=level, disagreement=disagreement)
    size = min(effective_sample_size(terms.weights) for terms in pair)
    if disagreement is not None and not disagreement.any():  # the targets are the same
        zero, nothing = Interval(0.0, 0.0), np.zeros(len(first))
        return make_estimate(name, nothing, fixed=zero, always=zero, size=size)
    found = make_estimate(name, first - second, fixed=fixed, always=always, size=size)
    return found if interval == "bernstein" else use_tempered(found, first - second, pair)


def compare_several(
    baseline: TargetTerms,
    candidates: Mapping[str, TargetTerms],
    *,
    name: str = "dr",
    level: float = 0.05,
    reward_range: tuple[float, float] | None = None,
    least_propensity: float | None = None,
    disagreements: Mapping[str, Floats] | None = None,
) -> dict[str, Estimate]:
    """Return how much better each candidate is than the baseline; all intervals hold at once."""
    if not candidates:
        raise InvalidArgument("candidates must hold at least one target, got none.")
    return {
        candidate: compare(
            terms,
            baseline,
            name=name,
            level=level / len(candidates),
            reward_range=reward_range,
            least_propensity=least_propensity,
            disagreement=None if disagreements is None else disagreements[candidate],
        )
        for candidate, terms in candidates.items()
    }


def measure_disagreement(pmf_a: Floats, pmf_b: Floats) -> Floats:
    """Return how often two targets play differently in each round, (n,), from pmfs (n, A)."""
    return np.asarray(np.maximum(pmf_a - pmf_b, 0.0).sum(axis=1))


def always_difference(
    terms_a: TargetTerms,
    terms_b: TargetTerms,
    known: KnownBounds,
    *,
    level: float,
    disagreement: Floats | None = None,
) -> Interval:
    """Return bounds of V_a - V_b that hold at all rows at once with probability 1 - level."""
    ends = -known.spread, known.spread
    low, high = (
        lower_bound(difference_wagers(*pair, known, disagreement=disagreement), level / 2.0, ends)
        for pair in ((terms_a, terms_b), (terms_b, terms_a))
    )
    return Interval(low, -high)


def difference_wagers(
    terms_a: TargetTerms,
    terms_b: TargetTerms,
    known: KnownBounds,
    *,
    disagreement: Floats | None = None,
) -> list[Wager]:
    """Return the wagers on V_a - V_b."""
    above, below = terms_a.rewards - known.low, known.high - terms_a.rewards
    gap = terms_a.weights - terms_b.weights
    if disagreement is None:
        values = terms_a.weights * above + terms_b.weights * below - known.spread
    else:
        values = np.maximum(gap, 0.0) * above + np.maximum(-gap, 0.0) * below
        values = values - disagreement * known.spread
    is_known = known.least_propensity is not None
    scale = math.sqrt(known.largest_weight if is_known else USUAL_WEIGHT)
    first = Wager(values, known.spread * scale)
    if not is_known:
        return [first]
    (played, target_a), (_, target_b) = clip_earlier(terms_a, known), clip_earlier(terms_b, known)
    corrected = target_a - target_b + gap * (terms_a.rewards - played)
    return [first, Wager(corrected, known.spread * (1.0 + known.largest_weight))]


def _bernstein(values: Floats, bounds: list[tuple[float, float]], level: float) -> Interval:
    """Return the guaranteed interval of a difference of terms with these bounds."""
    (low_a, high_a), (low_b, high_b) = bounds
    return bernstein_interval(values, bounds=(low_a - high_b, high_a - low_b), level=level)


def _check_same_rounds(terms_a: TargetTerms, terms_b: TargetTerms) -> None:
    """Refuse terms of different rounds, whose differences mean nothing."""
    if not np.array_equal(terms_a.rewards, terms_b.rewards):
        raise InvalidArgument(
            "terms_a and terms_b must be of the same rounds, got "
            f"{len(terms_a.rewards)} and {len(terms_b.rewards)} rounds with different rewards."
        )
