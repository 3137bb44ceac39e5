"""What would a target have earned on logged rounds? Seven estimators, each a mean of terms.

With the notation of `target_terms.py` (weight w, reward r, predictions q = q(x, a) and q_pi =
sum_b pi(b | x) q(x, b)) and a weight limit c, the terms of a round are

    ips          w r
    clipped-ips  min(w, c) r
    snips        v + w (r - v) / mean(w),  v = sum(w r) / sum(w)
    dm           q_pi
    sndr         q_pi + b + w (r - q - b) / mean(w),  b = sum(w (r - q)) / sum(w)
    dr           like sndr, with its interval, but the estimate itself tempers large weights
    switch-dr    q_pi + w (r - q) if w <= c, otherwise q_pi

The estimate is the mean of the terms. Inverse propensity (ips) has no bias if the propensities are
right. The ratio snips is written as v plus its linear part: the terms have the mean v, and their
standard deviation over sqrt(n) is the standard error of the ratio (delta method). Self-normalised
doubly robust (sndr) is the mean of q_pi plus such a ratio, of residuals that the model has not
seen. Biases of ratios are of order 1/n. Doubly robust (dr) has smaller errors than sndr, because it
uses tempered weights until the log refutes them (`tempering.py`). The plain form q_pi + w (r - q),
which has no bias at all but larger errors, is switch-dr without a limit; intervals that need
independent terms use it for dr.

The other three trade bias for variance: the direct method (dm) is as wrong as its model,
clipped-ips loses what is cut, and switch-dr trusts the model where weights are large. Their
intervals are about the mean of their own terms and know nothing of the bias.

Unless a limit is given, that of clipped-ips is c = sqrt(n). Since E w = 1, the cut then vanishes as
the log grows. That of switch-dr is chosen among quantiles of the weights, zero (dm) and infinity
(plain doubly robust) by the least estimated squared error,

    var(terms) / n + max(B^2 - var(dropped) / n, 0),

where the dropped parts w (r - q) of rounds with w > c have the mean B, the estimated bias.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import positive
from banditsrl.errors import InvalidArgument
from banditsrl.estimation.always_intervals import KnownBounds
from banditsrl.estimation.target_terms import TargetTerms
from banditsrl.estimation.tempering import temper_weights
from banditsrl.registry import Registry

Floats = NDArray[np.float64]

SWITCH_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Quantiles of the positive weights that switch-dr tries as its limit."""

Terms = Callable[[TargetTerms, float], Floats]
"""From the rounds of a target and the limit c to the terms whose mean is the estimate."""


class Estimator(NamedTuple):
    """One way to estimate a value."""

    terms: Terms
    independent: Terms | None  # its form without a ratio, if there is one
    bounds: Callable[[KnownBounds, float], tuple[float, float]]  # of an independent term
    biased: bool  # whether its interval leaves a bias out
    tempered: Terms | None = None  # terms with tempered weights, if the estimate uses them


ESTIMATORS = Registry[Estimator]("estimator")


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


def _sndr(terms: TargetTerms, _: float) -> Floats:
    if not terms.weights.any():
        return terms.predicted_target
    residuals = terms._replace(rewards=terms.rewards - terms.predicted_played)
    return terms.predicted_target + _snips(residuals, math.inf)


def _tempered_dr(terms: TargetTerms, limit: float) -> Floats:
    weights = temper_weights(terms.weights, terms.propensities)
    return _sndr(terms._replace(weights=weights), limit)


def _plain_dr(terms: TargetTerms, _: float) -> Floats:
    return _switch_dr(terms, math.inf)


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


ESTIMATORS.add(
    "ips", Estimator(_ips, _ips, lambda b, _: _weighted_bounds(b, b.largest_weight), False)
)
ESTIMATORS.add(
    "clipped-ips",
    Estimator(_clipped_ips, _clipped_ips, lambda b, c: _weighted_bounds(b, _cut(b, c)), True),
)
ESTIMATORS.add("snips", Estimator(_snips, None, lambda b, _: (b.low, b.high), False))
ESTIMATORS.add("dm", Estimator(_dm, _dm, lambda b, _: (b.low, b.high), True))
ESTIMATORS.add("sndr", Estimator(_sndr, None, lambda b, _: (b.low, b.high), False))
ESTIMATORS.add(
    "dr",
    Estimator(
        _sndr,
        _plain_dr,
        lambda b, _: _corrected_bounds(b, b.largest_weight),
        biased=False,
        tempered=_tempered_dr,
    ),
)
ESTIMATORS.add(
    "switch-dr",
    Estimator(_switch_dr, _switch_dr, lambda b, c: _corrected_bounds(b, _cut(b, c)), True),
)
