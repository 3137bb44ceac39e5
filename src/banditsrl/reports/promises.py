"""Did what the theory promises happen, and when? Its times next to the measured ones.

This file evaluates the paper's times where they apply (a finite linear problem, BanditSRL on
LinUCB or epsilon-greedy with the losses of the analysis) and says why not where they do not.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import BanditSRLError
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.problem_catalogue import make_problem
from banditsrl.reports.curves import Curve, Panel
from banditsrl.reports.result_tables import NOTHING, Table, number
from banditsrl.reports.sweep import Sweep
from banditsrl.theory.diagnosis import diagnose
from banditsrl.theory.guarantees import BASES, LOSSES, Theory, theory

COVERED = "banditsrl-"
"""How the policies begin to which the theory applies."""

FINITE = ("vardim", "mixing")
"""How the generated problems begin that are finite and linear; so is any JSON file."""

NO_BOUND = "no bound"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Promise:
    """The times of one panel, and sentences about them (or why there are none)."""

    table: Table | None
    remarks: tuple[str, ...]


@dataclass
class Promises:
    """The times of the theory for one sweep; each problem is built and analysed once."""

    sweep: Sweep
    _problems: dict[tuple[str, str], FiniteProblem] = field(default_factory=dict)
    _theories: dict[tuple[Any, ...], Theory] = field(default_factory=dict)

    def of(self, panel: Panel) -> Promise:
        """Theory and measurement for the curves of a panel to which the theory applies."""
        covered = [curve for curve in panel.curves if _covered(curve)]
        if not covered:
            return Promise(None, (_why_not(panel),))
        try:
            said = [self._theory(curve) for curve in covered]
            rows = [
                row
                for curve, promised in zip(covered, said, strict=True)
                for row in _rows(curve, promised, _hls(self._problem(curve)))
            ]
        except (BanditSRLError, OSError) as error:
            return Promise(None, (f"The times of the theory cannot be evaluated: {error}",))
        remarks = dict.fromkeys(text for one in said for text in (*one.violations, *one.notes))
        return Promise(Table(HEADINGS, tuple(rows), CAPTION), tuple(remarks))

    def _problem(self, curve: Curve) -> FiniteProblem:
        """The problem of a curve, as its cell or the specification of its first run says."""
        name, spec = curve.cell.problem, self.sweep.described(curve.cell.runs[0], "spec.json")
        settings = curve.cell.problem_settings or spec.get("problem_settings") or {}
        key = (name, json.dumps(settings, sort_keys=True))
        if key not in self._problems:
            self._problems[key] = make_problem(name, **settings)
        return self._problems[key]

    def _theory(self, curve: Curve) -> Theory:
        given = curve.cell.settings
        settings: dict[str, Any] = {k: given[k] for k in ("delta", "lam", "loss") if k in given}
        settings |= {"base": curve.cell.policy.removeprefix(COVERED), "horizon": curve.cell.horizon}
        problem = self._problem(curve)
        key = (id(problem), *sorted(settings.items()))
        if key not in self._theories:
            self._theories[key] = theory(problem, **settings)
        return self._theories[key]


HEADINGS = ("algorithm", "event", "promised by step", "measured (median)", "range", "seeds")

CAPTION = (
    "Promised: the paper's worst-case time, with probability 1 - 4δ. Measured: the recorded step "
    "by which it had happened for good, over the seeds in which it had."
)


def _covered(curve: Curve) -> bool:
    cell = curve.cell
    known = cell.policy.startswith(COVERED) and cell.policy.removeprefix(COVERED) in BASES
    finite = cell.problem.startswith(FINITE) or cell.problem.endswith(".json")
    return known and finite and cell.settings.get("loss", "eig") in LOSSES


def _why_not(panel: Panel) -> str:
    problems = [curve.cell.problem for curve in panel.curves]
    if not any(name.startswith(FINITE) or name.endswith(".json") for name in problems):
        return "The theory has no numbers here: the problem is not a finite linear one."
    return (
        "The theory has no numbers here: it covers BanditSRL on LinUCB or ε-greedy with the "
        "losses eig and bic."
    )


def _hls(problem: FiniteProblem) -> int | None:
    """The realizable HLS candidate, if there is one."""
    found = (diagnose(problem, k) for k in range(len(problem.representations)))
    return next((k for k, d in enumerate(found) if d.realizable and d.hls), None)


def _rows(curve: Curve, promised: Theory, hls: int | None) -> Iterator[tuple[str, ...]]:
    """One row per event: what it is, its promised time, and the measured ones."""
    open_until, end = curve.per_seed("open_until"), curve.per_seed("step")
    events = [
        ("wrong candidates out", promised.tau_elim, _eliminated(curve)),
        ("HLS candidate kept", promised.tau_hls, _selected(curve, hls)),
        ("always certified", promised.tau_glrt, np.where(open_until < end, open_until, np.inf)),
        ("no more regret", promised.tau_opt, _flat(curve)),
    ]
    for event, time, times in events:
        happened = times[np.isfinite(times)]
        spread = (
            f"{number(happened.min())} to {number(happened.max())}" if len(happened) else NOTHING
        )
        middle = number(float(np.median(happened))) if len(happened) else NOTHING
        yield (curve.name, event, power(time), middle, spread, f"{len(happened)} of {len(times)}")


def _eliminated(curve: Curve) -> Floats:
    reports = curve.seeds["reports_active"].to_numpy()
    return np.where(reports, curve.per_seed("last_elimination"), np.inf)


def _selected(curve: Curve, hls: int | None) -> Floats:
    if hls is None:
        return np.full(curve.n_seeds, np.inf)
    return np.where(curve.per_seed("chosen") == hls, curve.per_seed("chosen_since"), np.inf)


def _flat(curve: Curve) -> Floats:
    last, end = curve.per_seed("last_regret"), curve.per_seed("step")
    return np.where(last < end, last, np.inf)


def power(time: float) -> str:
    """A time that may be very large, as a power of ten.

    Example:
        >>> power(512.0), power(1.7e10), power(float("inf"))
        ('512', '10^10.2', 'no bound')
    """
    if math.isinf(time):
        return NO_BOUND
    return number(time) if time < 1e6 else f"10^{math.log10(time):.1f}"
