"""How is a loop displayed in a notebook or a shell? By counts, trust and rewards over time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from banditsrl.display.charts import LineChart, make_line
from banditsrl.display.intervals import BAND
from banditsrl.display.numerals import format_share
from banditsrl.display.summaries import Summary
from banditsrl.live.loop_trust import LoopTrust


def summarise_loop(policy: str, status: Mapping[str, Any], trust: LoopTrust) -> Summary:
    """Return counts, mode and model, and what the certificates are worth."""
    counts = trust.counts
    certified = counts["certified"] / max(counts["decisions"], 1)
    rows = (
        ("policy", policy),
        ("mode", str(status["mode"])),
        ("decisions", f"{counts['decisions']:,}"),
        ("rewards", f"{counts['rewards']:,}"),
        ("waiting for a reward", f"{status['waiting']:,}"),
        ("certified decisions", format_share(certified)),
        ("model version", str(status["model"])),
    )
    trouble = (str(status["trouble"]),) if status["trouble"] else ()
    return Summary(f"Loop {status['name']}", rows, (), (str(trust), *trouble))


def draw_history(name: str, history: Sequence[Mapping[str, Any]]) -> LineChart | None:
    """Return mean reward and certified share over decisions, or None if there are none."""
    if not history:
        return None
    decisions = np.cumsum([entry["decisions"] for entry in history])
    means = np.asarray([_or_nan(entry["mean"]) for entry in history])
    margins = np.asarray([_or_nan(entry["margin"]) for entry in history])
    shares = np.asarray([entry["certified"] for entry in history])
    lines = (
        make_line("mean reward", decisions, means, margins),
        make_line("certified share", decisions, shares),
    )
    return LineChart(name, "decision", "mean reward, certified share", lines, BAND)


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
