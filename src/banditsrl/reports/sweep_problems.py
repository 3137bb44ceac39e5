"""Which finite problem does a curve belong to, and what are its candidates called?

Problems are built from the settings that the sweep recorded, each one once.
"""

import json
from dataclasses import dataclass, field

from banditsrl.doctor.verdicts import name_candidate
from banditsrl.errors import BanditSRLError
from banditsrl.experiments.sweep import Sweep
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.problem_catalogue import make_problem
from banditsrl.reports.curves import MeasuredCurve

FINITE = ("vardim", "mixing")
"""Beginnings of the names of finite linear problems; every JSON file holds one, too."""

PORTFOLIO, PREDICTORS = "banditsrl-auto", ("columns", "waves", "steps", "trees", "networks")
"""The policy whose candidates are predictors of its own, and what docs/auto.md calls them."""


@dataclass
class SweepProblems:
    """Builds the finite problems of one sweep."""

    sweep: Sweep
    _built: dict[tuple[str, str], FiniteProblem] = field(default_factory=dict)

    def build(self, curve: MeasuredCurve) -> FiniteProblem:
        """Build the problem of a curve from its cell, or from the spec of its first run."""
        name, store = curve.cell.problem, self.sweep.store
        spec = store.read_document(curve.cell.runs[0], "spec.json")
        settings = curve.cell.problem_settings or spec.get("problem_settings") or {}
        key = (name, json.dumps(settings, sort_keys=True))
        if key not in self._built:
            self._built[key] = make_problem(name, **settings)
        return self._built[key]

    def name_candidates(self, curve: MeasuredCurve) -> tuple[str, ...]:
        """Return the names of the candidates of a curve; by position where they have no name."""
        n = 0 if curve.choices is None else len(curve.choices)
        if curve.cell.policy == PORTFOLIO:
            return PREDICTORS[:n]
        names = [f"candidate {k}" for k in range(n)]
        if n and is_finite(curve.cell.problem):
            try:
                problem = self.build(curve)
            except (BanditSRLError, OSError):  # a problem file may be gone; its curves are not
                return tuple(names)
            known = min(n, len(problem.representations))
            names[:known] = [name_candidate(problem, k) for k in range(known)]
        return tuple(names)


def is_finite(problem: str) -> bool:
    """Return whether a problem is finite and linear, judged by its name."""
    return problem.startswith(FINITE) or problem.endswith(".json")
