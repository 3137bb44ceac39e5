"""How did the algorithms end? Final regret with intervals, and pairs compared seed by seed.

This file writes tables as words and numbers, ready to be set by the page; each has a caption
that says what its columns mean.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banditsrl.reports.curves import Curve, Panel, Z

NOTHING, MINUS = "\u2013", "\u2212"
"""A dash for a value that does not exist, and a minus sign as wide as a digit."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Headings, rows of cells, and a caption; the first column names the row."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str


@dataclass(frozen=True)
class Comparison:
    """Two algorithms on the same seeds: regret of the first minus that of its base."""

    name: str
    base: str
    n_seeds: int
    difference: float
    stderr: float
    n_better: int
    n_ties: int

    @property
    def verdict(self) -> str:
        """What the difference says, in words."""
        if self.n_seeds < 2:
            return "one seed: no verdict"
        if abs(self.difference) <= Z * self.stderr:
            return "no clear difference"
        return "lower regret" if self.difference < 0 else "higher regret"


def compare(curve: Curve, base: Curve) -> Comparison | None:
    """Final regret on the seeds that both have finished; None without a common seed."""
    both = curve.seeds.join(base.seeds, on="seed", suffix="_base")
    both = both.filter(both["step"] == both["step_base"])
    if not len(both):
        return None
    gains = np.asarray((both["regret"] - both["regret_base"]).to_numpy())
    mean, error = mean_and_error(gains)
    better, ties = int((gains < 0).sum()), int((gains == 0).sum())
    return Comparison(curve.name, base.name, len(gains), mean, error, better, ties)


def final_table(panel: Panel) -> Table:
    """One row per algorithm, lowest regret first."""
    ordered = sorted(panel.curves, key=lambda curve: curve.mean[-1])
    return Table(
        headings=(
            "algorithm",
            "seeds",
            "final regret",
            "95% interval",
            "second half",
            "flat seeds",
            "certified",
            "wrong",
            "cost of wrong",
        ),
        rows=tuple(_final_row(curve) for curve in ordered),
        caption=(
            "Interval: mean ± 1.96 standard errors over seeds. Second half: regret added after "
            "half of the steps; flat seeds added none. Certified: share of rounds of the last "
            "tenth. Wrong: share of all rounds whose certificate named an action that was not "
            "the best, and the regret these cost."
        ),
    )


def paired_table(panel: Panel) -> Table | None:
    """One row per algorithm with a base in the same panel; None if there is no such pair."""
    pairs = [(curve, panel.base_of(curve)) for curve in panel.curves]
    found = [compare(curve, base) for curve, base in pairs if base is not None]
    rows = tuple(_paired_row(pair) for pair in found if pair is not None)
    if not rows:
        return None
    return Table(
        headings=(
            "algorithm",
            "against",
            "seeds",
            "difference",
            "95% interval",
            "better on",
            "verdict",
        ),
        rows=rows,
        caption=(
            "Difference: final regret minus that of the base algorithm on the same seed (same "
            "contexts, same noise), mean ± standard error; negative is better."
        ),
    )


def tuned_table(panel: Panel) -> Table | None:
    """Which setting stands for each tuned group; None if nothing was tuned."""
    rows = tuple(
        (
            choice.group,
            choice.best.label,
            ", ".join(f"{k} = {v}" for k, v in choice.best.settings.items()) or "defaults",
            number(choice.final[choice.best.label]),
            f"{number(min(choice.final.values()))} to {number(max(choice.final.values()))}",
            f"{len(choice.final)} of {choice.n_cells}",
        )
        for choice in panel.tuned
    )
    headings = ("group", "best", "settings", "final regret", "range in the grid", "tried")
    caption = "The best of each grid, by mean final regret on the same seeds, is the one shown."
    return Table(headings, rows, caption) if rows else None


def number(value: float, error: float = math.nan) -> str:
    """A number for people, thousands apart; with an error, as many decimals as that deserves.

    Example:
        >>> number(12345.678), number(12.3456), number(512.0), number(0.0012345), number(-0.0)
        ('12,346', '12.3', '512', '0.00123', '0')
        >>> number(16.8512, 2.234), number(16.8512, 0.01234), number(597.21, 149.04)
        ('16.9', '16.851', '597')
    """
    if not math.isfinite(value):
        return NOTHING if math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
    scale, digits = (error, 2) if math.isfinite(error) and error > 0 else (abs(value), 3)
    if float(value).is_integer() and digits == 3:
        return f"{value + 0.0:,.0f}".replace("-", MINUS)
    decimals = max(0, digits - 1 - math.floor(math.log10(scale)))
    text = f"{value:,.{decimals}f}" if decimals <= 8 else f"{value:.1e}"
    return text.replace("-", MINUS)


def plus_minus(mean: float, error: float) -> str:
    """A mean and what to add and subtract, with matching decimals.

    Example:
        >>> plus_minus(16.8512, 2.234)
        '16.9 ± 2.2'
    """
    if math.isnan(error):
        return number(mean)
    return f"{number(mean, error)} ± {number(error, error)}"


def share(value: float) -> str:
    """A share as a percentage that never rounds something to nothing, or nearly all to all.

    Example:
        >>> share(0.5), share(0.00001), share(0.0), share(0.99999), share(1.0)
        ('50.0%', '<0.1%', '0%', '>99.9%', '100%')
    """
    if math.isnan(value):
        return NOTHING
    if value <= 0 or value >= 1:
        return "0%" if value <= 0 else "100%"
    return "<0.1%" if value < 0.001 else ">99.9%" if value > 0.999 else f"{value:.1%}"


def interval(mean: float, error: float) -> str:
    """Mean ± 1.96 standard errors as its two ends."""
    if math.isnan(error):
        return "one seed"
    return f"{number(mean - Z * error, error)} to {number(mean + Z * error, error)}"


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and standard error, nan for a single value."""
    n = len(values)
    error = float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return float(values.mean()), error


def _final_row(curve: Curve) -> tuple[str, ...]:
    final, second = curve.per_seed("regret"), curve.per_seed("second_half")
    mean, error = mean_and_error(final)
    width = np.maximum(curve.per_seed("tail_steps"), 1.0)
    certified = float((curve.per_seed("tail_certified") / width).mean())
    return (
        curve.name,
        f"{curve.n_seeds} of {len(curve.cell.seeds)}",
        number(mean, error),
        interval(mean, error),
        number(float(second.mean())),
        f"{int((second <= 0).sum())} of {curve.n_seeds}",
        share(certified),
        share(float((curve.per_seed("wrong") / curve.per_seed("step")).mean())),
        number(float(curve.per_seed("wrong_regret").mean())),
    )


def _paired_row(pair: Comparison) -> tuple[str, ...]:
    ties = f" ({pair.n_ties} equal)" if pair.n_ties else ""
    return (
        pair.name,
        pair.base,
        str(pair.n_seeds),
        plus_minus(pair.difference, pair.stderr),
        interval(pair.difference, pair.stderr),
        f"{pair.n_better} of {pair.n_seeds}{ties}",
        pair.verdict,
    )
