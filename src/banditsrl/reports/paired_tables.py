"""Which algorithm of a panel is better? Differences of final regret on the same seeds."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from banditsrl.display.intervals import format_interval, student_factor
from banditsrl.display.numerals import format_plus_minus
from banditsrl.reports.curves import MeasuredCurve, ReportPanel
from banditsrl.reports.panel_tables import TextTable, order_by_regret
from banditsrl.simulation.final_numbers import mean_and_stderr

HEADINGS = (
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


def compare_final_regret(curve: MeasuredCurve, base: MeasuredCurve) -> PairedComparison | None:
    """Compare final regret on the seeds that both have finished; None without a common seed."""
    both = curve.seeds.join(base.seeds, on="seed", suffix="_base")
    both = both.filter(both["step"] == both["step_base"])
    if not len(both):
        return None
    gains = np.asarray((both["regret"] - both["regret_base"]).to_numpy())
    mean, stderr = mean_and_stderr(gains)
    better, ties = int((gains < 0).sum()), int((gains == 0).sum())
    return PairedComparison(curve.name, base.name, len(gains), mean, stderr, better, ties)


def build_paired_table(panel: ReportPanel) -> TextTable | None:
    """Return one row per algorithm with a base in the same panel; None if there is no pair."""
    pairs = [(curve, panel.base_of(curve)) for curve in panel.curves]
    found = [compare_final_regret(curve, base) for curve, base in pairs if base is not None]
    rows = tuple(_paired_row(pair) for pair in found if pair is not None)
    if not rows:
        return None
    return TextTable(
        headings=HEADINGS,
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
    pairs = list(combinations(order_by_regret(panel), 2))
    if all(panel.base_of(a) is b or panel.base_of(b) is a for a, b in pairs):
        return None
    found = [compare_final_regret(better, worse) for better, worse in pairs]
    rows = tuple(_paired_row(pair) for pair in found if pair is not None)
    if not rows:
        return None
    return TextTable(
        HEADINGS,
        rows,
        f"Every pair on the same seeds, the algorithm with the lower mean first. Of {len(rows)} "
        f"comparisons, about {CHANCE * len(rows):.2g} would look clear by chance if all "
        "algorithms were equally good.",
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
