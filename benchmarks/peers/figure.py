"""Which library is both fast and good? Final regret against time, one panel per problem."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from settings import TITLES
from streams import PROBLEMS

MARKS = {"ours": ("o", "#0072b2"), "vw": ("s", "#d55e00")}
MARKS |= {"mabwiser": ("^", "#009e73"), "calvera": ("D", "#cc79a7")}
MARKS |= {"lightgbm": ("v", "#e69f00"), "forest": ("P", "#56b4e9")}
SIZE, FAINT, GREY = 42, 0.3, "#666666"
MIN_WIDTH = 9.0  # the caption needs this width


class PlottedRow(Protocol):
    """The members of a table row that the figure needs."""

    problem: str
    runner: str
    setting: str
    n_seeds: int
    regret: dict[int, tuple[float, float]]
    microseconds: float
    best: bool


def draw(rows: Sequence[Any], path: Path) -> None:
    """Draw one panel per problem, with regret at the last checkpoint over total time."""
    mpl.rcParams["font.size"] = 9
    problems = [name for name in PROBLEMS if any(row.problem == name for row in rows)]
    figure = Figure(figsize=(max(3.0 * len(problems), MIN_WIDTH), 3.4), layout="constrained")
    panels = figure.subplots(1, len(problems), squeeze=False, sharex=True)[0]
    for panel, name in zip(panels, problems, strict=True):
        _draw_panel(panel, [row for row in rows if row.problem == name])
        panel.set_title(name)
    step = max(rows[0].regret)
    panels[0].set_ylabel(f"regret at {step:,} steps")
    _draw_legend(figure, {row.runner for row in rows})
    seeds = sorted({row.n_seeds for row in rows})
    seed_range = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]}-{seeds[-1]}"
    figure.supxlabel(
        f"total microseconds of act and learn (log); mean and 95% interval over {seed_range} "
        "seeds; faint: other settings of a peer",
        fontsize=8,
        color=GREY,
    )
    figure.savefig(path, dpi=150)


def _draw_panel(panel: Any, rows: Sequence[PlottedRow]) -> None:
    for row in rows:
        step = max(row.regret)
        mean, half = row.regret[step]
        mark, colour = MARKS[row.runner]
        alpha = 1.0 if row.best or row.runner == "ours" else FAINT
        at = row.microseconds * step
        panel.errorbar(at, mean, yerr=half, color=colour, alpha=alpha, lw=1)
        panel.scatter(at, mean, marker=mark, color=colour, alpha=alpha, s=SIZE, zorder=3)
        if row.runner == "ours":
            panel.annotate(_shorten(row.setting), (at, mean), (5, 4), **_label_style(colour))
    panel.set_xscale("log")
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_ylim(bottom=0)
    panel.margins(x=0.2)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def _shorten(setting: str) -> str:
    return setting.replace("nn-banditsrl-egreedy, ", "nn, ").replace("banditsrl-", "")


def _label_style(colour: str) -> dict[str, Any]:
    return {"textcoords": "offset points", "fontsize": 7, "color": colour}


def _draw_legend(figure: Figure, runners: set[str]) -> None:
    handles = [
        mpl.lines.Line2D([], [], marker=mark, color=colour, ls="", label=TITLES[runner])
        for runner, (mark, colour) in MARKS.items()
        if runner in runners
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)
