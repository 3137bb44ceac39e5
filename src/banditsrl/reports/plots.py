"""How does regret look over time? Figures for papers, as pure functions, one look for all.

This file draws with matplotlib: results straight from a simulation (`draw`), one panel of a stored
sweep (`draw_panel`), or what the doctor found (`draw_spectra`).
"""

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditsrl.core.files import write_file
from banditsrl.reports.colours import DASHES, LIGHT, Style
from banditsrl.simulation.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from banditsrl.reports.curves import Panel
    from banditsrl.reports.verdicts import Finding

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

PANEL_INCHES = (3.4, 3.0)

DPI = 160

BAND = 1.96
"""Standard errors on each side of a mean."""


def blank(width: float, height: float) -> "Canvas":
    """An empty figure of a size in inches, which needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    return canvas


def look() -> Any:
    """The look of all figures, as a context to draw and to save in."""
    import matplotlib as mpl

    return mpl.rc_context(LOOK)


def draw(panels: Sequence[tuple[str, list[Result]]], title: str) -> "Canvas":
    """Mean regret with a band of 1.96 standard errors: a panel per problem, one legend."""
    names = list(dict.fromkeys(result.policy for _, results in panels for result in results))
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    rows, width, height = -(-len(panels) // columns), *PANEL_INCHES
    words = 3 if columns > 1 else 2  # columns of the legend
    foot = 0.9 + 0.16 * -(-len(names) // words)
    with look():
        canvas = blank(max(width * columns, 4.6), height * rows + foot)
        axes = list(canvas.subplots(rows, columns, squeeze=False).flat)
        for axis in axes[len(panels) :]:
            axis.remove()
        lines: dict[str, Any] = {}
        for axis, (name, results) in zip(axes, panels, strict=False):
            for result in results:
                line = _line(names.index(result.policy))
                curve = (result.steps, result.mean, result.stderr)
                lines[result.policy] = _band(axis, *curve, line)
            _framed(axis, name, max(result.horizon for result in results))
            axis.set_xlabel("step")
        seeds = sorted({result.n_seeds for _, results in panels for result in results})
        canvas.suptitle(f"{title}\n{_caption(seeds)}", fontsize=10)
        handles = [lines[name] for name in names]
        canvas.legend(handles, names, loc="outside lower center", ncols=words, fontsize=7)
        return canvas


def _line(number: int) -> dict[str, Any]:
    """Colour and dash of a curve, by its place in the legend."""
    dashes = list(DASHES.values())
    return {
        "color": LIGHT[number % len(LIGHT)],
        "ls": dashes[number // len(LIGHT) % len(dashes)],
    }


def draw_panel(panel: "Panel", styles: Mapping[str, Style]) -> "Canvas":
    """One panel of a sweep; `styles` gives every algorithm the same line in all panels."""
    with look():
        rows = -(-len(panel.curves) // 2)
        canvas = blank(4.6, 3.3 + 0.16 * rows)
        axis = canvas.subplots()
        for curve in panel.curves:
            style = styles[curve.name]
            line = {"color": LIGHT[style.colour], "ls": DASHES[style.dash], "label": curve.name}
            _band(axis, curve.steps, curve.mean, curve.stderr, line)
        _framed(axis, panel.title, max(int(curve.steps[-1]) for curve in panel.curves))
        axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
        seeds = _caption(sorted({c.n_seeds for c in panel.curves}))
        canvas.supxlabel(f"step   ({seeds})", fontsize=8)
        return canvas


def save(canvas: "Canvas", stem: Path) -> list[Path]:
    """Write a figure as PNG and PDF next to each other."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".png", ".pdf")]
    with look():
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")  # laid out once, not once per file
        for path in paths:
            kind = path.suffix.removeprefix(".")
            write_file(path, partial(canvas.savefig, dpi=DPI, format=kind), sync=False)
    return paths


