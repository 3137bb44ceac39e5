"""How is a number of a report written? Numbers as everywhere, and intervals and long times."""

import math

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
    "Z",
    "format_count",
    "format_interval",
    "format_number",
    "format_plus_minus",
    "format_share",
    "format_time",
]

Z = 1.96
"""Standard errors on each side of a mean in a 95% interval of a normal distribution."""


def format_interval(mean: float, stderr: float) -> str:
    """Return mean ± 1.96 standard errors as its two ends.

    Example:
        >>> format_interval(10.0, 1.0)
        '8.0 to 12.0'
    """
    if math.isnan(stderr):
        return "one seed"
    return (
        f"{format_number(mean - Z * stderr, stderr)} to {format_number(mean + Z * stderr, stderr)}"
    )
