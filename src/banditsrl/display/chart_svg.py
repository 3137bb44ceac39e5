"""How is a small chart drawn inside a notebook? As a few lines of SVG, without any library."""

import math
from html import escape

import numpy as np

from banditsrl.display.charts import BarChart, Chart, Floats, Line, LineChart
from banditsrl.display.numerals import format_number
from banditsrl.display.palette import LIGHT

WIDTH, HEIGHT = 460, 230
"""Size of a chart of lines, in pixels."""

LEFT, RIGHT, TOP, BOTTOM = 56, 12, 26, 40
"""Room around the lines for the title, the axes and their numbers."""

ROW, NAMES = 22, 130
"""Height of a bar with its gap, and the width of the column of names."""

LEGEND_ROW = 16
"""Height of one row of the legend."""

N_TICKS = 4
"""About so many numbers are written along an axis."""


def draw_svg(chart: Chart) -> str:
    """Return a chart as an SVG element, in the text colour of the page around it."""
    return _draw_bars(chart) if isinstance(chart, BarChart) else _draw_lines(chart)


def nice_ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two ends: multiples of 1, 2, 2.5 or 5 times a power of ten.

    Example:
        >>> nice_ticks(0.0, 930.0)
        [0.0, 250.0, 500.0, 750.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / N_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1.0, 2.0, 2.5, 5.0, 10.0) if power * k >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [step * k for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _draw_lines(chart: LineChart) -> str:
    x_low, x_high = _range_of([line.x for line in chart.lines], (0.0,))
    y_low, y_high = _range_of([_edge(line, -1) for line in chart.lines], (0.0,))
    y_high = max(y_high, _range_of([_edge(line, 1) for line in chart.lines])[1])
    x_of = _scale(x_low, x_high, LEFT, WIDTH - RIGHT)
    y_of = _scale(y_low, y_high, HEIGHT - BOTTOM, TOP)
    parts = [_text(LEFT, 15, chart.title, weight="bold")]
    for tick in nice_ticks(y_low, y_high):
        y = y_of(tick)
        parts.append(_rule(LEFT, y, WIDTH - RIGHT, y))
        parts.append(_text(LEFT - 6, y + 4, format_number(tick), anchor="end"))
    for tick in nice_ticks(x_low, x_high):
        parts.append(_text(x_of(tick), HEIGHT - BOTTOM + 15, format_number(tick), anchor="middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    axes = f"{chart.y_label} by {chart.x_label}"
    parts.append(_text(middle, HEIGHT - BOTTOM + 30, axes, anchor="middle"))
    for k, line in enumerate(chart.lines):
        parts += _draw_line(line, LIGHT[k % len(LIGHT)], x_of, y_of)
        parts += _draw_key(line.name, LIGHT[k % len(LIGHT)], HEIGHT + LEGEND_ROW * k)
    return _wrap(parts, HEIGHT + LEGEND_ROW * len(chart.lines) + 6, chart.title)


def _draw_line(line: Line, colour: str, x_of: "PixelScale", y_of: "PixelScale") -> list[str]:
    known = np.isfinite(line.y)
    xs, ys = line.x[known], line.y[known]
    path = _points(xs, ys, x_of, y_of)
    drawn = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
    margin = line.margin[known]
    if not margin.size or not np.isfinite(margin).all():
        return [drawn]
    upper, lower = _points(xs, ys + margin, x_of, y_of), _points(xs, ys - margin, x_of, y_of)
    around = f"{upper} {' '.join(reversed(lower.split()))}"
    return [f'<polygon points="{around}" fill="{colour}" opacity="0.18"/>', drawn]


def _draw_key(name: str, colour: str, y: float) -> list[str]:
    line = f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + 18}" y2="{y}" stroke="{colour}" '
    return [f'{line}stroke-width="2.5"/>', _text(LEFT + 24, y + 4, name)]


def _draw_bars(chart: BarChart) -> str:
    longest = max((*chart.lengths, 0.0)) or 1.0
    room = WIDTH - NAMES - 90
    parts = [_text(8, 15, chart.title, weight="bold")]
    for k, (name, length, label) in enumerate(
        zip(chart.names, chart.lengths, chart.labels, strict=True)
    ):
        y, width = TOP + ROW * k, max(room * length / longest, 1.0)
        parts.append(_text(NAMES - 8, y + 15, name, anchor="end"))
        parts.append(
            f'<rect x="{NAMES}" y="{y + 4}" width="{width:.1f}" height="{ROW - 8}" '
            f'fill="{LIGHT[0]}"/>'
        )
        parts.append(_text(NAMES + width + 6, y + 15, label))
    foot = TOP + ROW * len(chart.names) + 14
    parts.append(_text(NAMES, foot, chart.x_label))
    return _wrap(parts, foot + 8, chart.title)


class PixelScale:
    """A linear map from values to pixels."""

    def __init__(self, low: float, high: float, first: float, last: float) -> None:
        self.low, self.first = low, first
        self.slope = (last - first) / (high - low)

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        return self.first + (value - self.low) * self.slope


def _scale(low: float, high: float, first: float, last: float) -> PixelScale:
    return PixelScale(low, high if high > low else low + 1.0, first, last)


def _edge(line: Line, sign: int) -> Floats:
    """Return the lower or the upper edge of the band of a line, or the line where it has none."""
    return line.y + sign * np.nan_to_num(line.margin)


def _range_of(arrays: list[Floats], also: tuple[float, ...] = ()) -> tuple[float, float]:
    known = np.concatenate([*(array[np.isfinite(array)] for array in arrays), np.asarray(also)])
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def _points(xs: Floats, ys: Floats, x_of: PixelScale, y_of: PixelScale) -> str:
    return " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in zip(xs, ys, strict=True))


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="currentColor" opacity="0.2"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    look = f'text-anchor="{anchor}" font-weight="{weight}" fill="currentColor"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(text)}</text>'


def _wrap(parts: list[str], height: float, title: str) -> str:
    size = f'width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}"'
    look = 'font-family="sans-serif" font-size="11" style="max-width:100%"'
    label = f'role="img" aria-label="{escape(title)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look} {label}>{"".join(parts)}</svg>'
