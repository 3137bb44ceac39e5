"""How is an evaluation written for a person? Quality first, then a table, then what follows."""

from typing import TYPE_CHECKING

from banditsrl.display.numerals import NO_VALUE, format_count, format_number, format_share
from banditsrl.estimation.estimators import Estimate
from banditsrl.evaluation.judgement import LOGGED, TargetJudgement
from banditsrl.evaluation.log_quality import LogQuality

if TYPE_CHECKING:
    from banditsrl.reports.evaluation_findings import Evaluation

HEADINGS = ("target", "estimator", "value", "interval", "at all times", "worth")

EMPTY = "none fits"
"""What is written for an interval at all times that holds no value; a sentence explains it."""

SHOWN_ACTIONS = 8
"""Actions whose counts are shown in the text."""


def write_evaluation(found: "Evaluation") -> str:
    """Return an evaluation as text."""
    lines = [_describe_log(found), *_describe_quality(found.quality), "", *_write_table(found)]
    lines += ["", *_describe_columns(found)]
    for target in found.targets:
        lines += _describe_target(found, target)
    shared = dict.fromkeys(note for target in found.targets for note in target.notes)
    lines += ["", *shared] if shared else []
    if found.gate is not None:
        lines += ["", found.gate.sentence]
    return "\n".join(lines)


def _describe_log(found: "Evaluation") -> str:
    skipped = f" ({format_count(found.n_skipped, 'row')} skipped)" if found.n_skipped else ""
    actions = format_count(len(found.quality.actions), "action")
    return f"{found.log}: {format_count(found.n, 'round')}{skipped}, {actions}."


def _describe_quality(quality: LogQuality) -> list[str]:
    """Return the plays of the actions, and what is wrong with the log."""
    order = sorted(range(len(quality.actions)), key=lambda k: -quality.counts[k])[:SHOWN_ACTIONS]
    shares = [f"{quality.actions[k]} {format_share(quality.counts[k] / quality.n)}" for k in order]
    rest = len(quality.actions) - len(order)
    more = f" and {rest:,} more" if rest else ""
    lines = [f"Plays: {', '.join(shares)}{more}."]
    problems = quality.problems
    if not problems:
        fits = "" if quality.fit.tested == "nothing" else ", and its propensities fit its plays"
        return [
            *lines,
            f"Nothing is wrong with the log{fits} (test of level {quality.fit.level:g}).",
        ]
    return [*lines, *(f"! {sentence}" for sentence in problems)]


def _write_table(found: "Evaluation") -> list[str]:
    rows = [HEADINGS, _write_row(LOGGED, "mean", found.logged)]
    for target in found.targets:
        name = target.name
        for estimator, value in target.estimates.items():
            rows.append(_write_row(name, estimator, value))
            name = ""
        if not target.estimates:
            rows.append((name, NO_VALUE, NO_VALUE, "no number can be given", NO_VALUE, NO_VALUE))
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    padded = [[text.ljust(width) for text, width in zip(row, widths, strict=True)] for row in rows]
    return ["  ".join(row).rstrip() for row in padded]


def _write_row(name: str, estimator: str, value: Estimate) -> tuple[str, ...]:
    return (
        name,
        estimator,
        format_number(value.value, value.stderr),
        _write_interval(value.low, value.high, value.stderr),
        EMPTY
        if value.always_empty
        else _write_interval(value.always_low, value.always_high, value.stderr),
        f"{value.effective_n:,.0f}",
    )


def _write_interval(low: float, high: float, error: float) -> str:
    if low == -float("inf") and high == float("inf"):
        return NO_VALUE
    return f"{format_number(low, error)} to {format_number(high, error)}"


def _describe_columns(found: "Evaluation") -> list[str]:
    low, high = found.reward_range
    source = "as given" if found.range_is_given else "the range in the log, which is an assumption"
    return [
        f"interval: holds with probability {1 - found.level:.0%} for this number of rounds",
        "at all times: holds with that probability even if one looks after every round",
        f"              (rewards from {low:g} to {high:g}, {source})",
        "worth: rounds of the target itself that would say as much",
    ]


def _describe_target(found: "Evaluation", target: TargetJudgement) -> list[str]:
    lines = [""]
    if target.refusal is not None:
        lines.append(f"{target.name}: {target.refusal}")
    if target.difference is not None:
        lines.append(_describe_difference(found, target, target.difference))
    return [*lines, *(f"! {sentence}" for sentence in target.warnings)]


def _describe_difference(found: "Evaluation", target: TargetJudgement, difference: Estimate) -> str:
    name, low, high, error = target.name, difference.low, difference.high, difference.stderr
    if low == high == 0.0:
        return f"{name} minus {found.reference}: 0, since they play the same."
    verdict = "so the log cannot tell which one is better"
    if low > 0 or high < 0:
        verdict = f"so it {'earns more' if low > 0 else 'earns less'}"
    if found.quality.fit.contradicted or target.contradiction is not None:
        verdict = "but what this assumes does not hold, so nothing follows"
    ends = f"{format_number(low, error)} to {format_number(high, error)}"
    return (
        f"{name} minus {found.reference}: {format_number(difference.value, error)} "
        f"({ends}, by {difference.name}), {verdict}."
    )
