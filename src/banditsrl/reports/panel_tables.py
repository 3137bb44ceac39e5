"""How did the algorithms of a panel end? Final regret, paired comparisons and tuned settings.

Each function returns a table as text, ready for the page, with a caption that explains its columns.
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from banditsrl.display.intervals import student_factor
from banditsrl.reports.curves import MeasuredCurve, ReportPanel, TunedGroup
from banditsrl.reports.number_format import (
    format_interval,
    format_number,
    format_plus_minus,
    format_share,
)

PAIR_HEADINGS = (
    "algorithm",
    "compared with",
    "seeds",
    "difference",
    "95% interval",
    "better on",
    "verdict",
)

CHANCE = 0.05
"""Share of equal pairs whose 95% interval leaves out zero."""


@dataclass(frozen=True)
class TextTable:
    """Headings, rows of text, and a caption; the first column names the row."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str


@dataclass(frozen=True)
class PairedComparison:
    """Two algorithms on the same seeds: final regret of the first minus that of its base."""

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
        if abs(self.difference) <= student_factor(self.n_seeds) * self.stderr:
            return "no clear difference"
        return "lower regret" if self.difference < 0 else "higher regret"


@dataclass(frozen=True)
class FinalNumbers:
    """How one algorithm ended; the columns of the table of final regret, as numbers.

    Attributes:
        algorithm: Its name.
        n_seeds: Number of finished seeds.
        n_planned: Number of planned seeds.
        regret: Final regret, mean over seeds.
        stderr: Standard error of that mean, nan for a single seed.
        second_half: Regret that was added after half of the steps, mean over seeds.
        flat_seeds: Number of seeds that added none there.
        certified: Certified share of the last tenth (see `simulation.shares`).
        wrong: Wrong share of the whole run (see `simulation.shares`).
        wrong_regret: Regret of the wrong rounds, mean over seeds.
    """

    algorithm: str
    n_seeds: int
    n_planned: int
    regret: float
    stderr: float
    second_half: float
    flat_seeds: int
    certified: float
    wrong: float
    wrong_regret: float


def list_final_numbers(panel: ReportPanel) -> tuple[FinalNumbers, ...]:
    """Return the final numbers of every algorithm, lowest regret first."""
    ordered = sorted(panel.curves, key=lambda curve: curve.mean[-1])
    return tuple(_measure_final(curve) for curve in ordered)


def compare_final_regret(curve: MeasuredCurve, base: MeasuredCurve) -> PairedComparison | None:
    """Compare final regret on the seeds that both have finished; None without a common seed."""
    both = curve.seeds.join(base.seeds, on="seed", suffix="_base")
    both = both.filter(both["step"] == both["step_base"])
    if not len(both):
        return None
    gains = np.asarray((both["regret"] - both["regret_base"]).to_numpy())
    mean, stderr = _mean_and_stderr(gains)
    better, ties = int((gains < 0).sum()), int((gains == 0).sum())
    return PairedComparison(curve.name, base.name, len(gains), mean, stderr, better, ties)


def build_final_table(panel: ReportPanel) -> TextTable:
    """Return one row per algorithm, lowest regret first."""
    return TextTable(
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
        rows=tuple(_final_row(numbers) for numbers in list_final_numbers(panel)),
        caption=(
            "95% interval: of the mean over seeds, by Student's t. Second half: regret that was "
            "added after half of the steps. Flat seeds: seeds that added none there. Certified: "
            "share of the rounds of the last tenth that were certified. Wrong: share of all "
            "certified rounds whose action was not the best. Cost of wrong: regret of those "
            "rounds, per seed."
        ),
    )


def build_paired_table(panel: ReportPanel) -> TextTable | None:
    """Return one row per algorithm with a base in the same panel; None if there is no pair."""
    pairs = [(curve, panel.base_of(curve)) for curve in panel.curves]
    found = [compare_final_regret(curve, base) for curve, base in pairs if base is not None]
    rows = tuple(_paired_row(pair) for pair in found if pair is not None)
    if not rows:
        return None
    return TextTable(
        headings=PAIR_HEADINGS,
        rows=rows,
        caption=(
            "Difference: final regret minus the final regret of the base algorithm on the same "
            "seed (same contexts, same noise), mean ± standard error. Negative is better."
        ),
    )


