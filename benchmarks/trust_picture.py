"""Which families are within the limits? One row of dots per family, one panel per limit.

`docs/figures/make.py trust` draws the same picture in the colours of a page, and narrow for phones.
"""

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

LOSS_FLOOR, LOSS_CEILING = 1e-4, 3.0
"""Losses are drawn between these, on a logarithmic scale; smaller ones lie on the left edge."""

GROUPS = (
    ("rewards do not change", ("none", "contexts")),
    ("rewards change", ("swap", "rising", "drift")),
)

CAPTION = (
    "large dots: all seeds together (orange beyond the limit); faint dots: single seeds; "
    "dashed: limit; bold: held out; °: easy, must reach the limit of the middle panel"
)
LETTERS = 20
"""Letters of the caption that fit into an inch."""


class Look(NamedTuple):
    """The colours of a picture, and whether it is for a phone; then names are above their dots."""

    good: str = "#0072b2"
    bad: str = "#d55e00"
    grey: str = "#666666"
    narrow: bool = False

    @property
    def width(self) -> float:
        """Width of the picture in inches."""
        return 3.9 if self.narrow else 10.0

    @property
    def row(self) -> float:
        """Height of a row in inches."""
        return 0.29 if self.narrow else 0.19


def draw(lines: Sequence[Any], *, title: str, look: Look | None = None) -> Figure:
    """Draw the three panels; a row is a family, and faint dots are single seeds."""
    look = look or Look()
    rows, places, height = _place_rows(lines)
    figure = Figure(figsize=(look.width, 1.6 + look.row * height), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    _draw_losses(panels[0], rows, places, look)
    _draw_shares(panels[1], rows, places, look)
    _draw_ratios(panels[2], rows, places, look)
    panels[0].set_ylim(height - 0.5, -2.1 if look.narrow else -1.5)
    for panel in panels:
        panel.grid(visible=False, axis="x")
        panel.grid(axis="y", alpha=0.25)
        panel.tick_params(labelsize=7, left=False)
        panel.spines[["top", "right", "left"]].set_visible(False)
    _name_rows(panels[0], rows, places, look)
    _name_groups(panels[0], rows, places, look)
    figure.suptitle(title, fontsize=11)
    caption = textwrap.fill(CAPTION, round(LETTERS * look.width))
    figure.supxlabel(caption, fontsize=7, color=look.grey)
    return figure


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


def _name_rows(panel: Any, rows: list[Any], places: list[int], look: Look) -> None:
    """Write the families at the left side, or above their dots."""
    names = [line.family + (" °" if line.easy else "") for line in rows]
    weights = ["bold" if line.held_out else "normal" for line in rows]
    panel.set_yticks(places, [""] * len(places) if look.narrow else names)
    for label, weight in zip(panel.get_yticklabels(), weights, strict=True):
        label.set_fontweight(weight)
    if not look.narrow:
        return
    for name, weight, at in zip(names, weights, places, strict=True):
        panel.text(
            0.0,
            at - 0.3,
            name,
            transform=panel.get_yaxis_transform(),
            fontsize=7,
            weight=weight,
            bbox=_cover(panel),
        )


def _name_groups(panel: Any, rows: list[Any], places: list[int], look: Look) -> None:
    x, side = (0.0, "left") if look.narrow else (-0.03, "right")
    for name, changes in GROUPS:
        inside = [at for line, at in zip(rows, places, strict=True) if line.change in changes]
        if inside:
            panel.text(
                x,
                inside[0] - (1.05 if look.narrow else 0.9),
                name,
                transform=panel.get_yaxis_transform(),
                fontsize=7,
                fontstyle="italic",
                color=look.grey,
                ha=side,
                bbox=_cover(panel),
            )


def _draw_losses(panel: Any, rows: list[Any], places: list[int], look: Look) -> None:
    for line, at in zip(rows, places, strict=True):
        if line.loss is None:
            said = "nothing to lose" if not line.random_loss else "nothing certified"
            panel.text(
                *(LOSS_FLOOR, at, said),
                fontsize=6,
                color=look.grey,
                va="center",
                bbox=_cover(panel),
            )
            continue
        single, together = _clip(line.losses), _clip([line.loss])[0]
        _put_dots(panel, at, single, together, _choose(look, good=line.loss <= 0.01))
    _draw_limit(panel, 0.01, "1%", look)
    _draw_limit(panel, 0.002, "" if look.narrow else "0.2%", look)
    panel.set_xscale("log")
    panel.set_xlim(LOSS_FLOOR / 1.5, LOSS_CEILING * 1.5)
    ticks = {1e-4: "≤0.01%", 1e-3: "0.1%", 1e-2: "1%", 1e-1: "10%", 1.0: "100%"}
    shown = [1e-4, 1e-2, 1.0] if look.narrow else list(ticks)
    panel.set_xticks(shown, [ticks[tick] for tick in shown])
    below = "share of\nrandom play's" if look.narrow else "share of random play's"
    panel.set_title(f"certificate loss\n({below})", fontsize=8 if look.narrow else 9)


def _draw_shares(panel: Any, rows: list[Any], places: list[int], look: Look) -> None:
    for line, at in zip(rows, places, strict=True):
        mean = float(np.mean(line.last_fifth))
        silent = bool(line.random_loss) or not sum(line.certified)
        good = silent and (mean >= 0.5 or not line.easy)
        _put_dots(panel, at, line.last_fifth, mean, _choose(look, good=good))
    _draw_limit(panel, 0.5, "easy: 0.5", look)
    panel.set_xlim(-0.03, 1.03)
    if look.narrow:
        panel.set_xticks([0.0, 0.5, 1.0])
    panel.set_title("certified share\nof the last fifth", fontsize=8 if look.narrow else 9)


def _draw_ratios(panel: Any, rows: list[Any], places: list[int], look: Look) -> None:
    for line, at in zip(rows, places, strict=True):
        if line.ratio is not None:
            colour = _choose(look, good=line.ratio <= 1.1)
            _put_dots(panel, at, [], min(line.ratio, 10.0), colour)
    _draw_limit(panel, 1.1, "1.1", look)
    panel.set_xscale("log")
    panel.set_xlim(0.2, 11.0)
    ticks = {0.25: "¼", 0.5: "½", 1: "1", 2: "2", 4: "4", 10: "≥10"}
    shown = [0.25, 1, 4] if look.narrow else list(ticks)
    panel.set_xticks(shown, [ticks[tick] for tick in shown])
    panel.minorticks_off()
    between = "\n" if look.narrow else " "
    title = f"regret over that of\nthe best{between}reference"
    panel.set_title(title, fontsize=8 if look.narrow else 9)


def _cover(panel: Any) -> dict[str, Any]:
    """Return a box of paper behind a text, so that no line runs through it."""
    return {"facecolor": panel.get_facecolor(), "edgecolor": "none", "pad": 0.5}


def _choose(look: Look, *, good: bool) -> str:
    return look.good if good else look.bad


def _clip(losses: Sequence[float]) -> list[float]:
    return [float(np.clip(loss, LOSS_FLOOR, LOSS_CEILING)) for loss in losses]


def _put_dots(panel: Any, at: int, single: Sequence[float], mean: float, colour: str) -> None:
    panel.scatter(single, [at] * len(single), s=9, color=colour, alpha=0.3, linewidths=0)
    panel.scatter([mean], [at], s=26, color=colour, zorder=3)


def _draw_limit(panel: Any, limit: float, name: str, look: Look) -> None:
    panel.axvline(limit, color=look.grey, lw=0.8, ls="--", zorder=1)
    panel.annotate(
        name,
        (limit, 1.0),
        (2, -7),
        xycoords=panel.get_xaxis_transform(),
        textcoords="offset points",
        fontsize=6,
        color=look.grey,
    )