def _band(axis: Any, steps: Any, mean: Any, stderr: Any, line: dict[str, Any]) -> Any:
    (drawn,) = axis.plot(steps, mean, **line)
    if np.isfinite(stderr).all():
        low, high = mean - BAND * stderr, mean + BAND * stderr
        axis.fill_between(steps, low, high, color=line["color"], alpha=0.2, linewidth=0)
    return drawn


def _framed(axis: Any, title: str, end: int) -> None:
    axis.set_title(title)
    axis.set_xlim(0, end)
    axis.set_ylim(bottom=0)
    axis.set_ylabel("cumulative regret")


def _caption(seeds: Sequence[int]) -> str:
    return f"mean of {'/'.join(map(str, seeds))} seeds; band: ± 1.96 standard errors"


def draw_spectra(
    findings: Sequence["Finding"],
    *,
    noise: float | None,
    names: tuple[str, str] = ("played", "greedy"),
    title: str = "",
) -> "Canvas":
    """Eigenvalues of played and greedy features of every candidate, and how well each fits."""
    columns = min(len(findings), 4)
    rows = -(-len(findings) // columns)
    foot = 0.2 * len(findings) + 0.9
    with look():
        canvas = blank(max(2.1 * columns, 5.2), 1.9 * rows + foot + 0.7)
        parts: Any = canvas.subfigures(2, 1, height_ratios=[1.9 * rows + 0.3, foot])
        upper, lower = parts
        grid = upper.subplots(rows, columns, squeeze=False, sharey=True)
        for axis, finding in zip(grid.flat, findings, strict=False):
            _spectrum(axis, finding, _floor(findings), names)
        for axis in list(grid.flat)[len(findings) :]:
            axis.remove()
        for axis in grid[:, 0]:
            axis.set_ylabel("eigenvalue")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        note = {"title": "hollow at the bottom: zero", "title_fontsize": 7}
        upper.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7, **note)
        _errors(lower.subplots(), findings, noise)
        canvas.suptitle(textwrap.fill(title, 28 * columns + 16), fontsize=8.5)
        return canvas


def _floor(findings: Sequence["Finding"]) -> float:
    """Where zeros are drawn on a log scale: well below the smallest eigenvalue that counts."""
    counted = [
        values[len(values) - rank]
        for f in findings
        for values, rank in ((f.played, f.played_rank), (f.greedy, f.greedy_rank))
        if rank
    ]
    return max(min(counted, default=1.0), 1e-12) / 30.0


def _spectrum(axis: Any, finding: "Finding", floor: float, names: tuple[str, str]) -> None:
    """Eigenvalues from the largest; those that count as zero lie hollow on the floor."""
    lines = ((finding.played, finding.played_rank, "o"), (finding.greedy, finding.greedy_rank, "^"))
    for k, (values, rank, marker) in enumerate(lines):
        look_of = {"marker": marker, "ms": 4, "color": LIGHT[k]}
        order, largest = range(1, len(values) + 1), values[::-1]
        axis.plot(order[:rank], largest[:rank], lw=1, label=f"{names[k]} actions", **look_of)
        zeros = [floor] * (len(values) - rank)
        axis.plot(order[rank:], zeros, ls="", mfc="none", **look_of)
    axis.set_yscale("log")
    axis.set_xlim(0.5, finding.dim + 0.5)
    axis.set_title(finding.name, fontsize=8)
    axis.xaxis.get_major_locator().set_params(integer=True)


def _errors(axis: Any, findings: Sequence["Finding"], noise: float | None) -> None:
    names = [finding.name for finding in findings]
    errors = [finding.error for finding in findings]
    bars = [BAND * finding.error_stderr for finding in findings]
    axis.errorbar(errors, range(len(names)), xerr=bars, fmt="o", ms=4, color=LIGHT[0], capsize=2)
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set_ylim(len(names) - 0.5, -0.5)
    if noise is not None and np.isfinite(noise):
        axis.axvline(noise, color=LIGHT[1], lw=1, ls="--", label="noise")
        axis.legend(fontsize=7, loc="best")
    exact = "largest error of the best linear fit"
    logged = "mean squared error (bars: ± 1.96 standard errors)"
    axis.set_xlabel(exact if noise is None else logged)
