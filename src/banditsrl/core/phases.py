"""When does a phase end? At the steps t_{j+1} = ceil(gamma t_j), from t_0 = 1.

A policy may limit the length of a phase. From the first phase that would be longer, phases then
end at equal distances.
"""

import math

from banditsrl.arguments import above, count

ROUNDING = 1e-12
"""A product such as 1.1 * 170 is 187 and a rounding error: it must not be rounded up to 188."""


def phase_ends(growth: float, horizon: int, longest: int | None = None) -> list[int]:
    """Return the steps at which phases end, up to the horizon.

    Args:
        growth: Gamma.
        horizon: Number of steps.
        longest: Largest number of steps between two ends, or None without a limit.

    Example:
        >>> phase_ends(2.0, 20)
        [2, 4, 8, 16]
        >>> phase_ends(2.0, 20, longest=5)
        [2, 4, 8, 13, 18]
    """
    above("gamma", growth, 1.0)
    limit = horizon + 1 if longest is None else count("longest", longest)
    ends, step = [], next_phase_end(growth, 1)
    while step <= count("horizon", horizon, 0):
        ends.append(step)
        step = min(next_phase_end(growth, step), step + limit)
    return ends


def is_phase_end(growth: float, step: int, longest: int | None = None) -> bool:
    """Return whether a phase ends at `step`, without listing all ends before it."""
    if longest is None:
        return step in phase_ends(growth, step)[-1:]
    end = next_phase_end(growth, 1)
    while end < step and next_phase_end(growth, end) - end < longest:
        end = next_phase_end(growth, end)
    return end == step or (end < step and (step - end) % longest == 0)


def next_phase_end(growth: float, step: int) -> int:
    """Return the first phase end after the one at `step`: ceil(growth step), at least one more."""
    return max(math.ceil(growth * step * (1.0 - ROUNDING)), step + 1)
