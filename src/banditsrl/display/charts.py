"""What is in a small chart? Lines with bands, or bars; how they are drawn is not decided here.

`chart_svg` draws a chart as a few lines of SVG for a notebook, and `pictures` with matplotlib.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes:
        name: What the legend says.
        x: Positions, (K,).
        y: Values, (K,).
        margin: Half the width of the band around the values, (K,); NaN where there is none.
    """

    name: str
    x: Floats
    y: Floats
    margin: Floats


@dataclass(frozen=True)
class LineChart:
    """Lines over a common axis.

    Attributes:
        title: Title above the chart.
        x_label: What the horizontal axis shows.
        y_label: What the vertical axis shows.
        lines: The lines, in the order of the legend.
        caption: How to read the bands; empty if there are none.
        below: A second chart over the same axis, which a picture shows below; None without one.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    caption: str = ""
    below: "LineChart | None" = None


@dataclass(frozen=True)
class BarChart:
    """Horizontal bars with a number written beside each.

    Attributes:
        title: Title above the chart.
        x_label: What the length of a bar shows.
        names: One name per bar, from the top.
        lengths: One finite length per bar, at least zero.
        labels: What is written beside each bar.
    """

    title: str
    x_label: str
    names: tuple[str, ...]
    lengths: tuple[float, ...]
    labels: tuple[str, ...]


Chart: TypeAlias = LineChart | BarChart


def make_line(name: str, x: NDArray[np.generic], y: Floats, margin: Floats | None = None) -> Line:
    """Return a line; without margins it has no band."""
    values = np.asarray(y, dtype=np.float64)
    around = np.full(values.shape, np.nan) if margin is None else np.asarray(margin)
    return Line(name, np.asarray(x, dtype=np.float64), values, around)
