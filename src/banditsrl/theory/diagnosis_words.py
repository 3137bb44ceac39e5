"""What does a diagnosis say in words? One verdict, and one row per property."""

from typing import TYPE_CHECKING

from banditsrl.display.charts import BarChart
from banditsrl.display.numerals import format_number

if TYPE_CHECKING:
    from banditsrl.theory.diagnosis import Diagnosis


def state_verdict(found: "Diagnosis") -> str:
    """Return one sentence: whether regret can be constant in this representation, and why."""
    if not found.realizable:
        error = format_number(found.error)
        return f"Not realizable: the best linear fit is wrong by up to {error}."
    if found.hls:
        return "Realizable and HLS: regret can be constant."
    if found.weak_hls:
        return "Realizable and weakly HLS: regret can be constant."
    return "Realizable but not HLS: some directions are never seen by optimal play."


def list_properties(found: "Diagnosis") -> tuple[tuple[str, str], ...]:
    """Return the properties as (words, value)."""
    low, high = (
        format_number(value)
        for value in (found.misspecification_lower, found.misspecification_upper)
    )
    return (
        ("dimension", str(found.dim)),
        ("rank of all features", str(found.rank)),
        ("rank of the optimal features", str(found.optimal_rank)),
        ("realizable", _say(found.realizable)),
        ("largest error of the best linear fit", format_number(found.error)),
        ("misspecification", low if low == high else f"between {low} and {high}"),
        ("HLS", _say(found.hls)),
        ("weakly HLS", _say(found.weak_hls)),
        ("smallest eigenvalue of optimal play", format_number(found.lambda_star)),
        ("smallest non-zero eigenvalue of it", format_number(found.lambda_plus)),
        ("smallest eigenvalue of uniform play", format_number(found.gamma)),
        ("redundant", _say(found.redundant)),
        ("largest norm of a feature", format_number(found.L)),
        ("norm of the reward parameter", format_number(found.B)),
        ("contexts with several optimal actions", f"{found.n_tied:,}"),
    )


def draw_ranks(found: "Diagnosis") -> BarChart:
    """Return bars of the dimension and of the two ranks."""
    ranks = (found.dim, found.rank, found.optimal_rank)
    return BarChart(
        state_verdict(found),
        "dimensions",
        ("dimension", "all features", "optimal features"),
        tuple(float(rank) for rank in ranks),
        tuple(map(str, ranks)),
    )


def _say(holds: bool) -> str:
    return "yes" if holds else "no"
