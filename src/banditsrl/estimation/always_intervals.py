"""Where does a target's value lie, whenever one looks? Bounds by betting, valid at every row.

The bound is that of `selection/confidence_sequence.py`, which the audits use as well. A *wager* is
a sequence e_1, e_2, ... with a bound b: the mean of each e_s given the past is the quantity sought,
and e_s >= -b is known before row s is seen. With Z_s = -e_s <= b, minus the upper bound of Z is a
lower bound of the quantity. Several wagers on one quantity share the capital equally, so that the
best of them decides, at the price of a factor of two in the capital.

For rewards in [low, high], the quantity V - low has these wagers:

    w (r - low)                      which is >= 0, so b may be anything: no bound of w is needed
    q'(x, pi) - low + w (r - q')     >= -(high - low) / (least propensity)

The second one is used if the least propensity is known and there are predictions q' from earlier
rows (clipped to the range): a model that has seen later rows would not be known before the row. An
upper bound of V is minus a lower bound for the rewards -r, whose range is [-high, -low]. The
bounds are about V and not about an estimator, so they are the same for all estimators.

What is assumed: rewards are in the range, propensities are right (and not below the least one), and
the target was fixed before the log. Contexts need not be independent: V is then the average, over
the rows so far, of the target's value given the past.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import check_range, positive, probability
from banditsrl.errors import InvalidArgument
from banditsrl.estimation.mean_intervals import Interval
from banditsrl.estimation.target_terms import TargetTerms
from banditsrl.numerics.precision import in_float64
from banditsrl.selection.confidence_sequence import BETS, BetSequence, evidence_against

Floats = NDArray[np.float64]

USUAL_WEIGHT = 16.0
"""Size of the largest weight that sets the bets where the least propensity is not known. The bounds
are valid whatever it is; they are tightest if it is about right."""

N_HALVINGS = 50
"""Halvings of the interval in which a bound is sought."""

SLACK = 1e-9
"""Relative rounding error that a weight or reward may have before it counts as out of bounds."""


class Wager(NamedTuple):
    """A sequence whose mean given the past is the quantity sought, with values of at least -b."""

    values: Floats  # (n,)
    bound: float  # b


class KnownBounds(NamedTuple):
    """What is known before the log is seen."""

    low: float  # least reward
    high: float  # largest reward
    least_propensity: float | None  # of any action that was played; None if not known

    @property
    def spread(self) -> float:
        """Largest difference of two rewards."""
        return self.high - self.low

    @property
    def largest_weight(self) -> float:
        """Largest weight; infinite if the least propensity is not known."""
        return math.inf if self.least_propensity is None else 1.0 / self.least_propensity

    def mirror(self) -> "KnownBounds":
        """Return the bounds of the rewards -r."""
        return self._replace(low=-self.high, high=-self.low)


def check_bounds(
    terms: TargetTerms, reward_range: tuple[float, float], least_propensity: float | None
) -> KnownBounds:
    """Return the bounds, if all terms keep them."""
    low, high = check_range(reward_range)
    slack = SLACK * (abs(low) + abs(high))
    outside = (terms.rewards < low - slack) | (terms.rewards > high + slack)
    if outside.any():
        odd = terms.rewards[np.argmax(outside)]
        raise InvalidArgument(
            f"reward_range must hold every reward, got ({low:g}, {high:g}) and a reward of {odd:g}."
        )
    if least_propensity is not None:
        _check_weights(terms.weights, positive("least_propensity", least_propensity))
    return KnownBounds(low, high, least_propensity)


def always_interval(terms: TargetTerms, bounds: KnownBounds, *, level: float) -> Interval:
    """Return bounds of the target's value that hold at all rows with probability 1 - level."""
    probability("level", level)
    low = bounds.low + lower_bound(value_wagers(terms, bounds), level / 2.0, (0.0, bounds.spread))
    mirrored = value_wagers(mirror_terms(terms), bounds.mirror())
    below_high = lower_bound(mirrored, level / 2.0, (0.0, bounds.spread))
    return Interval(low, bounds.high - below_high)


