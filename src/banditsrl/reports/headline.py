"""What is the result of a sweep, in one sentence per panel?

A sentence names the algorithm that did best and the one it is compared with. Of each it says
whether exploration ended, and how much it still loses in the second half of the run.
"""

import numpy as np

from banditsrl.display.numerals import format_number, format_share
from banditsrl.reports.curves import MeasuredCurve, ReportPanel
from banditsrl.simulation.shares import HALF, NINE_TENTHS

PER = 1000
"""Number of steps to which a loss refers."""


def write_headline(panel: ReportPanel) -> str:
    """Return the result of a panel in one sentence.

    Its subject is the algorithm with the lowest final regret among those that stopped exploring,
    or among all if none did. It is compared with its base, or else with the best of the others.
    """
    ordered = sorted(panel.curves, key=lambda curve: float(curve.mean[-1]))
    stopped = [curve for curve in ordered if find_stop(curve) is not None]
    subject = (stopped or ordered)[0]
    others = [curve for curve in ordered if curve is not subject]
    other = panel.base_of(subject) or (others[0] if others else None)
    clauses = [describe_outcome(curve) for curve in (subject, other) if curve is not None]
    return f"{'; '.join(clauses)}."


def describe_outcome(curve: MeasuredCurve) -> str:
    """Return what became of an algorithm: when it stopped exploring, and what it still loses."""
    loss, stop = measure_loss(curve), find_stop(curve)
    if stop is None:
        if loss > 0:
            return f"{curve.name} still loses {_format_loss(loss)}"
        last = format_number(float(curve.per_seed("last_regret").max()))
        return f"{curve.name} lost nothing after step {last}, and {_describe_certified(curve)}"
    start = f"{curve.name} stopped exploring by step {format_number(stop)}"
    if loss > 0:
        start += f" but still loses {_format_loss(loss)}"
    wrong = curve.certificates.wrong_overall
    return f"{start} ({format_share(wrong)} of its certificates were wrong)" if wrong > 0 else start


def _describe_certified(curve: MeasuredCurve) -> str:
    if not curve.certifies:
        return "certified no round"
    return f"certified {format_share(curve.certificates.certified_in_last_tenth)} of its last tenth"


def find_stop(curve: MeasuredCurve) -> float | None:
    """Return the step after which every round of every seed was certified.

    None if some seed still had uncertified rounds in the last tenth of the run: what has only just
    ended may begin again.
    """
    last = float(curve.per_seed("last_uncertified").max())
    return last if last <= NINE_TENTHS * curve.cell.horizon else None


def measure_loss(curve: MeasuredCurve) -> float:
    """Return the regret per thousand steps in the second half of the run, mean over seeds."""
    n_steps = curve.per_seed("step") - HALF * curve.cell.horizon
    return float(np.mean(PER * curve.per_seed("second_half") / np.maximum(n_steps, 1.0)))


def _format_loss(loss: float) -> str:
    return f"{format_number(loss, loss)} per {PER:,} steps"  # two digits
