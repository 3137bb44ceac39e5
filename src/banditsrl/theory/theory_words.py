"""What do the numbers of the theory say in words? One row each, and the times as bars."""

import math
from collections.abc import Sequence
from typing import TypeAlias

from banditsrl.display.charts import BarChart
from banditsrl.display.numerals import format_time
from banditsrl.display.summaries import Summary

MEANINGS = {
    "tau_elim": "only realizable representations are left after step",
    "tau_hls": "the HLS representation is selected after step",
    "tau_alg": "part of these steps that is due to the base",
    "tau_glrt": "the test always passes after step",
    "tau_opt": "there is no regret after step",
    "bound": "regret is at most",
    "bound_single": "regret with one realizable representation is at most",
    "bound_no_hls": "regret without an HLS representation is at most",
}
"""What each number says, in front of the number."""

TITLE = "What the paper guarantees"

NumberRow: TypeAlias = tuple[str, float, float]
"""Name, value, and logarithm of the value to base ten."""


def summarise_times(numbers: Sequence[NumberRow], sentences: tuple[str, ...]) -> Summary:
    """Return what every number says, with the sentences below."""
    rows = tuple((name, MEANINGS[name], format_time(value)) for name, value, _ in numbers)
    return Summary(TITLE, rows, (), sentences)


def draw_times(numbers: Sequence[NumberRow]) -> BarChart:
    """Return the times on a logarithmic scale; a time that does not exist has no bar."""
    times = [row for row in numbers if row[0].startswith("tau")]
    return BarChart(
        TITLE,
        "powers of ten of the step",
        tuple(name for name, _, _ in times),
        tuple(max(log, 0.0) if math.isfinite(log) else 0.0 for _, _, log in times),
        tuple(format_time(value) for _, value, _ in times),
    )
