"""Which curves does a panel show? Means with standard errors, and the best of each tuned group.

This file turns the sums of `measurements.py` into panels for tables, plots and the page: plain
arrays with names, with no more points than a screen can show.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from banditsrl.experiments.sweep import Sweep, SweepCell
from banditsrl.reports.measurements import Measurements
from banditsrl.simulation.shares import CertificateCounts

if TYPE_CHECKING:
    import polars as pl

MAX_POINTS = 200
"""Points of a curve in a plot: more than a screen needs, and few enough to draw quickly."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MeasuredCurve:
    """One algorithm in one panel, measured at K steps.

    Attributes:
        cell: The cell of the sweep that was run.
        n_seeds: Number of seeds behind the curve.
        steps: The steps, (K,).
        mean: Regret, mean over seeds, (K,).
        stderr: Standard error of that mean, nan for a single seed, (K,).
        certificates: Mean counts of certified and wrong rounds, at every recorded step.
        certified: Certified share since the step before, (K,).
        wrong: Wrong share since the step before, (K,).
        choices: Share of seeds per representation (rows) and step, (M, K); None if the policy
            reports no representation.
        seeds: One row per seed, as in `Measurements.seeds`.
        seed_lines: Steps and regret of single seeds, for the first seeds and for few steps.
    """

    cell: SweepCell
    n_seeds: int
    steps: NDArray[np.int64]
    mean: Floats
    stderr: Floats
    certificates: CertificateCounts
    certified: Floats
    wrong: Floats
    choices: Floats | None
    seeds: "pl.DataFrame"
    seed_lines: tuple[tuple[NDArray[np.int64], Floats], ...]

    @property
    def name(self) -> str:
        """The name under which it is shown."""
        return self.cell.name

    @property
    def certifies(self) -> bool:
        """Whether any of its rounds was certified."""
        return bool(self.certified.any())

    def per_seed(self, column: str) -> Floats:
        """Return one column of `seeds`, (S,); nan where there is no value."""
        return np.asarray(self.seeds[column].cast(float).fill_null(float("nan")).to_numpy())


@dataclass(frozen=True)
class TunedGroup:
    """The cell that represents a tuned group in a panel, and the cells it was chosen from."""

    name: str
    best: SweepCell
    final: dict[str, float]  # label -> mean final regret of every cell with a finished run
    n_cells: int


@dataclass(frozen=True)
class ReportPanel:
    """One panel of the report: the curves it shows and the tuned groups behind them."""

    title: str
    curves: tuple[MeasuredCurve, ...]
    tuned: tuple[TunedGroup, ...]

    def base_of(self, curve: MeasuredCurve) -> MeasuredCurve | None:
        """Return the curve of the base algorithm that a curve is compared with, if it is here."""
        base = curve.cell.base
        groups = {label: group.name for group in self.tuned for label in group.final}
        names = {base, groups.get(base or "")} - {None}
        others = (other for other in self.curves if other is not curve)
        return next((other for other in others if {other.name, other.cell.label} & names), None)


def build_panels(sweep: Sweep, measured: Measurements) -> tuple[ReportPanel, ...]:
    """Return the panels that have at least one finished run, in order."""
    means, seeds, choices, lines = (
        {key[0]: part for key, part in frame.partition_by("cell", as_dict=True).items()}
        for frame in (measured.means, measured.seeds, measured.choices, measured.lines)
    )
    curves = [
        _build_curve(cell, means[k], seeds[k], choices.get(k), lines[k])
        for k, cell in enumerate(sweep.cells)
        if k in means
    ]
    panels = (_build_panel(title, sweep, curves) for title in sweep.panels)
    return tuple(panel for panel in panels if panel.curves)


def thin_positions(n: int, most: int = MAX_POINTS) -> NDArray[np.int64]:
    """Return at most `most` positions spread evenly over 0 .. n - 1, both ends included.

    Example:
        >>> thin_positions(5, 3).tolist()
        [0, 2, 4]
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def _build_panel(title: str, sweep: Sweep, curves: Iterable[MeasuredCurve]) -> ReportPanel:
    here = [curve for curve in curves if curve.cell.panel == title]
    names = dict.fromkeys(curve.cell.tuned for curve in here if curve.cell.tuned)
    planned = [cell.tuned for cell in sweep.cells if cell.panel == title]
    tuned = tuple(_choose_best(name, here, planned.count(name)) for name in names)
    best = [group.best for group in tuned]
    shown = [curve for curve in here if curve.cell.tuned is None or curve.cell in best]
    return ReportPanel(title, tuple(shown), tuned)


def _choose_best(name: str, curves: Iterable[MeasuredCurve], n_cells: int) -> TunedGroup:
    members = [curve for curve in curves if curve.cell.tuned == name]
    final = {curve.cell.label: float(curve.mean[-1]) for curve in members}
    best = min(members, key=lambda curve: (-curve.steps[-1], curve.mean[-1]))
    return TunedGroup(name, best.cell, final, n_cells)


def _build_curve(
    cell: SweepCell,
    means: "pl.DataFrame",
    seeds: "pl.DataFrame",
    choices: "pl.DataFrame | None",
    lines: "pl.DataFrame",
) -> MeasuredCurve:
    kept = means[thin_positions(len(means))]
    n_seeds = int(kept["n_seeds"][0])
    deviation = np.asarray(kept["deviation"].fill_null(float("nan")).to_numpy())
    steps, thinned = np.asarray(kept["step"].to_numpy()), _count_certificates(cell, kept)
    return MeasuredCurve(
        cell=cell,
        n_seeds=n_seeds,
        steps=steps,
        mean=np.asarray(kept["regret"].to_numpy()),
        stderr=deviation / np.sqrt(n_seeds),
        certificates=_count_certificates(cell, means),
        certified=thinned.certified_shares,
        wrong=thinned.wrong_shares,
        choices=None
        if choices is None
        else _build_choices(choices, steps, _count_candidates(seeds)),
        seeds=seeds,
        seed_lines=tuple(
            (part["step"].to_numpy(), part["regret"].to_numpy())
            for part in lines.partition_by("seed", maintain_order=True)
        ),
    )


def _count_certificates(cell: SweepCell, means: "pl.DataFrame") -> CertificateCounts:
    columns = {name: means[name].to_numpy() for name in ("certified", "trivial", "wrong")}
    return CertificateCounts(cell.horizon, means["step"].to_numpy(), **columns)


def _count_candidates(seeds: "pl.DataFrame") -> int:
    """Return the number of candidates, as far as it can be seen in the tables."""
    largest = [seeds["n_candidates"].max(), seeds["chosen"].max()]
    return max(int(n) + k for k, n in enumerate(largest) if isinstance(n, int))


def _build_choices(choices: "pl.DataFrame", steps: NDArray[np.int64], n_candidates: int) -> Floats:
    """Return the share of seeds per representation and step, (M, K); zero where unused."""
    kept = choices.filter(choices["step"].is_in(steps.tolist()) & (choices["representation"] >= 0))
    rows = kept["representation"].to_numpy()
    columns = np.searchsorted(steps, kept["step"].to_numpy())
    shares = np.zeros((max(n_candidates, int(rows.max(initial=0)) + 1), len(steps)))
    shares[rows, columns] = kept["share"].to_numpy()
    return shares
