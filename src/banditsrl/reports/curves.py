"""Which curves does a panel show? Means with bands over steps, the best of each tuned group.

This file turns the sums of `measurements.py` into the panels that tables, plots and the page
share: plain arrays with names, no longer than a screen can show.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.reports.measurements import Measurements
from banditsrl.reports.sweep import Cell, Sweep

if TYPE_CHECKING:
    import polars as pl

MAX_POINTS = 200
"""Points of a curve in a plot: more than a screen needs, little enough to draw at once."""

Z = 1.96
"""Standard errors on each side of a mean: 95% of a normal distribution."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """One shown algorithm in one panel, recorded at K steps.

    Attributes:
        cell: What was run.
        n_seeds: Seeds behind it.
        steps: (K,).
        mean: Regret, mean over seeds, (K,).
        stderr: Its standard error, nan for a single seed, (K,).
        certified: Share of certified rounds since the step before, (K,).
        wrong: Share of rounds since the step before whose certificate was wrong, (K,).
        choices: Share of seeds per representation (rows) and step, (M, K), if it reports any.
        seeds: One row per seed, as in `Measurements.seeds`.
    """

    cell: Cell
    n_seeds: int
    steps: NDArray[np.int64]
    mean: Floats
    stderr: Floats
    certified: Floats
    wrong: Floats
    choices: Floats | None
    seeds: "pl.DataFrame"

    @property
    def name(self) -> str:
        """The name under which it is shown."""
        return self.cell.name

    @property
    def certifies(self) -> bool:
        """Whether any of its rounds was certified, or wrongly taken as decided."""
        return bool(self.certified.any() or self.wrong.any())

    def per_seed(self, column: str) -> Floats:
        """One column of `seeds`, (S,); nan where there is no value."""
        return np.asarray(self.seeds[column].cast(float).fill_null(float("nan")).to_numpy())


@dataclass(frozen=True)
class Tuned:
    """Which cell stands for a tuned group, out of which."""

    group: str
    best: Cell
    final: dict[str, float]  # label -> mean final regret of every cell with a finished run
    n_cells: int


@dataclass(frozen=True)
class Panel:
    """One panel of the figure: the shown curves and the choices behind them."""

    title: str
    curves: tuple[Curve, ...]
    tuned: tuple[Tuned, ...]

    def base_of(self, curve: Curve) -> Curve | None:
        """The curve that stands for the base algorithm of another, if it is there."""
        base = curve.cell.base
        groups = {label: t.group for t in self.tuned for label in t.final}
        names = {base, groups.get(base or "")} - {None}
        others = (other for other in self.curves if other is not curve)
        return next((other for other in others if {other.name, other.cell.label} & names), None)

    def base_name(self, curve: Curve) -> str | None:
        """The name of that curve."""
        base = self.base_of(curve)
        return None if base is None else base.name


def panels(sweep: Sweep, measured: Measurements) -> tuple[Panel, ...]:
    """The panels that have at least one finished run, in order."""
    parts = {
        name: {key[0]: part for key, part in frame.partition_by("cell", as_dict=True).items()}
        for name, frame in (
            ("means", measured.means),
            ("seeds", measured.seeds),
            ("choices", measured.choices),
        )
    }
    curves = [
        _curve(cell, parts["means"][k], parts["seeds"][k], parts["choices"].get(k))
        for k, cell in enumerate(sweep.cells)
        if k in parts["means"]
    ]
    found = (_panel(title, sweep, curves) for title in sweep.panels)
    return tuple(panel for panel in found if panel.curves)


def _panel(title: str, sweep: Sweep, curves: Iterable[Curve]) -> Panel:
    here = [curve for curve in curves if curve.cell.panel == title]
    groups = dict.fromkeys(curve.cell.tuned for curve in here if curve.cell.tuned)
    planned = [cell.tuned for cell in sweep.cells if cell.panel == title]
    tuned = tuple(_best(group, here, planned.count(group)) for group in groups)
    best = [choice.best for choice in tuned]
    shown = [curve for curve in here if curve.cell.tuned is None or curve.cell in best]
    return Panel(title, tuple(shown), tuned)


def _best(group: str, curves: Iterable[Curve], n_cells: int) -> Tuned:
    members = [curve for curve in curves if curve.cell.tuned == group]
    final = {curve.cell.label: float(curve.mean[-1]) for curve in members}
    best = min(members, key=lambda curve: (-curve.steps[-1], curve.mean[-1]))
    return Tuned(group, best.cell, final, n_cells)


def _curve(
    cell: Cell, means: "pl.DataFrame", seeds: "pl.DataFrame", choices: "pl.DataFrame | None"
) -> Curve:
    kept = means[thinned(len(means))]
    n_seeds = int(kept["n_seeds"][0])
    deviation = np.asarray(kept["deviation"].fill_null(float("nan")).to_numpy())
    steps = np.asarray(kept["step"].to_numpy())
    return Curve(
        cell=cell,
        n_seeds=n_seeds,
        steps=steps,
        mean=np.asarray(kept["regret"].to_numpy()),
        stderr=deviation / np.sqrt(n_seeds),
        certified=_share(kept["certified"], steps),
        wrong=_share(kept["wrong"], steps),
        choices=None if choices is None else _choice_table(choices, steps, _n_candidates(seeds)),
        seeds=seeds,
    )


def thinned(n: int, most: int = MAX_POINTS) -> NDArray[np.int64]:
    """At most `most` positions spread evenly over 0 .. n - 1, the first and the last included.

    Example:
        >>> thinned(5, 3).tolist()
        [0, 2, 4]
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def _share(counts: Any, steps: NDArray[np.int64]) -> Floats:
    widths = np.diff(steps, prepend=0)
    return np.asarray(np.diff(counts.to_numpy(), prepend=0.0) / np.maximum(widths, 1))


def _n_candidates(seeds: "pl.DataFrame") -> int:
    """How many candidates there are, as far as the tables tell."""
    largest = [seeds["n_candidates"].max(), seeds["chosen"].max()]
    return max(int(n) + k for k, n in enumerate(largest) if isinstance(n, int))


def _choice_table(choices: "pl.DataFrame", steps: NDArray[np.int64], n_candidates: int) -> Floats:
    """Share of seeds per representation and step, (M, K); zero where nobody used it."""
    kept = choices.filter(choices["step"].is_in(steps.tolist()) & (choices["representation"] >= 0))
    rows = kept["representation"].to_numpy()
    columns = np.searchsorted(steps, kept["step"].to_numpy())
    table = np.zeros((max(n_candidates, int(rows.max(initial=0)) + 1), len(steps)))
    table[rows, columns] = kept["share"].to_numpy()
    return table
