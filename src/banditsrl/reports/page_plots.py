"""What is drawn on the report page? Each plot as plain data, without colours and sizes.

This file describes lines, bands, marks and axes. The script of the page draws them (`plots.js`);
colours are names of the palette, so that one description serves light and dark screens.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.display.intervals import student_factor
from banditsrl.display.numerals import format_count, format_plus_minus, format_share
from banditsrl.reports.colours import LineStyle
from banditsrl.reports.curves import MeasuredCurve, ReportPanel, thin_positions

DIGITS = 5
"""Significant digits of a plotted number: finer than a pixel, and the page stays small."""

SEED_DIGITS = 4
"""The same for the thin lines of single seeds, of which there are many."""

MAX_COLUMNS = 80
"""Columns of a map of chosen representations."""

Plot = dict[str, Any]
Styles = Mapping[str, LineStyle]


def plot_regret(panel: ReportPanel, styles: Styles, marks: Sequence[Plot] = ()) -> Plot:
    """Describe the mean regret of every algorithm, its band, its seeds, and marks in time."""
    return {
        "kind": "lines",
        "end": _find_end(panel),
        "panes": [{"label": "cumulative regret", "regret": True}],
        "lines": [_describe_regret(curve, styles) for curve in panel.curves],
        "marks": list(marks),
    }


def plot_certificates(panel: ReportPanel, styles: Styles) -> Plot | None:
    """Describe certified share (above) and wrong share (below); None if nothing was certified."""
    curves = [curve for curve in panel.curves if curve.certifies]
    if not curves:
        return None
    lines = [_describe_share(curve, styles, curve.certified, 0) for curve in curves]
    panes: list[Plot] = [{"label": "certified", "percent": True, "high": 1.0}]
    if any(curve.wrong.any() for curve in curves):
        lines += [_describe_share(curve, styles, curve.wrong, 1) for curve in curves]
        panes.append({"label": "wrong", "percent": True})
    return {"kind": "lines", "end": _find_end(panel), "panes": panes, "lines": lines, "marks": []}


def plot_choices(curve: MeasuredCurve, names: Sequence[str]) -> Plot | None:
    """Describe a map of the share of seeds per candidate and step; None without a choice."""
    if curve.choices is None or len(names) < 2:
        return None
    columns = _log_spaced_positions(curve.steps)
    steps, shares = curve.steps[columns], curve.choices[:, columns]
    return {
        "kind": "map",
        "x": [max(0.7 * float(steps[0]), 0.5), *map(float, steps)],
        "rows": list(names),
        "shares": [_round_values(row) for row in shares],
        "words": format_count(curve.n_seeds, "seed"),
    }


def describe_regret_plot(panel: ReportPanel) -> str:
    """Return the end of every curve in words, lowest first, for readers who cannot see the plot."""
    ends = [
        f"{curve.name} {format_plus_minus(float(curve.mean[-1]), float(_margins(curve)[-1]))}"
        for curve in sorted(panel.curves, key=lambda curve: curve.mean[-1])
    ]
    return f"Regret after {panel.curves[0].steps[-1]:,} steps: {'; '.join(ends)}."


def describe_certificate_plot(panel: ReportPanel) -> str:
    """Return the certificates of every algorithm in words."""
    ends = [_describe_certificates(curve) for curve in panel.curves if curve.certifies]
    silent = [curve.name for curve in panel.curves if not curve.certifies]
    never = f" Never certified: {', '.join(silent)}." if silent else ""
    right = not any(curve.wrong.any() for curve in panel.curves)
    none_wrong = " No certificate was wrong." if right else ""
    return f"Share of rounds certified in the last tenth: {'; '.join(ends)}.{none_wrong}{never}"


def describe_choice_plot(curve: MeasuredCurve, names: Sequence[str]) -> str:
    """Return the candidates in use at the end in words."""
    if curve.choices is None:
        return ""
    last = curve.choices[:, -1]
    ends = [f"{names[k]} ({last[k]:.0%})" for k in np.argsort(-last) if last[k] > 0]
    seeds = format_count(curve.n_seeds, "seed")
    return f"In use at the end, with the share of {seeds}: {', '.join(ends)}."


def _describe_certificates(curve: MeasuredCurve) -> str:
    end = f"{curve.name} {format_share(curve.certificates.certified_in_last_tenth)}"
    if not curve.wrong.any():
        return end
    wrong = format_share(curve.certificates.wrong_overall)
    return f"{end} (of all its certified rounds, {wrong} were wrong)"


def _describe_regret(curve: MeasuredCurve, styles: Styles) -> Plot:
    line = {**_describe_line(curve, styles, 0), "y": _round_values(curve.mean)}
    if curve.n_seeds < 2:
        return line
    return line | {"margin": _round_values(_margins(curve)), "seeds": _describe_seeds(curve)}


def _margins(curve: MeasuredCurve) -> NDArray[np.float64]:
    """Return half the width of the 95% interval of the mean at every step, (K,)."""
    if curve.n_seeds < 2:
        return np.full(len(curve.mean), np.nan)
    return np.asarray(student_factor(curve.n_seeds) * curve.stderr)


def _describe_seeds(curve: MeasuredCurve) -> list[Plot]:
    """Return the lines of single seeds; seeds with the same steps share them."""
    groups: dict[tuple[int, ...], list[list[float | None]]] = {}
    for steps, regret in curve.seed_lines:
        groups.setdefault(tuple(steps.tolist()), []).append(_round_values(regret, SEED_DIGITS))
    return [{"x": list(steps), "ys": lines} for steps, lines in groups.items()]


def _describe_share(
    curve: MeasuredCurve, styles: Styles, shares: NDArray[np.float64], pane: int
) -> Plot:
    return {**_describe_line(curve, styles, pane), "y": _round_values(shares)}


def _describe_line(curve: MeasuredCurve, styles: Styles, pane: int) -> Plot:
    style = styles[curve.name]
    return {
        "name": curve.name,
        "pane": pane,
        "colour": style.colour,
        "dash": style.dash,
        "words": format_count(curve.n_seeds, "seed"),
        "x": curve.steps.tolist(),
    }


def _find_end(panel: ReportPanel) -> int:
    return max(int(curve.steps[-1]) for curve in panel.curves)


def _round_values(values: NDArray[np.float64], digits: int = DIGITS) -> list[float | None]:
    """Round for the page; nan becomes None, since JSON has no nan."""
    rounded = [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in values.tolist()]
    return [int(v) if v is not None and v.is_integer() else v for v in rounded]


def _log_spaced_positions(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return positions of at most `MAX_COLUMNS` steps, evenly spread on a log scale."""
    if len(steps) <= MAX_COLUMNS:
        return thin_positions(len(steps), MAX_COLUMNS)
    wanted = np.geomspace(max(int(steps[0]), 1), int(steps[-1]), MAX_COLUMNS)
    return np.unique(np.searchsorted(steps, wanted).clip(0, len(steps) - 1))
