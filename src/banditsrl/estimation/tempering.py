"""How can doubly robust trust large weights less, and stay right if its model is wrong?

A weight w = pi(a | x) / p is large where the propensity p is small, and a few such rounds decide
how large the error is. Tempered weights are w sqrt(p): rounds still count as often as the target
plays them, but those that the log hardly ever shows are not blown up as much. With them the
residuals of the model are averaged over other rounds than those of the target, so the estimate has
a bias if the model misses more where the log is thin. The log shows that bias: it is the difference
D of the estimate with full weights and the tempered one, with a standard error s. The estimate is

    tempered + (1 - 4 s^2 / D^2)+ D.

It is the tempered one while D is within two standard errors of zero, and approaches the one with
full weights as D becomes significant. A bias that does not vanish becomes significant in the end,
so in the limit this estimate is as right as the one with full weights. Nothing is tempered unless
that lowers the variance; if all propensities are equal, it does not.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DOUBT = 4.0
"""The squared number of standard errors up to which a difference may be chance."""

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
        >>> round(temper(noisy, calm - 100.0), 6)  # the difference 100 may not
        1.49
    """
    value, gap = float(full.mean()), full - tempered
    if not float(tempered.var()) < (1.0 - SAME) * float(full.var()):
        return value
    difference, error = float(gap.mean()), float(gap.var()) / len(gap)
    doubt = 1.0 if difference == 0.0 else min(DOUBT * error / difference**2, 1.0)
    return value - doubt * difference
