"""Which line does each algorithm of a sweep have? One answer for the page and for all figures."""

from collections.abc import Iterable

from banditsrl.experiments.sweep import SweepCell
from banditsrl.reports.colours import LineStyle, assign_styles


def assign_cell_styles(cells: Iterable[SweepCell]) -> dict[str, LineStyle]:
    """Return the style of every algorithm of a sweep, by the name under which it is shown.

    All planned cells count, whether or not they are finished, so that no colour changes while a
    sweep is running.
    """
    return assign_styles(cell.name for cell in cells)
