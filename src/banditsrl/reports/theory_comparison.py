"""Did what the theory promises happen, and when? Its times next to the measured ones.

The paper's times are evaluated where they apply: on a finite linear problem, for BanditSRL on
LinUCB or epsilon-greedy with the losses of the analysis. Elsewhere a sentence says why not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.display.numerals import NO_VALUE, format_number, format_time
from banditsrl.errors import BanditSRLError
from banditsrl.problems.finite import FiniteProblem
from banditsrl.reports.curves import MeasuredCurve, ReportPanel
from banditsrl.reports.panel_tables import TextTable
from banditsrl.reports.sweep_problems import SweepProblems, is_finite
from banditsrl.theory.diagnosis import diagnose
from banditsrl.theory.guarantees import BASES, LOSSES, Theory, theory

COVERED = "banditsrl-"
"""Beginning of the names of policies to which the theory applies."""

HEADINGS = ("algorithm", "event", "promised by step", "measured (median)", "range", "seeds")

CAPTION = (
    "Promised: the time by which the event happens in the worst case according to the paper, with "
    "probability 1 \u2212 4δ. Measured: the recorded step from which on the event holds until the "
    "end of the run, over the seeds in which it does."
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TheoryEvent:
    """One event that the theory promises to one algorithm.

    Attributes:
        name: Name of the algorithm.
        event: The event in words.
        promised: Step by which it happens in the worst case; infinite without a bound.
        times: Step at which it happened, per seed; infinite where it did not, (S,).
    """

    name: str
    event: str
    promised: float
    times: Floats

    @property
    def happened(self) -> Floats:
        """The times of the seeds in which it happened."""
        return self.times[np.isfinite(self.times)]


@dataclass(frozen=True)
class TheoryComparison:
    """Promised and measured times of one panel, and remarks on them.

    Attributes:
        events: The times; empty where the theory does not apply.
        remarks: Assumptions that the problem violates and notes on the times, or, without
            events, the reason why there is none.
    """

    events: tuple[TheoryEvent, ...]
    remarks: tuple[str, ...]

    @property
    def table(self) -> TextTable | None:
        """The times as text; None where the theory does not apply."""
        if not self.events:
            return None
        return TextTable(HEADINGS, tuple(_event_row(event) for event in self.events), CAPTION)


@dataclass
class TheoryComparer:
    """Compares panels of one sweep with the theory; analyses each problem once."""

    problems: SweepProblems
    _theories: dict[tuple[Any, ...], Theory] = field(default_factory=dict)

    def compare(self, panel: ReportPanel) -> TheoryComparison:
        """Compare the curves of a panel to which the theory applies."""
        covered = [curve for curve in panel.curves if _is_covered(curve)]
        if not covered:
            return TheoryComparison((), (_explain_absence(panel),))
        try:
            theories = [self._evaluate_theory(curve) for curve in covered]
            events = [
                event
                for curve, promised in zip(covered, theories, strict=True)
                for event in _compare_events(curve, promised, self.problems.build(curve))
            ]
        except (BanditSRLError, OSError) as error:
            reason = f"The times of the theory cannot be computed: {error}"
            return TheoryComparison((), (reason,))
        remarks = dict.fromkeys(text for one in theories for text in (*one.violations, *one.notes))
        return TheoryComparison(tuple(events), tuple(remarks))

    def _evaluate_theory(self, curve: MeasuredCurve) -> Theory:
        given = curve.cell.settings
        settings: dict[str, Any] = {k: given[k] for k in ("delta", "lam", "loss") if k in given}
        settings |= {"base": curve.cell.policy.removeprefix(COVERED), "horizon": curve.cell.horizon}
        problem = self.problems.build(curve)
        key = (id(problem), *sorted(settings.items()))
        if key not in self._theories:
            self._theories[key] = theory(problem, **settings)
        return self._theories[key]


def _is_covered(curve: MeasuredCurve) -> bool:
    cell = curve.cell
    known = cell.policy.startswith(COVERED) and cell.policy.removeprefix(COVERED) in BASES
    return known and is_finite(cell.problem) and cell.settings.get("loss", "eig") in LOSSES


def _explain_absence(panel: ReportPanel) -> str:
    if not any(is_finite(curve.cell.problem) for curve in panel.curves):
        return "The theory gives no times here: the problem is not finite and linear."
    return (
        "The theory gives no times here: it covers BanditSRL on LinUCB or ε-greedy with the "
        "losses eig and bic."
    )


def _compare_events(
    curve: MeasuredCurve, promised: Theory, problem: FiniteProblem
) -> Iterator[TheoryEvent]:
    """Yield the events in the order of the paper."""
    candidates = [diagnose(problem, k) for k in range(len(problem.representations))]
    misspecified = [k for k, d in enumerate(candidates) if not d.realizable]
    hls = next((k for k, d in enumerate(candidates) if d.realizable and d.hls), None)
    eliminated = _elimination_times(curve, misspecified)
    events = [
        ("misspecified candidates eliminated", promised.tau_elim, eliminated),
        ("HLS candidate in use", promised.tau_hls, _selection_times(curve, hls)),
        ("every round certified", promised.tau_glrt, _stop_times(curve, "last_uncertified")),
        ("no more regret", promised.tau_opt, _stop_times(curve, "last_regret")),
    ]
    for event, time, times in events:
        yield TheoryEvent(curve.name, event, time, times)


def _event_row(event: TheoryEvent) -> tuple[str, ...]:
    happened, middle, spread = event.happened, NO_VALUE, NO_VALUE
    if len(happened):
        middle = format_number(float(np.median(happened)))
        spread = f"{format_number(happened.min())} to {format_number(happened.max())}"
    seeds = f"{len(happened)} of {len(event.times)}"
    return (event.name, event.event, format_time(event.promised), middle, spread, seeds)


def _elimination_times(curve: MeasuredCurve, misspecified: list[int]) -> Floats:
    """Return the last elimination per seed; infinite while a misspecified candidate is active."""
    final = curve.seeds["active"].to_list()
    complete = [active is not None and not any(active[k] for k in misspecified) for active in final]
    return np.where(complete, curve.per_seed("last_elimination"), np.inf)


def _selection_times(curve: MeasuredCurve, hls: int | None) -> Floats:
    if hls is None:
        return np.full(curve.n_seeds, np.inf)
    return np.where(curve.per_seed("chosen") == hls, curve.per_seed("chosen_since"), np.inf)


def _stop_times(curve: MeasuredCurve, column: str) -> Floats:
    """Return the last step of something per seed; infinite where it lasted until the end."""
    last, end = curve.per_seed(column), curve.per_seed("step")
    return np.where(last < end, last, np.inf)
