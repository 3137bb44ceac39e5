"""How is an evaluation drawn? Values with both intervals, and what the log tried beside them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from banditsrl.display.palette import LIGHT
from banditsrl.display.pictures import apply_look, make_canvas
from banditsrl.estimation.estimators import Estimate
from banditsrl.evaluation.judgement import LOGGED, TargetJudgement

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from banditsrl.reports.evaluation_findings import Evaluation

ROW_INCHES = 0.24
"""Height of one estimate."""

SHOWN_ACTIONS = 12
"""Actions in the right panel: those that the log or a target plays most."""


def draw_evaluation(found: "Evaluation") -> "Canvas":
    """Draw the value of every target, and how often the log and each target play each action."""
    rows = _list_rows(found)
    actions = _choose_actions(found)
    lines = 1 + len(found.targets) // 2
    height = 1.6 + 0.16 * lines + ROW_INCHES * max(len(rows), len(actions) + 1)
    with apply_look():
        canvas = make_canvas(8.6, height)
        left, right = canvas.subplots(1, 2, width_ratios=(1.5, 1.0))
        _draw_values(left, found, rows)
        _draw_plays(right, found, actions)
        canvas.suptitle(f"{found.log}, {found.n:,} rounds", fontsize=9)
        canvas.legend(loc="outside lower center", ncols=2, fontsize=7)
        return canvas


Row = tuple[str, int, Estimate | None]
"""What a row is called, the colour of its target, and its numbers."""


def _list_rows(found: "Evaluation") -> list[Row]:
    rows: list[Row] = [(LOGGED, len(LIGHT) - 1, found.logged)]
    for place, target in enumerate(found.targets):
        colour = place % (len(LIGHT) - 1)
        if not target.estimates:
            rows.append((f"{target.name}: no number", colour, None))
        for name, value in target.estimates.items():
            rows.append((f"{target.name}, {name}", colour, value))
    return rows


def _draw_values(axis: Any, found: "Evaluation", rows: list[Row]) -> None:
    """Draw thick intervals for this number of rounds, and thin ones that hold at all times."""
    low, high = _find_limits(rows)
    for place, (_, colour, value) in enumerate(rows):
        if value is None:
            axis.plot(0.5 * (low + high), place, "x", color=LIGHT[colour], ms=5)
            continue
        for ends, width in (
            ((value.always_low, value.always_high), 1.0),
            ((value.low, value.high), 3.5),
        ):
            if np.isinf(ends).all() or ends[0] > ends[1]:  # unknown, or empty
                continue
            clipped = np.clip(ends, low, high)
            axis.plot(clipped, [place, place], "-", color=LIGHT[colour], lw=width, alpha=0.65)
        axis.plot(value.value, place, "o", color=LIGHT[colour], ms=4)
    axis.axvline(found.logged.value, color=LIGHT[-1], lw=0.8, ls="--")
    axis.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=7)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(low, high)
    axis.set_xlabel(
        f"reward per round, with {1 - found.level:.0%} intervals\n"
        "(thick: for this number of rounds; thin: at all times)"
    )


def _find_limits(rows: list[Row]) -> tuple[float, float]:
    """Return ends of the axis that show all fixed intervals, and thin ones as far as they fit."""
    values = [value for _, _, value in rows if value is not None]
    ends = [end for v in values for end in (v.low, v.high, v.value) if np.isfinite(end)]
    low, high = min(ends), max(ends)
    room = 0.5 * (high - low) or 0.1
    whole = [v for v in values if not v.always_empty]
    always = [end for v in whole for end in (v.always_low, v.always_high) if np.isfinite(end)]
    wide_low, wide_high = min([low, *always]), max([high, *always])
    margin = 0.04 * (high - low) or 0.02
    return max(low - room, wide_low) - margin, min(high + room, wide_high) + margin


def _choose_actions(found: "Evaluation") -> list[int]:
    """Return the actions that are played most, by the log or by a target."""
    plays = [np.asarray(found.quality.counts) / max(found.n, 1)]
    plays += [np.asarray(t.overlap.wanted) for t in found.targets if t.overlap is not None]
    order = np.argsort(-np.max(plays, axis=0), kind="stable")[:SHOWN_ACTIONS]
    return sorted(order.tolist())


def _draw_plays(axis: Any, found: "Evaluation", actions: list[int]) -> None:
    """Draw the share of each action in the log as bars, and in each target as marks."""
    counts = np.asarray(found.quality.counts) / max(found.n, 1)
    bars = {"color": LIGHT[-1], "alpha": 0.45, "height": 0.6, "label": LOGGED}
    axis.barh(range(len(actions)), counts[actions], **bars)
    for place, target in enumerate(found.targets):
        if target.overlap is not None:
            wanted = np.asarray(target.overlap.wanted)[actions]
            look = {"color": LIGHT[place % (len(LIGHT) - 1)], "ms": 5, "mfc": "none"}
            label = _describe_size(target)
            axis.plot(wanted, range(len(actions)), "D", label=label, clip_on=False, **look)
    axis.set_yticks(range(len(actions)), [found.quality.actions[k] for k in actions], fontsize=7)
    axis.set_ylim(len(actions) - 0.5, -0.5)
    axis.set_xlim(left=0.0)
    axis.set_xlabel("share of the rounds in which\nan action is played")


def _describe_size(target: TargetJudgement) -> str:
    """Return a target with the number of rounds that the log is worth for it."""
    overlap = target.overlap
    if overlap is None or target.refusal is not None:
        return f"{target.name}: no number can be given"
    return (
        f"{target.name}: worth {overlap.effective_n:,.0f} rounds, largest weight "
        f"{overlap.largest_weight:,.3g}"
    )
