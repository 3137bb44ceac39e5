"""How are figures for papers drawn? Pure functions from data to a matplotlib figure, with one look.

`draw` shows results of simulations, `draw_panel` one panel of a stored sweep, and `draw_spectra`
the spectra of candidate embeddings. `save` writes a figure as PNG and PDF.
"""

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditsrl.core.files import write_file
from banditsrl.display.intervals import BAND, student_factor
from banditsrl.display.pictures import LOOK, separate_thousands
from banditsrl.reports.colours import DASHES, LIGHT, LineStyle, assign_styles
from banditsrl.simulation.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from banditsrl.reports.curves import ReportPanel
    from banditsrl.reports.verdicts import CandidateVerdict

PANEL_INCHES = (3.4, 3.0)
"""Width and height of one panel of a figure with several."""

SINGLE_INCHES = (6.4, 3.8)
"""Width and height of the panel of a figure with one: as wide as a page of text."""

DPI = 160
"""Resolution of PNG files."""

MANY = 60
"""More eigenvalues than this are drawn with small marks."""


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
        for path in paths:
            kind = path.suffix.removeprefix(".")
            write_file(path, partial(canvas.savefig, dpi=DPI, format=kind), sync=False)
    return paths


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


def draw_spectra(
    verdicts: Sequence["CandidateVerdict"],
    *,
    noise: float | None,
    names: tuple[str, str] = ("played", "greedy"),
    title: str = "",
) -> "Canvas":
    """Draw the eigenvalues of played and greedy features of every candidate, and how each fits."""
    columns = min(len(verdicts), 4)
    rows = -(-len(verdicts) // columns)
    foot = 0.2 * len(verdicts) + 0.9
    with apply_look():
        canvas = make_canvas(max(2.1 * columns, 5.2), 1.9 * rows + foot + 0.7)
        parts: Any = canvas.subfigures(2, 1, height_ratios=[1.9 * rows + 0.3, foot])
        upper, lower = parts
        grid = upper.subplots(rows, columns, squeeze=False, sharey=True)
        for axis, verdict in zip(grid.flat, verdicts, strict=False):
            _draw_spectrum(axis, verdict, _find_floor(verdicts), names)
        for axis in list(grid.flat)[len(verdicts) :]:
            axis.remove()
        for axis in grid[:, 0]:
            axis.set_ylabel("eigenvalue")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        note = {"title": "hollow marks at the bottom: zero", "title_fontsize": 7}
        upper.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7, **note)
        _draw_errors(lower.subplots(), verdicts, noise)
        canvas.suptitle(textwrap.fill(title, 28 * columns + 16), fontsize=8.5)
        return canvas


def _find_floor(verdicts: Sequence["CandidateVerdict"]) -> float:
    """Return where zeros are drawn on a log scale: well below the smallest non-zero eigenvalue."""
    counted = [
        values[len(values) - rank]
        for f in verdicts
        for values, rank in ((f.played, f.played_rank), (f.greedy, f.greedy_rank))
        if rank
    ]
    return max(min(counted, default=1.0), 1e-12) / 30.0


def _draw_spectrum(
    axis: Any, verdict: "CandidateVerdict", floor: float, names: tuple[str, str]
) -> None:
    """Draw eigenvalues from the largest; zeros are hollow marks at the floor."""
    lines = ((verdict.played, verdict.played_rank, "o"), (verdict.greedy, verdict.greedy_rank, "^"))
    for k, (values, rank, marker) in enumerate(lines):
        look = {"marker": marker, "ms": 4 if len(values) <= MANY else 1.5, "color": LIGHT[k]}
        order, largest = range(1, len(values) + 1), values[::-1]
        axis.plot(order[:rank], largest[:rank], lw=1, label=f"{names[k]} actions", **look)
        zeros = [floor] * (len(values) - rank)
        axis.plot(order[rank:], zeros, ls="", mfc="none", **look)
    axis.set_yscale("log")
    axis.set_xlim(0.5, verdict.dim + 0.5)
    axis.set_title(verdict.name, fontsize=8)
    axis.xaxis.get_major_locator().set_params(integer=True)


def _draw_errors(axis: Any, verdicts: Sequence["CandidateVerdict"], noise: float | None) -> None:
    names = [verdict.name for verdict in verdicts]
    errors = [verdict.error for verdict in verdicts]
    bars = [verdict.error_margin for verdict in verdicts]
    axis.errorbar(errors, range(len(names)), xerr=bars, fmt="o", ms=4, color=LIGHT[0], capsize=2)
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set_ylim(len(names) - 0.5, -0.5)
    if noise is not None and np.isfinite(noise):
        axis.axvline(noise, color=LIGHT[1], lw=1, ls="--", label="noise")
        axis.legend(fontsize=7, loc="best")
    exact = "largest error of the best linear fit"
    logged = "mean squared error (bars: 95% interval, Student's t)"
    axis.set_xlabel(exact if noise is None else logged)