def build_every_pair_table(panel: ReportPanel) -> TextTable | None:
    """Return one row per pair of algorithms, lower regret first; None if no pair is new.

    A panel whose pairs are all pairs of an algorithm and its base has them in another table.
    """
    ordered = sorted(panel.curves, key=lambda curve: curve.mean[-1])
    pairs = list(combinations(ordered, 2))
    if all(panel.base_of(a) is b or panel.base_of(b) is a for a, b in pairs):
        return None
    found = [compare_final_regret(better, worse) for better, worse in pairs]
    rows = tuple(_paired_row(pair) for pair in found if pair is not None)
    if not rows:
        return None
    return TextTable(
        PAIR_HEADINGS,
        rows,
        f"Every pair on the same seeds, the algorithm with the lower mean first. Of {len(rows)} "
        f"comparisons, about {CHANCE * len(rows):.2g} would look clear by chance if all "
        "algorithms were equally good.",
    )


def build_tuned_table(panel: ReportPanel) -> TextTable | None:
    """Return the settings that represent each tuned group; None if nothing was tuned."""
    if not panel.tuned:
        return None
    return TextTable(
        headings=("group", "best", "settings", "final regret", "range in the grid", "tried"),
        rows=tuple(_tuned_row(group) for group in panel.tuned),
        caption=(
            "Of each tuned group, the report shows the settings with the lowest mean final regret "
            "on the same seeds."
        ),
    )


def _measure_final(curve: MeasuredCurve) -> FinalNumbers:
    second = curve.per_seed("second_half")
    mean, stderr = _mean_and_stderr(curve.per_seed("regret"))
    return FinalNumbers(
        algorithm=curve.name,
        n_seeds=curve.n_seeds,
        n_planned=len(curve.cell.seeds),
        regret=mean,
        stderr=stderr,
        second_half=float(second.mean()),
        flat_seeds=int((second <= 0).sum()),
        certified=float(curve.certificates.certified_in_last_tenth),
        wrong=float(curve.certificates.wrong_overall),
        wrong_regret=float(curve.per_seed("wrong_regret").mean()),
    )


def _mean_and_stderr(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return mean and standard error, the latter nan for a single value."""
    n = len(values)
    stderr = float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return float(values.mean()), stderr


def _final_row(numbers: FinalNumbers) -> tuple[str, ...]:
    return (
        numbers.algorithm,
        f"{numbers.n_seeds} of {numbers.n_planned}",
        format_number(numbers.regret, numbers.stderr),
        format_interval(numbers.regret, numbers.stderr, numbers.n_seeds),
        format_number(numbers.second_half),
        f"{numbers.flat_seeds} of {numbers.n_seeds}",
        format_share(numbers.certified),
        format_share(numbers.wrong),
        format_number(numbers.wrong_regret),
    )


def _paired_row(pair: PairedComparison) -> tuple[str, ...]:
    ties = f" ({pair.n_ties} equal)" if pair.n_ties else ""
    return (
        pair.name,
        pair.base,
        str(pair.n_seeds),
        format_plus_minus(pair.difference, pair.stderr),
        format_interval(pair.difference, pair.stderr, pair.n_seeds),
        f"{pair.n_better} of {pair.n_seeds}{ties}",
        pair.verdict,
    )


def _tuned_row(group: TunedGroup) -> tuple[str, ...]:
    finals = group.final.values()
    return (
        group.name,
        group.best.label,
        ", ".join(f"{k} = {v}" for k, v in group.best.settings.items()) or "defaults",
        format_number(group.final[group.best.label]),
        f"{format_number(min(finals))} to {format_number(max(finals))}",
        f"{len(group.final)} of {group.n_cells}",
    )
