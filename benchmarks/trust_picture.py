"""Which families are within the limits? One row of dots per family, one panel per limit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

GOOD, BAD, GREY = "#0072b2", "#d55e00", "#666666"
LOSS_FLOOR, LOSS_CEILING = 1e-4, 3.0
"""Losses are drawn between these, on a logarithmic scale; smaller ones lie on the left edge."""

GROUPS = (
    ("rewards do not change", ("none", "contexts")),
    ("rewards change", ("swap", "rising", "drift")),
)


def draw(lines: Sequence[Any], path: Path, *, title: str) -> None:
    """Draw the three panels; a row is a family, and faint dots are single seeds."""
    rows, places, height = _place_rows(lines)
    figure = Figure(figsize=(10.0, 1.6 + 0.19 * height), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    _draw_losses(panels[0], rows, places)
    _draw_shares(panels[1], rows, places)
    _draw_ratios(panels[2], rows, places)
    panels[0].set_yticks(places, [line.family + (" °" if line.easy else "") for line in rows])
    for label, line in zip(panels[0].get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if line.held_out else "normal")
    panels[0].set_ylim(height - 0.5, -1.5)
    for panel in panels:
        panel.grid(axis="y", alpha=0.25)
        panel.tick_params(labelsize=7, left=False)
        panel.spines[["top", "right", "left"]].set_visible(False)
    _name_groups(panels[0], rows, places)
    figure.suptitle(title, fontsize=11)
    figure.supxlabel(
        "large dots: all seeds together (orange beyond the limit); faint dots: single seeds; "
        "dashed: limit; bold: held out; °: easy, must reach the limit of the middle panel",
        fontsize=7,
        color=GREY,
    )
    figure.savefig(path, dpi=130)


def _place_rows(lines: Sequence[Any]) -> tuple[list[Any], list[int], int]:
    """Return the families by group, the height of each, and the height of all."""
    rows: list[Any] = []
    places: list[int] = []
    height = 0
    for _, changes in GROUPS:
        group = [line for line in lines if line.change in changes]
        rows += group
        places += range(height, height + len(group))
        height += len(group) + 2 if group else 0
    return rows, places, height - 2


def _name_groups(panel: Any, rows: list[Any], places: list[int]) -> None:
    for name, changes in GROUPS:
        inside = [at for line, at in zip(rows, places, strict=True) if line.change in changes]
        if inside:
            panel.text(
                -0.03, inside[0] - 0.9, name, transform=panel.get_yaxis_transform(), **NAMING
            )


NAMING = {"fontsize": 7, "fontstyle": "italic", "color": GREY, "ha": "right"}


def _draw_losses(panel: Any, rows: list[Any], places: list[int]) -> None:
    for line, at in zip(rows, places, strict=True):
        if line.loss is None:
            said = "nothing to lose" if not line.random_loss else "nothing certified"
            panel.text(LOSS_FLOOR, at, said, fontsize=6, color=GREY, va="center")
            continue
        _put_dots(panel, at, _clip(line.losses), _clip([line.loss])[0], good=line.loss <= 0.01)
    _draw_limit(panel, 0.01, "1%")
    _draw_limit(panel, 0.002, "0.2%")
    panel.set_xscale("log")
    panel.set_xlim(LOSS_FLOOR / 1.5, LOSS_CEILING * 1.5)
    panel.set_xticks([1e-4, 1e-3, 1e-2, 1e-1, 1.0], ["≤0.01%", "0.1%", "1%", "10%", "100%"])
    panel.set_title("certificate loss\n(share of random play's)", fontsize=9)


def _draw_shares(panel: Any, rows: list[Any], places: list[int]) -> None:
    for line, at in zip(rows, places, strict=True):
        mean = float(np.mean(line.last_fifth))
        silent = bool(line.random_loss) or not sum(line.certified)
        _put_dots(panel, at, line.last_fifth, mean, good=silent and (mean >= 0.5 or not line.easy))
    _draw_limit(panel, 0.5, "easy: 0.5")
    panel.set_xlim(-0.03, 1.03)
    panel.set_title("certified share\nof the last fifth", fontsize=9)


def _draw_ratios(panel: Any, rows: list[Any], places: list[int]) -> None:
    for line, at in zip(rows, places, strict=True):
        if line.ratio is not None:
            _put_dots(panel, at, [], min(line.ratio, 10.0), good=line.ratio <= 1.1)
    _draw_limit(panel, 1.1, "1.1")
    panel.set_xscale("log")
    panel.set_xlim(0.2, 11.0)
    panel.set_xticks([0.25, 0.5, 1, 2, 4, 10], ["¼", "½", "1", "2", "4", "≥10"])
    panel.minorticks_off()
    panel.set_title("regret over that of\nthe best reference", fontsize=9)


def _clip(losses: Sequence[float]) -> list[float]:
    return [float(np.clip(loss, LOSS_FLOOR, LOSS_CEILING)) for loss in losses]


def _put_dots(panel: Any, at: int, single: Sequence[float], mean: float, *, good: bool) -> None:
    colour = GOOD if good else BAD
    panel.scatter(single, [at] * len(single), s=9, color=colour, alpha=0.3, linewidths=0)
    panel.scatter([mean], [at], s=26, color=colour, zorder=3)


def _draw_limit(panel: Any, limit: float, name: str) -> None:
    panel.axvline(limit, color=GREY, lw=0.8, ls="--", zorder=1)
    panel.annotate(
        name,
        (limit, 1.0),
        (2, -7),
        xycoords=panel.get_xaxis_transform(),
        textcoords="offset points",
        fontsize=6,
        color=GREY,
    )
