"""How are the spectra of candidate embeddings drawn? Eigenvalues above, and errors below."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from banditsrl.display.palette import LIGHT
from banditsrl.display.pictures import apply_look, make_canvas
from banditsrl.doctor.verdicts import CandidateVerdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

MANY = 60
"""More eigenvalues than this are drawn with small marks."""


def draw_spectra(
    verdicts: Sequence[CandidateVerdict],
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
        _draw_grid(upper, grid, verdicts, names)
        _draw_errors(lower.subplots(), verdicts, noise)
        canvas.suptitle(textwrap.fill(title, 28 * columns + 16), fontsize=8.5)
        return canvas


def _draw_grid(
    upper: Any, grid: Any, verdicts: Sequence[CandidateVerdict], names: tuple[str, str]
) -> None:
    """Draw one spectrum into each cell of the grid, with one legend for all of them."""
    for axis, verdict in zip(grid.flat, verdicts, strict=False):
        _draw_spectrum(axis, verdict, _find_floor(verdicts), names)
    for axis in list(grid.flat)[len(verdicts) :]:
        axis.remove()
    for axis in grid[:, 0]:
        axis.set_ylabel("eigenvalue")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    note = {"title": "hollow marks at the bottom: zero", "title_fontsize": 7}
    upper.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7, **note)


def _find_floor(verdicts: Sequence[CandidateVerdict]) -> float:
    """Return where zeros are drawn on a log scale: well below the smallest non-zero eigenvalue."""
    counted = [
        values[len(values) - rank]
        for f in verdicts
        for values, rank in ((f.played, f.played_rank), (f.greedy, f.greedy_rank))
        if rank
    ]
    return max(min(counted, default=1.0), 1e-12) / 30.0


def _draw_spectrum(
    axis: Any, verdict: CandidateVerdict, floor: float, names: tuple[str, str]
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


def _draw_errors(axis: Any, verdicts: Sequence[CandidateVerdict], noise: float | None) -> None:
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
