"""How did the algorithms of a panel end? Final regret and tuned settings.

Each function returns a table as text, ready for the page, with a caption that explains its columns.
"""

from dataclasses import dataclass

from banditsrl.display.intervals import format_interval
from banditsrl.display.numerals import NO_VALUE, format_number, format_share
from banditsrl.reports.curves import MeasuredCurve, ReportPanel, TunedGroup
from banditsrl.simulation.final_numbers import FinalNumbers, measure_seeds


@dataclass(frozen=True)
class TextTable:
    """Headings, rows of text, and a caption; the first column names the row."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str


def order_by_regret(panel: ReportPanel) -> list[MeasuredCurve]:
    """Return the curves of a panel, lowest final regret first."""
    return sorted(panel.curves, key=lambda curve: curve.mean[-1])


def measure_curve(curve: MeasuredCurve) -> FinalNumbers:
    """Return the final numbers of a curve."""
    return measure_seeds(
        regret=curve.per_seed("regret"),
        second_half=curve.per_seed("second_half"),
        wrong_regret=curve.per_seed("wrong_regret"),
        certificates=curve.certificates,
    )


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
        rows=tuple(_final_row(curve) for curve in order_by_regret(panel)),
        caption=(
            "95% interval: of the mean over seeds, by Student's t. Second half: regret that was "
            "added after half of the steps. Flat seeds: seeds that added none there. Certified: "
            "share of the rounds of the last tenth that were certified. Wrong: share of all "
            "certified rounds whose action was not the best. Cost of wrong: regret of those "
            "rounds, per seed."
        ),
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


def _final_row(curve: MeasuredCurve) -> tuple[str, ...]:
    numbers = measure_curve(curve)
    has_certificates = bool(curve.certificates.certified_rounds[-1] > 0)
    return (
        curve.name,
        f"{numbers.n_seeds} of {len(curve.cell.seeds)}",
        format_number(numbers.regret, numbers.stderr),
        format_interval(numbers.regret, numbers.stderr, numbers.n_seeds),
        format_number(numbers.second_half),
        f"{numbers.flat_seeds} of {numbers.n_seeds}",
        format_share(numbers.certified),
        format_share(numbers.wrong) if has_certificates else NO_VALUE,
        format_number(numbers.wrong_regret) if has_certificates else NO_VALUE,
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
