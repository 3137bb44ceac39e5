"""How are figures for papers drawn? Pure functions from data to a matplotlib figure, with one look.

`draw` shows results of simulations, and `draw_panel` one panel of a stored sweep. `save` writes a
figure as PNG and PDF.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditsrl.display.intervals import BAND, student_factor
from banditsrl.display.pictures import apply_look, make_canvas, separate_thousands, write_canvas
from banditsrl.reports.colours import DASHES, LIGHT, LineStyle, assign_styles
from banditsrl.simulation.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from banditsrl.reports.curves import ReportPanel

PANEL_INCHES = (3.4, 3.0)
"""Width and height of one panel of a figure with several."""

SINGLE_INCHES = (6.4, 3.8)
"""Width and height of the panel of a figure with one: as wide as a page of text."""


def draw(
    panels: Sequence[tuple[str, list[Result]]],
    title: str,
    styles: Mapping[str, LineStyle] | None = None,
) -> "Canvas":
    """Draw mean regret with a band, its 95% interval: a panel per problem, one legend.

    Args:
        panels: Title and results of every panel.
        title: Title of the figure.
        styles: Line of every policy, by name; by default each has a colour of its own.
    """
    names = list(dict.fromkeys(result.policy for _, results in panels for result in results))
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    rows = -(-len(panels) // columns)
    width, height = PANEL_INCHES if len(panels) > 1 else SINGLE_INCHES
    styles = styles or assign_styles(names)
    legend_columns = 3 if columns > 1 else 2
    foot = 0.9 + 0.16 * -(-len(names) // legend_columns)
    with apply_look():
        canvas = make_canvas(width * columns, height * rows + foot)
        axes = list(canvas.subplots(rows, columns, squeeze=False).flat)
        for axis in axes[len(panels) :]:
            axis.remove()
        lines: dict[str, Any] = {}
        for axis, (name, results) in zip(axes, panels, strict=False):
            for result in results:
                line = _style_line(styles[result.policy])
                curve = (result.steps, result.mean, result.stderr, result.n_seeds)
                lines[result.policy] = _draw_band(axis, *curve, line)
            _frame_panel(axis, name, max(result.horizon for result in results))
            axis.set_xlabel("step")
        seeds = sorted({result.n_seeds for _, results in panels for result in results})
        canvas.suptitle(f"{title}\n{_describe_band(seeds)}", fontsize=10)
        handles = [lines[name] for name in names]
        canvas.legend(handles, names, loc="outside lower center", ncols=legend_columns, fontsize=7)
        return canvas


def _style_line(style: LineStyle) -> dict[str, Any]:
    """Return colour and dash of a curve in the words of matplotlib."""
    return {"color": LIGHT[style.colour], "ls": DASHES[style.dash]}


def draw_panel(panel: "ReportPanel", styles: Mapping[str, LineStyle]) -> "Canvas":
    """Draw one panel of a sweep; `styles` gives every algorithm the same line in all panels."""
    with apply_look():
        rows = -(-len(panel.curves) // 2)
        canvas = make_canvas(SINGLE_INCHES[0], SINGLE_INCHES[1] + 0.3 + 0.16 * rows)
        axis = canvas.subplots()
        for curve in panel.curves:
            line = {**_style_line(styles[curve.name]), "label": curve.name}
            _draw_band(axis, curve.steps, curve.mean, curve.stderr, curve.n_seeds, line)
        _frame_panel(axis, panel.title, max(int(curve.steps[-1]) for curve in panel.curves))
        axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
        seeds = _describe_band(sorted({c.n_seeds for c in panel.curves}))
        canvas.supxlabel(f"step   ({seeds})", fontsize=8)
        return canvas


def save(canvas: "Canvas", stem: Path) -> list[Path]:
    """Write a figure as PNG and PDF next to each other, and return both paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".pdf")]
    with apply_look():
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")  # compute the layout once, not once per file
    return [write_canvas(canvas, path) for path in paths]


def _draw_band(
    axis: Any, steps: Any, mean: Any, stderr: Any, n_seeds: int, line: dict[str, Any]
) -> Any:
    (drawn,) = axis.plot(steps, mean, **line)
    if n_seeds > 1 and np.isfinite(stderr).all():
        margin = student_factor(n_seeds) * stderr
        low, high = mean - margin, mean + margin
        axis.fill_between(steps, low, high, color=line["color"], alpha=0.2, linewidth=0)
    return drawn


def _frame_panel(axis: Any, title: str, end: int) -> None:
    axis.set_title(title)
    axis.set_xlim(0, end)
    axis.set_ylim(bottom=0)
    axis.set_ylabel("cumulative regret")
    separate_thousands(axis)


def _describe_band(seeds: Sequence[int]) -> str:
    return f"mean of {'/'.join(map(str, seeds))} seeds; {BAND}"
