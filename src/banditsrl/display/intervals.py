"""How wide is a 95% interval of a mean? By Student's t, which is right for few seeds, too."""

import math

import numpy as np
from numpy.typing import NDArray

from banditsrl.display.numerals import format_number

LEVEL = 0.95
"""How often an interval covers the mean."""

BAND = "band: 95% interval of the mean (Student's t)"
"""How bands are described below a picture."""


def margin_of_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half the width of the 95% interval of the mean of (n, ...); NaN for one value.

    Example:
        >>> round(float(margin_of_mean(np.array([1.0, 2.0, 3.0]))), 3)
        2.484
    """
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    stderr = values.std(axis=0, ddof=1) / np.sqrt(n)
    return np.asarray(student_factor(n) * stderr)


def student_factor(n: int) -> float:
    """Return how many standard errors the interval of a mean of n values has on each side."""
    from scipy.special import stdtrit  # noqa: PLC0415 - not needed before there is a result

    return float(stdtrit(n - 1, 0.5 + LEVEL / 2.0))


def format_interval(mean: float, stderr: float, n_seeds: int) -> str:
    """Return the two ends of the 95% interval of a mean over seeds.

    Example:
        >>> format_interval(10.0, 1.0, 40)
        '8.0 to 12.0'
        >>> format_interval(10.0, 1.0, 3)
        '5.7 to 14.3'
    """
    if math.isnan(stderr):
        return "one seed"
    margin = student_factor(n_seeds) * stderr
    return f"{format_number(mean - margin, stderr)} to {format_number(mean + margin, stderr)}"