def value_wagers(terms: TargetTerms, bounds: KnownBounds) -> list[Wager]:
    """Return the wagers on V - low."""
    is_known = bounds.least_propensity is not None
    scale = math.sqrt(bounds.largest_weight if is_known else USUAL_WEIGHT)
    wagers = [Wager(terms.weights * (terms.rewards - bounds.low), bounds.spread * scale)]
    if bounds.least_propensity is None or terms.earlier_played is None:
        return wagers
    played, target = clip_earlier(terms, bounds)
    values = target - bounds.low + terms.weights * (terms.rewards - played)
    return [*wagers, Wager(values, bounds.spread * bounds.largest_weight)]


def clip_earlier(terms: TargetTerms, bounds: KnownBounds) -> tuple[Floats, Floats]:
    """Return predictions from earlier rows within the range: the middle of it without a model."""
    if terms.earlier_played is None or terms.earlier_target is None:
        middle = np.full(len(terms.rewards), (bounds.low + bounds.high) / 2.0)
        return middle, middle
    played = np.clip(terms.earlier_played, bounds.low, bounds.high)
    return played, np.clip(terms.earlier_target, bounds.low, bounds.high)


def mirror_terms(terms: TargetTerms) -> TargetTerms:
    """Return the terms of the rewards -r."""
    weights, *rest, propensities = terms
    mirrored = [None if part is None else -part for part in rest]
    return TargetTerms(*[weights, *mirrored, propensities])  # type: ignore[arg-type]


def lower_bound(wagers: Sequence[Wager], level: float, ends: tuple[float, float]) -> float:
    """Return a lower bound of the quantity after the last row; it lies between the ends."""
    return float(_search(_total_bets(wagers), level, *ends))


def evidence_at_each_row(wagers: Sequence[Wager], quantity: float) -> Floats:
    """Return the log capital after each row against the quantity being at most this, (n,)."""
    found = [_evidence(_running_bets(wager), -quantity) for wager in wagers]
    return np.asarray(np.logaddexp.reduce(np.asarray(found), axis=0) - math.log(len(wagers)))


def _check_weights(weights: Floats, least_propensity: float) -> None:
    largest = float(weights.max(initial=0.0))
    if largest * least_propensity > 1.0 + SLACK:
        raise InvalidArgument(
            f"least_propensity must be at most one over every weight, got {least_propensity:g} "
            f"and a weight of {largest:g}."
        )


def _log_wealth(wager: Wager) -> Floats:
    """Return log(1 - g X_s) with X_s = -e_s / b for every row and bet, (n, G)."""
    return np.asarray(np.log1p(np.multiply.outer(wager.values / wager.bound, BETS)))


def _total_bets(wagers: Sequence[Wager]) -> BetSequence:
    """Return the sums over all rows, one sequence per wager."""
    n = np.array([float(len(wager.values)) for wager in wagers])
    weight = n / np.array([wager.bound for wager in wagers])
    wealth = np.stack([_log_wealth(wager).sum(axis=0) for wager in wagers])
    return BetSequence(*(np.asarray(part) for part in (n, weight, wealth)))  # type: ignore[arg-type]


def _running_bets(wager: Wager) -> BetSequence:
    """Return the sums after each row, one sequence per row."""
    n = np.arange(1.0, len(wager.values) + 1.0)
    return BetSequence(n, n / wager.bound, _log_wealth(wager).cumsum(axis=0))  # type: ignore[arg-type]


@in_float64
@jax.jit
def _evidence(bets: BetSequence, mean: Array) -> Array:
    return evidence_against(bets, mean)


@in_float64
@jax.jit
def _search(bets: BetSequence, level: Array, least: Array, largest: Array) -> Array:
    """Halve the interval between the ends until it holds the largest quantity that is refuted."""
    limit = -jnp.log(level)

    def halve(_: Array, interval: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = interval
        middle = 0.5 * (low + high)
        capital = jax.nn.logsumexp(evidence_against(bets, -middle)) - jnp.log(len(bets.n))
        refuted = capital >= limit
        return jnp.where(refuted, middle, low), jnp.where(refuted, high, middle)

    ends = jnp.asarray(least, dtype=jnp.float64), jnp.asarray(largest, dtype=jnp.float64)
    found: Array = jax.lax.fori_loop(0, N_HALVINGS, halve, ends)[0]
    return found
