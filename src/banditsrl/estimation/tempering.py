"""How can doubly robust trust large weights less, and stay right if its model is wrong?

A weight w = pi(a | x) / p is large where the propensity p is small, and a few such rounds decide
how large the error is. Tempered weights are w sqrt(p): rounds still count as often as the target
plays them, but those that the log hardly ever shows are not blown up as much. With them the
residuals of the model are averaged over other rounds than those of the target, so the estimate has
a bias if the model misses more where the log is thin. The log shows that bias: it is the difference
D of the estimate with full weights and the tempered one, known up to h, half the length of its 95%
interval (`mean_intervals.py`). The estimate is

    tempered + (1 - h^2 / D^2)+ D.

It is the tempered one while the interval of D holds zero, and approaches the one with full weights
as D becomes significant. A bias that does not vanish becomes significant in the end, since h is of
order 1 / sqrt(n), so in the limit this estimate is as right as the one with full weights. In long
logs h is about two standard errors. It is larger where a few large weights decide, because they
make both D and its standard error uncertain. Nothing is tempered unless that lowers the variance;
if all propensities are equal, it does not.
"""

import numpy as np
from numpy.typing import NDArray

from banditsrl.estimation.mean_intervals import student_interval

Floats = NDArray[np.float64]

LEVEL = 0.05
"""Level of the interval of a difference: within it the difference may be chance."""

SAME = 1e-9
"""Variances that differ by a smaller share differ by rounding."""


def temper_weights(weights: Floats, propensities: Floats | None) -> Floats:
    """Return w sqrt(p), or the weights if propensities are not known."""
    return weights if propensities is None else weights * np.sqrt(propensities)


def temper(full: Floats, tempered: Floats) -> float:
    """Return the estimate from terms with full weights, (n,), and terms with tempered weights.

    Example:
        >>> noisy, calm = np.array([0.0, 3.0, 0.0, 3.0]), np.array([1.0, 2.0, 1.0, 2.0])
        >>> temper(noisy, calm - 0.1)  # the difference 0.1 may be chance
        1.4
        >>> round(temper(noisy, calm - 100.0), 4)  # the difference 100 may not
        1.4578
    """
    value, gap = float(full.mean()), full - tempered
    if not float(tempered.var()) < (1.0 - SAME) * float(full.var()):
        return value
    difference, (low, high) = float(gap.mean()), student_interval(gap, level=LEVEL)
    if low <= 0.0 <= high:
        return value - difference
    doubt = ((high - low) / (2.0 * difference)) ** 2
    return value - doubt * difference
