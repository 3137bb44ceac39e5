"""Did what the theory promises happen, and when? Its times next to the measured ones.

The paper's times are evaluated where they apply: on a finite linear problem, for BanditSRL on
LinUCB or epsilon-greedy with the losses of the analysis. Elsewhere a sentence says why not.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import BanditSRLError
from banditsrl.experiments.sweep_file import Sweep
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.problem_catalogue import make_problem
from banditsrl.reports.curves import MeasuredCurve, ReportPanel
from banditsrl.reports.number_format import NO_VALUE, format_number, format_time
from banditsrl.reports.panel_tables import TextTable
from banditsrl.theory.diagnosis import diagnose
from banditsrl.theory.guarantees import BASES, LOSSES, Theory, theory

COVERED = "banditsrl-"
"""Beginning of the names of policies to which the theory applies."""

FINITE = ("vardim", "mixing")
"""Beginnings of the names of finite linear problems; every JSON file holds one, too."""

HEADINGS = ("algorithm", "event", "promised by step", "measured (median)", "range", "seeds")

CAPTION = (
    "Promised: the time by which the event happens in the worst case according to the paper, with "
    "probability 1 - 4δ. Measured: the recorded step from which on the event holds until the end "
    "of the run, over the seeds in which it does."
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TheoryComparison:
    """Promised and measured times of one panel, and remarks on them.

    Attributes:
        table: The times; None where the theory does not apply.
        remarks: Assumptions that the problem violates and notes on the times, or, without a
            table, the reason why there is none.
    """

    table: TextTable | None
    remarks: tuple[str, ...]


@dataclass
class TheoryComparer:
    """Compares panels of one sweep with the theory; builds and analyses each problem once."""

    sweep: Sweep
    _problems: dict[tuple[str, str], FiniteProblem] = field(default_factory=dict)
    _theories: dict[tuple[Any, ...], Theory] = field(default_factory=dict)

    def compare(self, panel: ReportPanel) -> TheoryComparison:
        """Compare the curves of a panel to which the theory applies."""
        covered = [curve for curve in panel.curves if _is_covered(curve)]
        if not covered:
            return TheoryComparison(None, (_explain_absence(panel),))
        try:
            theories = [self._evaluate_theory(curve) for curve in covered]
            rows = [
                row
                for curve, promised in zip(covered, theories, strict=True)
                for row in _compare_events(curve, promised, self._build_problem(curve))
            ]
        except (BanditSRLError, OSError) as error:
            reason = f"The times of the theory cannot be computed: {error}"
            return TheoryComparison(None, (reason,))
        remarks = dict.fromkeys(text for one in theories for text in (*one.violations, *one.notes))
        return TheoryComparison(TextTable(HEADINGS, tuple(rows), CAPTION), tuple(remarks))

    def _build_problem(self, curve: MeasuredCurve) -> FiniteProblem:
        """Build the problem of a curve from its cell, or from the spec of its first run."""
        name, spec = curve.cell.problem, self.sweep.read_run_file(curve.cell.runs[0], "spec.json")
        settings = curve.cell.problem_settings or spec.get("problem_settings") or {}
        key = (name, json.dumps(settings, sort_keys=True))
        if key not in self._problems:
            self._problems[key] = make_problem(name, **settings)
        return self._problems[key]

    def _evaluate_theory(self, curve: MeasuredCurve) -> Theory:
        given = curve.cell.settings
        settings: dict[str, Any] = {k: given[k] for k in ("delta", "lam", "loss") if k in given}
        settings |= {"base": curve.cell.policy.removeprefix(COVERED), "horizon": curve.cell.horizon}
        problem = self._build_problem(curve)
        key = (id(problem), *sorted(settings.items()))
        if key not in self._theories:
            self._theories[key] = theory(problem, **settings)
        return self._theories[key]


def _is_finite(problem: str) -> bool:
    return problem.startswith(FINITE) or problem.endswith(".json")


def _is_covered(curve: MeasuredCurve) -> bool:
    cell = curve.cell
    known = cell.policy.startswith(COVERED) and cell.policy.removeprefix(COVERED) in BASES
    return known and _is_finite(cell.problem) and cell.settings.get("loss", "eig") in LOSSES


def _explain_absence(panel: ReportPanel) -> str:
    if not any(_is_finite(curve.cell.problem) for curve in panel.curves):
        return "The theory gives no times here: the problem is not finite and linear."
    return (
        "The theory gives no times here: it covers BanditSRL on LinUCB or ε-greedy with the "
        "losses eig and bic."
    )


def _compare_events(
    curve: MeasuredCurve, promised: Theory, problem: FiniteProblem
) -> Iterator[tuple[str, ...]]:
    """Yield one row per event: its name, its promised time, and the measured ones."""
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
        happened = times[np.isfinite(times)]
        middle = spread = NO_VALUE
        if len(happened):
            middle = format_number(float(np.median(happened)))
            spread = f"{format_number(happened.min())} to {format_number(happened.max())}"
        seeds = f"{len(happened)} of {len(times)}"
        yield (curve.name, event, format_time(time), middle, spread, seeds)


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
