"""What is drawn on the report page? Each plot as plain data for plotly, without colours.

This file describes traces and axes. The script of the page adds the colours (each trace names its
algorithm and its place in the palette), so that one description serves light and dark screens.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.reports.colours import LineStyle
from banditsrl.reports.curves import MeasuredCurve, ReportPanel, thin_positions
from banditsrl.reports.number_format import Z, format_count, format_plus_minus, format_share

DIGITS = 5
"""Significant digits of a plotted number: finer than a pixel, and the page stays small."""

MAX_COLUMNS = 80
"""Columns of a map of chosen representations."""

Plot = dict[str, Any]
Styles = Mapping[str, LineStyle]


def plot_regret(panel: ReportPanel, styles: Styles) -> Plot:
    """Describe the mean regret of every algorithm with a band of 1.96 standard errors."""
    bands = [_describe_band(curve, styles) for curve in panel.curves if curve.n_seeds > 1]
    lines = [_describe_regret(curve, styles) for curve in panel.curves]
    layout = {
        "xaxis": _step_axis(panel),
        "yaxis": {"title": {"text": "cumulative regret"}, "rangemode": "tozero"},
    }
    return {"traces": bands + lines, "layout": layout}


def plot_certificates(panel: ReportPanel, styles: Styles) -> Plot | None:
    """Describe certified share (above) and wrong share (below); None if nothing was certified."""
    curves = [curve for curve in panel.curves if curve.certifies]
    if not curves:
        return None
    traces = [_describe_share(curve, styles, "certified", "y") for curve in curves]
    layout: Plot = {
        "xaxis": _step_axis(panel),
        "yaxis": {"title": {"text": "certified"}, "range": [0, 1.03], "tickformat": ".0%"},
    }
    if any(curve.wrong.any() for curve in curves):
        traces += [_describe_share(curve, styles, "wrong", "y2") for curve in curves]
        layout["yaxis"]["domain"] = [0.48, 1.0]
        layout["xaxis"]["anchor"] = "y2"
        layout["yaxis2"] = {
            "title": {"text": "wrong"},
            "domain": [0.0, 0.36],
            "rangemode": "tozero",
            "tickformat": ".2~p",
        }
    return {"traces": traces, "layout": layout}


def plot_choices(curve: MeasuredCurve) -> Plot | None:
    """Describe a map of the share of seeds per candidate and step; None without candidates."""
    if curve.choices is None:
        return None
    columns = _log_spaced_positions(curve.steps)
    steps, shares = curve.steps[columns], curve.choices[:, columns]
    n_candidates = len(shares)
    trace = {
        "type": "heatmap",
        "x": [max(0.7 * float(steps[0]), 0.5), *map(float, steps)],
        "y": list(range(n_candidates)),
        "z": [_round_values(row) for row in shares],
        "customdata": [[f"{step:,}" for step in steps]] * n_candidates,
        "zmin": 0,
        "zmax": 1,
        "showscale": False,
        "ygap": 2,
        "hovertemplate": (
            f"<b>{escape(curve.name)}</b><br>candidate %{{y}}: %{{z:.0%}} of "
            f"{format_count(curve.n_seeds, 'seed')}<br>at step %{{customdata}}<extra></extra>"
        ),
        "meta": {"role": "map"},
    }
    ticks = {"tickmode": "linear", "dtick": 1 if n_candidates <= 8 else 2}
    layout = {
        "xaxis": {"title": {"text": "step (log scale)"}, "type": "log", "dtick": 1},
        "yaxis": {"title": {"text": "candidate"}, "showgrid": False, **ticks},
    }
    return {"traces": [trace], "layout": layout}


def describe_regret_plot(panel: ReportPanel) -> str:
    """Return the end of every curve in words, lowest first, for readers who cannot see the plot."""
    ends = [
        f"{curve.name} {format_plus_minus(float(curve.mean[-1]), Z * float(curve.stderr[-1]))}"
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
    return f"Share of rounds certified at the end: {'; '.join(ends)}.{none_wrong}{never}"


def describe_choice_plot(curve: MeasuredCurve) -> str:
    """Return the candidates in use at the end in words."""
    if curve.choices is None:
        return ""
    last = curve.choices[:, -1]
    ends = [f"candidate {k} ({last[k]:.0%})" for k in np.argsort(-last) if last[k] > 0]
    seeds = format_count(curve.n_seeds, "seed")
    return f"In use at the end, with the share of {seeds}: {', '.join(ends)}."


def _describe_certificates(curve: MeasuredCurve) -> str:
    end = f"{curve.name} {format_share(float(curve.certified[-1]))}"
    if not curve.wrong.any():
        return end
    wrong = format_share(curve.certificates.wrong_overall)
    return f"{end} (of all its certified rounds, {wrong} were wrong)"


def _describe_regret(curve: MeasuredCurve, styles: Styles) -> Plot:
    single = curve.n_seeds < 2
    margin = "" if single else " ± %{customdata:,.3~g}"
    return {
        **_describe_line(curve, styles),
        "y": _round_values(curve.mean),
        "customdata": None if single else _round_values(Z * curve.stderr),
        "hovertemplate": _hover_text(curve, f"regret %{{y:,.4~g}}{margin}"),
    }


def _describe_share(curve: MeasuredCurve, styles: Styles, which: str, axis: str) -> Plot:
    shares = {"certified": curve.certified, "wrong": curve.wrong}[which]
    words = {
        "certified": "%{y:.2~%} of rounds are certified",
        "wrong": "%{y:.2~%} of certified rounds are wrong",
    }[which]
    return {
        **_describe_line(curve, styles),
        "y": _round_values(shares),
        "yaxis": axis,
        "hovertemplate": _hover_text(curve, words),
    }


def _describe_line(curve: MeasuredCurve, styles: Styles) -> Plot:
    style = styles[curve.name]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": curve.steps.tolist(),
        "name": curve.name,
        "line": {"width": 2, "dash": style.dash},
        "meta": {"role": "line", "name": curve.name, "colour": style.colour},
    }


def _describe_band(curve: MeasuredCurve, styles: Styles) -> Plot:
    low, high = curve.mean - Z * curve.stderr, curve.mean + Z * curve.stderr
    steps = curve.steps.tolist()
    return {
        "type": "scatter",
        "mode": "lines",
        "x": steps + steps[::-1],
        "y": _round_values(high) + _round_values(np.maximum(low, 0.0))[::-1],
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "meta": {"role": "band", "name": curve.name, "colour": styles[curve.name].colour},
    }


def _hover_text(curve: MeasuredCurve, value: str) -> str:
    return (
        f"<b>{escape(curve.name)}</b><br>{value}<br>at step %{{x:,}}, "
        f"{format_count(curve.n_seeds, 'seed')}<extra></extra>"
    )


def _step_axis(panel: ReportPanel) -> Plot:
    end = max(int(curve.steps[-1]) for curve in panel.curves)
    return {"title": {"text": "step"}, "range": [0, end], "tickformat": "~s", "nticks": 6}


def _round_values(values: NDArray[np.float64]) -> list[float | None]:
    """Round for the page; nan becomes None, since JSON has no nan."""
    return [float(f"{v:.{DIGITS}g}") if np.isfinite(v) else None for v in values.tolist()]


def _log_spaced_positions(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return positions of at most `MAX_COLUMNS` steps, evenly spread on a log scale."""
    if len(steps) <= MAX_COLUMNS:
        return thin_positions(len(steps), MAX_COLUMNS)
    wanted = np.geomspace(max(int(steps[0]), 1), int(steps[-1]), MAX_COLUMNS)
    return np.unique(np.searchsorted(steps, wanted).clip(0, len(steps) - 1))
