"""How is a number of a report written? Numbers as everywhere, and intervals and long times."""

import math

from banditsrl.display.intervals import student_factor
from banditsrl.display.numerals import (
    MINUS,
    NO_BOUND,
    NO_VALUE,
    format_count,
    format_number,
    format_plus_minus,
    format_share,
    format_time,
)

__all__ = [
    "MINUS",
    "NO_BOUND",
    "NO_VALUE",
    "format_count",
    "format_interval",
    "format_number",
    "format_plus_minus",
    "format_share",
    "format_time",
]


def format_interval(mean: float, stderr: float, n_seeds: int) -> str:
    """Return the two ends of the 95% interval of a mean over seeds, by Student's t.

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
