"""How does a chart become a picture for a notebook or a paper? With matplotlib, in one object.

A matplotlib figure appears in a notebook only after a magic command has chosen a backend. A
`Picture` holds such a figure and shows itself. `write_canvas` writes any figure to a file.
"""

import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditsrl.core.files import write_file
from banditsrl.core.record_help import PlainMeta
from banditsrl.display.charts import BarChart, Chart, LineChart
from banditsrl.display.numerals import format_tick
from banditsrl.display.palette import DASHES, LIGHT
from banditsrl.errors import InvalidArgument

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

LOOK: Any = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "pdf.fonttype": 42,
}

INCHES = (6.0, 3.6)
"""Width and height of a picture of lines."""

BELOW_INCHES = 1.7
"""Height of a second chart below the first."""

BAR_INCHES, FRAME_INCHES = 0.35, 0.95
"""Height of a bar with its gap, and of what is around the bars."""

FOOT = 0.02
"""Room below zero, as a share of the height, so that a line along zero is seen."""

SCREEN_DPI, FILE_DPI, REPORT_DPI = 110, 200, 160
"""Resolution in a notebook, in a file, and in a file that a command writes."""

FORMATS = (".png", ".pdf", ".svg")
"""What a picture can be saved as."""


class Picture(metaclass=PlainMeta):
    """A drawn chart: it shows itself in a notebook, and `save` writes it to a file.

    Attributes:
        figure: The matplotlib figure, for everything else that one may want to change.
    """

    def __init__(self, figure: "Canvas", title: str) -> None:
        self.figure = figure
        self.title = title

    def save(self, path: str | Path) -> Path:
        """Write the picture to a .png, .pdf or .svg file, and return its path."""
        target = Path(path)
        if target.suffix.lower() not in FORMATS:
            raise InvalidArgument(f"path must end in {', '.join(FORMATS)}, got {str(path)!r}.")
        target.parent.mkdir(parents=True, exist_ok=True)
        return write_canvas(self.figure, target, dpi=FILE_DPI)

    def _repr_png_(self) -> bytes:
        """Return the picture as notebooks show it."""
        buffer = io.BytesIO()
        with apply_look():
            self.figure.savefig(buffer, format="png", dpi=SCREEN_DPI)
        return buffer.getvalue()

    def __repr__(self) -> str:
        return f"Picture({self.title!r}); save it with .save('picture.png')"


def make_canvas(width: float, height: float) -> "Canvas":
    """Return an empty figure of a size in inches, which needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    return canvas


def apply_look() -> Any:
    """Return a context in which figures are drawn and saved with the common look."""
    import matplotlib as mpl

    return mpl.rc_context(LOOK)


def write_canvas(canvas: "Canvas", path: Path, *, dpi: int = REPORT_DPI) -> Path:
    """Write a figure into a file whose ending sets its format, png by default; return its path."""
    target = path if path.suffix else path.with_name(f"{path.name}.png")
    kind = target.suffix.lower().removeprefix(".")
    with apply_look():
        write_file(target, partial(canvas.savefig, dpi=dpi, format=kind), sync=False)
    return target


def draw_picture(chart: Chart) -> Picture:
    """Draw a chart with matplotlib; no screen is needed."""
    with apply_look():
        figure = make_canvas(*_size_of(chart))
        if isinstance(chart, BarChart):
            axis = figure.subplots()
            _draw_bars(axis, chart)
        else:
            axis = _draw_panels(figure, chart)
        axis.set_title(chart.title)
    return Picture(figure, chart.title)


def _size_of(chart: Chart) -> tuple[float, float]:
    """Return width and height in inches: more bars make a picture higher."""
    if isinstance(chart, BarChart):
        return INCHES[0], BAR_INCHES * len(chart.names) + FRAME_INCHES
    return INCHES[0], INCHES[1] + (0.0 if chart.below is None else BELOW_INCHES)


def _draw_panels(figure: "Canvas", chart: LineChart) -> Any:
    """Draw a chart, with the one below it if there is one, and return the upper axis."""
    if chart.below is None:
        axis = figure.subplots()
        _draw_lines(axis, chart)
        return axis
    heights = (INCHES[1], BELOW_INCHES)
    upper, lower = figure.subplots(2, sharex=True, gridspec_kw={"height_ratios": heights})
    _draw_lines(upper, replace(chart, x_label="", caption=""))
    _draw_lines(lower, replace(chart.below, caption=chart.caption))
    lower.get_legend().remove()  # the colours are those above
    return upper


def _draw_lines(axis: Any, chart: LineChart) -> None:
    dashes = list(DASHES.values())
    for k, line in enumerate(chart.lines):
        colour, dash = LIGHT[k % len(LIGHT)], dashes[k // len(LIGHT) % len(dashes)]
        axis.plot(line.x, line.y, color=colour, ls=dash, label=line.name)
        if np.isfinite(line.margin).all():
            low, high = line.y - line.margin, line.y + line.margin
            axis.fill_between(line.x, low, high, color=colour, alpha=0.2, linewidth=0)
    axis.set_xlim(left=0.0)
    lowest = min(0.0, *(float(np.nanmin(line.y)) for line in chart.lines))
    axis.set_ylim(bottom=lowest - FOOT * (axis.get_ylim()[1] - lowest))
    separate_thousands(axis)
    note = f"\n{chart.caption}" if chart.caption else ""
    axis.set_xlabel(f"{chart.x_label}{note}".strip())
    axis.set_ylabel(chart.y_label)
    axis.legend()


def separate_thousands(axis: Any) -> None:
    """Write the numbers along the linear scales of a panel as everywhere else: 10,000."""
    from matplotlib.ticker import FuncFormatter, ScalarFormatter

    for side in (axis.xaxis, axis.yaxis):
        if isinstance(side.get_major_formatter(), ScalarFormatter):
            side.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value)))


def _draw_bars(axis: Any, chart: BarChart) -> None:
    places = range(len(chart.names))
    bars = axis.barh(places, chart.lengths, color=LIGHT[0], height=0.6)
    axis.bar_label(bars, labels=chart.labels, padding=4)
    axis.set_yticks(places, chart.names)
    axis.invert_yaxis()
    axis.margins(x=0.15)
    axis.grid(visible=False, axis="y")
    axis.set_xlabel(chart.x_label)
