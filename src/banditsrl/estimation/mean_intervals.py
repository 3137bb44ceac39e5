"""Where does a mean lie, given a fixed number of terms? Two intervals: one sharp, one guaranteed.

*Student* (the default). Importance-weighted terms have long tails: a few rounds with large weights
decide. Let m, s and k be mean, standard deviation and kurtosis of n terms z_i. The interval is

    m -+ t sqrt((sum (z_i - m)^2 + max (z_i - m)^2) / (n (n - 1)))

with the quantile t of Student's distribution with f = 2 n / (k - 1) degrees of freedom, between 1
and n - 1. The variance of s^2 is about s^4 (k - 1) / n, which is that of a normal sample of f + 1
values: a log of 5,000 rounds of which twenty have a weight counts as about twenty. The largest
deviation counts twice, because a log seldom has as many large weights as it would have on average;
this matters for short logs only. The interval is approximate, and benchmarks/estimators.py measures
its coverage.

*Empirical Bernstein* needs bounds of the terms and nothing else. With a range R of the terms,

    |m - mu| <= s sqrt(2 L / n) + 7 R L / (3 (n - 1)),    L = log(4 / level),

with probability at least 1 - level (Maurer and Pontil, 2009, both sides), if the terms are
independent; with cross-fitted predictions they nearly are. It is much wider.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from banditsrl.arguments import probability

Floats = NDArray[np.float64]

LEAST_FREEDOM = 1.0
"""Fewest degrees of freedom, however large the kurtosis is."""

ROUNDING = 1e-12
"""A standard deviation below this share of the largest term is rounding, not spread."""


class Interval(NamedTuple):
    """Both ends of an interval; they are infinite where nothing can be said."""

    low: float
    high: float


class SampleMoments(NamedTuple):
    """What an interval needs of a sample."""

    n: int
    mean: float
    deviation: float  # with n - 1
    kurtosis: float  # 3 for normal values
    farthest: float  # largest distance of a value from the mean


def summarise(values: Floats) -> SampleMoments:
    """Return the moments; values without any spread have the kurtosis of normal ones, 3."""
    n, mean = len(values), float(values.mean())
    centred = values - mean
    second = float((centred**2).mean())
    if n < 2 or math.sqrt(second) <= ROUNDING * float(np.abs(values).max()):
        return SampleMoments(n, mean, 0.0, 3.0, 0.0)
    deviation = math.sqrt(second * n / (n - 1))
    kurtosis = float((centred**4).mean()) / second**2
    return SampleMoments(n, mean, deviation, kurtosis, float(np.abs(centred).max()))


def student_interval(values: Floats, *, level: float) -> Interval:
    """Return the interval that holds the mean with a probability of about 1 - level.

    Terms that are all equal say nothing about their spread, so both ends are infinite then.

    Example:
        >>> low, high = student_interval(np.array([0.0, 0.0, 1.0, 0.0, 3.0]), level=0.1)
        >>> low < 0.0 < 0.8 < high
        True
    """
    probability("level", level)
    found = summarise(values)
    if found.deviation == 0.0:
        return Interval(-math.inf, math.inf)
    freedom = max(2.0 * found.n / max(found.kurtosis - 1.0, 1e-9), LEAST_FREEDOM)
    t = float(stdtrit(min(freedom, found.n - 1.0), 1.0 - level / 2.0))
    variance = found.deviation**2 + found.farthest**2 / (found.n - 1)
    width = t * math.sqrt(variance / found.n)
    return Interval(found.mean - width, found.mean + width)


def bernstein_interval(values: Floats, *, bounds: tuple[float, float], level: float) -> Interval:
    """Return the interval that holds the mean with a probability of at least 1 - level.

    Args:
        values: Independent terms, (n,).
        bounds: Smallest and largest value that a term can have, known before.
        level: Probability of an interval that misses the mean.
    """
    probability("level", level)
    found = summarise(values)
    if found.n < 2:
        return Interval(*bounds)
    log_term = math.log(4.0 / level)
    width = found.deviation * math.sqrt(2.0 * log_term / found.n)
    width += 7.0 * (bounds[1] - bounds[0]) * log_term / (3.0 * (found.n - 1))
    return Interval(max(found.mean - width, bounds[0]), min(found.mean + width, bounds[1]))
