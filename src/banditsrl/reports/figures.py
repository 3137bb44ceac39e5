"""How does regret look over time? Figures as pure functions of results, one look for all."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from banditsrl.experiments.result import Result

LOOK: Any = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "pdf.fonttype": 42,
}

COLOURS = ("#0072B2", "#D55E00", "#999999", "#009E73", "#CC79A7", "#E69F00")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""

PANEL_INCHES = (3.4, 3.0)


def draw(panels: Sequence[tuple[str, list[Result]]], title: str) -> Canvas:
    """Mean regret with a band of two standard errors, one panel per problem."""
    with mpl.rc_context(LOOK):
        width, height = PANEL_INCHES
        canvas = Canvas(figsize=(max(width * len(panels), 4.6), height + 1.0), layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.subplots(1, len(panels), squeeze=False)[0]
        for axis, (name, results) in zip(axes, panels, strict=True):
            _panel(axis, name, results)
        axes[0].set_ylabel("cumulative regret")
        seeds = sorted({result.n_seeds for _, results in panels for result in results})
        canvas.suptitle(title)
        canvas.supxlabel(
            f"step   (mean of {'/'.join(map(str, seeds))} seeds; band: two standard errors)",
            fontsize=8,
        )
        return canvas


def save(canvas: Canvas, stem: Path) -> list[Path]:
    """Write a figure as PNG and PDF next to each other."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(LOOK):
        paths = [stem.with_suffix(suffix) for suffix in (".png", ".pdf")]
        for path in paths:
            canvas.savefig(path, dpi=160)
    return paths


def _panel(axis: Any, name: str, results: list[Result]) -> None:
    for colour, result in zip(cycle(COLOURS), results, strict=False):
        axis.plot(result.steps, result.mean, color=colour, label=result.policy)
        low, high = result.mean - 2 * result.stderr, result.mean + 2 * result.stderr
        axis.fill_between(result.steps, low, high, color=colour, alpha=0.2, linewidth=0)
    axis.set_title(name)
    axis.set_xlim(0, max(result.horizon for result in results))
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
