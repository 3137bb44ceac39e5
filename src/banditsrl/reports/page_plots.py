"""What is drawn on the page? Each plot as plain data for plotly, without colours.

This file describes traces and axes; the page's script paints them (a trace names its algorithm
and its place in the palette), so that one description serves light and dark, wide and narrow.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.reports.colours import Style
from banditsrl.reports.curves import Curve, Panel, Z, thinned
from banditsrl.reports.result_tables import plus_minus, share

DIGITS = 5
"""Significant digits of a plotted number: below a pixel, and it keeps the page small."""

MAX_COLUMNS = 80
"""Columns of a map of choices."""

Plot = dict[str, Any]
Styles = Mapping[str, Style]


def regret_plot(panel: Panel, styles: Styles) -> Plot:
    """Mean regret of every algorithm with a band of 1.96 standard errors."""
    bands = [_band(curve, styles) for curve in panel.curves if curve.n_seeds > 1]
    lines = [_regret_line(curve, styles) for curve in panel.curves]
    axes = {"xaxis": _steps(panel), "yaxis": {"title": {"text": "regret"}, "rangemode": "tozero"}}
    return {"traces": bands + lines, "layout": axes}


def certificate_plot(panel: Panel, styles: Styles) -> Plot | None:
    """Certified share above, wrong share below; None if nothing was ever certified."""
    curves = [curve for curve in panel.curves if curve.certifies]
    if not curves:
        return None
    wrong = any(curve.wrong.any() for curve in curves)
    traces = [_share_line(curve, styles, "certified", "y") for curve in curves]
    layout: Plot = {
        "xaxis": _steps(panel),
        "yaxis": {"title": {"text": "certified"}, "range": [0, 1.03], "tickformat": ".0%"},
    }
    if wrong:
        traces += [_share_line(curve, styles, "wrong", "y2") for curve in curves]
        layout["yaxis"]["domain"] = [0.48, 1.0]
        layout["xaxis"]["anchor"] = "y2"
        layout["yaxis2"] = {
            "title": {"text": "wrong"},
            "domain": [0.0, 0.36],
            "rangemode": "tozero",
            "tickformat": ".2~p",
        }
    return {"traces": traces, "layout": layout}


def choice_plot(curve: Curve) -> Plot | None:
    """A map of the share of seeds per candidate over steps; None if it reports no candidate."""
    if curve.choices is None:
        return None
    columns = _log_spaced(curve.steps)
    steps, shares = curve.steps[columns], curve.choices[:, columns]
    candidates = len(shares)
    trace = {
        "type": "heatmap",
        "x": [max(0.7 * float(steps[0]), 0.5), *map(float, steps)],
        "y": list(range(candidates)),
        "z": [_short(row) for row in shares],
        "customdata": [[f"{step:,}" for step in steps]] * candidates,
        "zmin": 0,
        "zmax": 1,
        "showscale": False,
        "ygap": 2,
        "hovertemplate": (
            f"<b>{escape(curve.name)}</b><br>candidate %{{y}} in %{{z:.0%}} of "
            f"{seeds(curve.n_seeds)}<br>at step %{{customdata}}<extra></extra>"
        ),
        "meta": {"role": "map"},
    }
    ticks = {"tickmode": "linear", "dtick": 1 if candidates <= 8 else 2}
    layout = {
        "xaxis": {"title": {"text": "step (log scale)"}, "type": "log", "dtick": 1},
        "yaxis": {"title": {"text": "candidate"}, "showgrid": False, **ticks},
    }
    return {"traces": [trace], "layout": layout}


def regret_words(panel: Panel) -> str:
    """The end of every curve in words, lowest first: what the plot shows to who cannot see it."""
    ends = [
        f"{curve.name}: {plus_minus(float(curve.mean[-1]), Z * float(curve.stderr[-1]))}"
        for curve in sorted(panel.curves, key=lambda curve: curve.mean[-1])
    ]
    return f"Regret after {panel.curves[0].steps[-1]:,} steps. {'; '.join(ends)}."


def certificate_words(panel: Panel) -> str:
    """The certificates of every algorithm in words."""
    ends = [
        f"{curve.name} {share(float(curve.certified[-1]))}"
        + (f" (wrong in {share(_overall(curve))} of all rounds)" if curve.wrong.any() else "")
        for curve in panel.curves
        if curve.certifies
    ]
    silent = [curve.name for curve in panel.curves if not curve.certifies]
    never = f" Never certified: {', '.join(silent)}." if silent else ""
    right = not any(curve.wrong.any() for curve in panel.curves)
    wrong = " No certificate was wrong." if right else ""
    return f"Certified at the end: {', '.join(ends)}.{wrong}{never}"


def choice_words(curve: Curve) -> str:
    """The candidates in use at the end in words."""
    if curve.choices is None:
        return ""
    last = curve.choices[:, -1]
    ends = [f"candidate {k} in {last[k]:.0%}" for k in np.argsort(-last) if last[k] > 0]
    return f"At the end, of {seeds(curve.n_seeds)}: {', '.join(ends)}."


def seeds(n: int) -> str:
    """A number of seeds in words."""
    return "1 seed" if n == 1 else f"{n} seeds"


def _regret_line(curve: Curve, styles: Styles) -> Plot:
    one = curve.n_seeds < 2
    error = "" if one else " ± %{customdata:,.3~g}"
    return {
        **_line(curve, styles),
        "y": _short(curve.mean),
        "customdata": None if one else _short(Z * curve.stderr),
        "hovertemplate": _hover(curve, f"regret %{{y:,.4~g}}{error}"),
    }


def _share_line(curve: Curve, styles: Styles, which: str, axis: str) -> Plot:
    shares = curve.certified if which == "certified" else curve.wrong
    return {
        **_line(curve, styles),
        "y": _short(shares),
        "yaxis": axis,
        "hovertemplate": _hover(curve, f"{which} in %{{y:.2~%}} of rounds"),
    }


def _line(curve: Curve, styles: Styles) -> Plot:
    style = styles[curve.name]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": curve.steps.tolist(),
        "name": curve.name,
        "line": {"width": 2, "dash": style.dash},
        "meta": {"role": "line", "name": curve.name, "colour": style.colour},
    }


def _band(curve: Curve, styles: Styles) -> Plot:
    low, high = curve.mean - Z * curve.stderr, curve.mean + Z * curve.stderr
    steps = curve.steps.tolist()
    return {
        "type": "scatter",
        "mode": "lines",
        "x": steps + steps[::-1],
        "y": _short(high) + _short(np.maximum(low, 0.0))[::-1],
        "fill": "toself",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "meta": {"role": "band", "name": curve.name, "colour": styles[curve.name].colour},
    }


def _overall(curve: Curve) -> float:
    return float((curve.per_seed("wrong") / curve.per_seed("step")).mean())


def _hover(curve: Curve, value: str) -> str:
    return (
        f"<b>{escape(curve.name)}</b><br>{value}<br>at step %{{x:,}}, "
        f"{seeds(curve.n_seeds)}<extra></extra>"
    )


def _steps(panel: Panel) -> Plot:
    end = max(int(curve.steps[-1]) for curve in panel.curves)
    return {"title": {"text": "step"}, "range": [0, end], "tickformat": "~s", "nticks": 6}


def _short(values: NDArray[np.float64]) -> list[float | None]:
    """Rounded for the page; JSON has no nan."""
    return [float(f"{v:.{DIGITS}g}") if np.isfinite(v) else None for v in values.tolist()]


def _log_spaced(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of at most `MAX_COLUMNS` steps, evenly spread on a log scale."""
    if len(steps) <= MAX_COLUMNS:
        return thinned(len(steps), MAX_COLUMNS)
    wanted = np.geomspace(max(int(steps[0]), 1), int(steps[-1]), MAX_COLUMNS)
    return np.unique(np.searchsorted(steps, wanted).clip(0, len(steps) - 1))
