"""Which times of the theory are marked in a plot of regret?

The end of regret is marked twice: where it was measured, and where the theory promises it in the
worst case, which is often far beyond the last step.
"""

import numpy as np

from banditsrl.display.numerals import format_number, format_time
from banditsrl.reports.page_plots import Plot
from banditsrl.reports.theory_comparison import TheoryComparison, TheoryEvent
from banditsrl.simulation.shares import NINE_TENTHS

MARKED = "no more regret"
"""The event that is marked; the others are in the table of times."""


def mark_times(found: TheoryComparison, end: int) -> list[Plot]:
    """Return the marks of a panel: a dot where regret ended, and a line where it must have.

    Args:
        found: The times of the panel.
        end: Last step of the panel.
    """
    marks: list[Plot] = []
    for event in found.events:
        if event.event != MARKED:
            continue
        middle = float(np.median(event.times))  # infinite if fewer than half have it
        if middle <= NINE_TENTHS * end:  # what has only just ended may begin again
            marks.append(_mark(event, "measured", middle, "median"))
        if np.isfinite(event.promised):
            marks.append(_mark(event, "promised", event.promised, "theory"))
    return marks


def describe_marks(marks: list[Plot]) -> str:
    """Return a sentence on the marks, with a blank at its end; empty if there are none."""
    if not marks:
        return ""
    promised = [mark["text"] for mark in marks if mark["kind"] == "promised"]
    dots = "A circle marks the median step after which a seed had no more regret. "
    return (dots if len(promised) < len(marks) else "") + "".join(f"{text}. " for text in promised)


def _mark(event: TheoryEvent, kind: str, step: float, label: str) -> Plot:
    n, of = len(event.happened), len(event.times)
    texts = {
        "measured": f"{event.name}: no more regret after step {format_number(step)} "
        f"in the median (it ended in {n} of {of} seeds)",
        "promised": f"The theory promises {event.name} no more regret after step "
        f"{format_time(step)} in the worst case",
    }
    shown = f"{label}: {format_time(step)}"
    return {"name": event.name, "kind": kind, "step": step, "label": shown, "text": texts[kind]}
