"""When does a phase end? At the steps t_{j+1} = ceil(gamma t_j), from t_0 = 1."""

import math

from banditsrl.arguments import above, count

ROUNDING = 1e-12
"""A product such as 1.1 * 170 is 187 and a rounding error: it must not be rounded up to 188."""


def phase_ends(growth: float, horizon: int) -> list[int]:
    """Return the steps at which phases end, up to the horizon.

    Example:
        >>> phase_ends(2.0, 20)
        [2, 4, 8, 16]
    """
    above("gamma", growth, 1.0)
    ends, step = [], next_phase_end(growth, 1)
    while step <= count("horizon", horizon, 0):
        ends.append(step)
        step = next_phase_end(growth, step)
    return ends


def next_phase_end(growth: float, step: int) -> int:
    """Return the first phase end after the one at `step`: ceil(growth step), at least one more."""
    return max(math.ceil(growth * step * (1.0 - ROUNDING)), step + 1)
