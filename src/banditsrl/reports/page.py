"""What can I show? One self-contained page for a sweep, with its figures as files beside it.

This file puts the page together: it reads a sweep, asks the other files of this folder for
panels, plots, tables and promises, and writes `report.html`, `figures/` and `regret.csv`.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from banditsrl.core.files import write_bytes
from banditsrl.reports import sections
from banditsrl.reports.colours import DARK, LIGHT, Style, styles
from banditsrl.reports.curves import Panel, panels
from banditsrl.reports.measurements import Measurements, measure
from banditsrl.reports.page_plots import (
    Plot,
    certificate_plot,
    certificate_words,
    choice_plot,
    choice_words,
    regret_plot,
    regret_words,
    seeds,
)
from banditsrl.reports.plots import draw_panel, save
from banditsrl.reports.promises import Promises
from banditsrl.reports.sweep import Sweep, read_sweep


@dataclass(frozen=True)
class _Parts:
    """What the sections of the page are made of."""

    sweep: Sweep
    measured: Measurements
    panels: tuple[Panel, ...]
    styles: dict[str, Style]
    stems: dict[str, str]  # panel -> name of its files
    plots: dict[str, Plot]  # filled while the sections are set


def write_report(directory: Path) -> Path:
    """Write the report of a sweep: a page, PNG and PDF figures, and a table of the curves.

    The page holds everything it needs (no network), says how many runs are missing, and leaves
    out panels that have no finished run.

    Args:
        directory: A folder with `sweep.json` and `runs/`.

    Returns:
        The path of the page, `directory/report.html`. Next to it are written `regret.csv` (every
        recorded step of every cell) and `figures/<panel>.png` and `.pdf`.
    """
    sweep = read_sweep(Path(directory))
    measured = measure(sweep)
    found = panels(sweep, measured)
    named = [(c.name, p.base_name(c)) for p in found for c in p.curves]
    parts = _Parts(sweep, measured, found, styles(named), _stems(found), {})
    for panel in found:
        stem = sweep.directory / "figures" / parts.stems[panel.title]
        save(draw_panel(panel, parts.styles), stem)
    _write_curves(sweep, measured)
    page = sweep.directory / "report.html"
    write_bytes(page, _page(parts).encode(), sync=False)
    return page


def _page(parts: _Parts) -> str:
    here = files("banditsrl.reports")
    shown = [entry for entry in _sections(parts) if entry[2]]
    return Template(here.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(parts.sweep.title),
        overview=escape(_overview(parts)),
        status=sections.status(parts.sweep, parts.measured.damaged),
        links="".join(f'<a href="#{key}">{heading}</a>' for key, heading, _ in shown),
        body="".join(
            f'<section id="{key}"><h2>{heading}</h2>{content}</section>'
            for key, heading, content in shown
        ),
        style=_palette() + here.joinpath("page.css").read_text(encoding="utf-8"),
        plots=json.dumps(parts.plots, separators=(",", ":")).replace("<", "\\u003c"),
        plotly=files("plotly").joinpath("package_data", "plotly.min.js").read_text("utf-8"),
        script=here.joinpath("page.js").read_text(encoding="utf-8"),
    )


def _sections(parts: _Parts) -> Iterable[tuple[str, str, str]]:
    """(anchor, heading, HTML) of every section; empty HTML where there is nothing to show."""
    promises, sweep = Promises(parts.sweep), parts.sweep
    times = {panel.title: promises.of(panel) for panel in parts.panels}
    environments = (sweep.described(run, "environment.json") for run in sweep.planned)
    yield "regret", "Regret", _regret(parts)
    yield "results", "Final regret", sections.results(parts.panels)
    yield "certificates", "Certificates", _certificates(parts)
    yield "choices", "Chosen representations", _choices(parts)
    yield "times", "Theory and measurement", sections.theory(times)
    yield "origin", "How this was made", sections.origin(sweep, environments)


def _regret(parts: _Parts) -> str:
    if not parts.panels:
        return ""
    figures = ""
    for k, panel in enumerate(parts.panels):
        parts.plots[f"regret-{k}"] = regret_plot(panel, parts.styles)
        words, stem = regret_words(panel), parts.stems[panel.title]
        caption = (
            f"{escape(words)} Mean of {_n_seeds(panel)}; the band is the mean ± 1.96 standard "
            f'errors. <span class="files"><a href="figures/{stem}.png">PNG</a> '
            f'<a href="figures/{stem}.pdf">PDF</a></span>'
        )
        figures += sections.figure(f"regret-{k}", panel.title, words=words, caption=caption)
    return (
        "<p>Cumulative regret, lower is better; a flat line has stopped losing. "
        "Choose a name to hide or show it in every plot.</p>"
        f'{sections.legend(parts.styles)}<div class="grid">{figures}</div>'
        '<p class="note">The numbers behind the curves: <a href="regret.csv">regret.csv</a></p>'
    )


def _certificates(parts: _Parts) -> str:
    figures, silent = "", []
    for k, panel in enumerate(parts.panels):
        plot = certificate_plot(panel, parts.styles)
        if plot is None:
            silent.append(panel.title)
            continue
        parts.plots[f"certificates-{k}"] = plot
        words = certificate_words(panel)
        figures += sections.figure(f"certificates-{k}", panel.title, words=words)
    none = f"<p>Nothing was certified in: {escape(', '.join(silent))}.</p>" if silent else ""
    if not figures:
        return none
    return (
        "<p>Share of rounds decided by the likelihood-ratio test between recorded steps, mean "
        "over seeds, and the share whose certificate named an action that was not the best. The "
        f'first means little without the second.</p><div class="grid">{figures}</div>{none}'
    )


def _choices(parts: _Parts) -> str:
    figures = ""
    for k, panel in enumerate(parts.panels):
        for i, curve in enumerate(panel.curves):
            plot = choice_plot(curve)
            if plot is None:
                continue
            key, title = f"choices-{k}-{i}", f"{panel.title}: {curve.name}"
            parts.plots[key] = plot
            figures += sections.figure(key, title, words=choice_words(curve), low=True)
    if not figures:
        return ""
    return (
        "<p>Which candidate was in use, as a share of seeds over steps: "
        '<span class="scale"><span>0%</span><i></i><span>100%</span></span> of seeds.</p>'
        f'<div class="grid">{figures}</div>'
    )


def _overview(parts: _Parts) -> str:
    cells = parts.sweep.cells
    steps = sorted({cell.horizon for cell in cells})
    n_seeds = sorted({len(cell.seeds) for cell in cells})
    n_panels = len(parts.sweep.panels)
    return (
        f"{len({cell.name for cell in cells})} algorithms, "
        f"{'one panel' if n_panels == 1 else f'{n_panels} panels'}, "
        f"{' or '.join(f'{n:,}' for n in steps)} steps, "
        f"{' or '.join(map(str, n_seeds))} seeds planned for each."
    )


def _n_seeds(panel: Panel) -> str:
    found = sorted({curve.n_seeds for curve in panel.curves})
    return seeds(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]} seeds"


def _palette() -> str:
    light, dark = (
        "".join(f"--c{k}:{colour};" for k, colour in enumerate(colours))
        for colours in (LIGHT, DARK)
    )
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def _stems(found: Iterable[Panel]) -> dict[str, str]:
    """A file name for every panel: its title in plain letters, numbered where two agree."""
    stems: dict[str, str] = {}
    for panel in found:
        plain = re.sub(r"[^a-z0-9]+", "-", panel.title.lower()).strip("-") or "panel"
        n = sum(re.fullmatch(rf"{plain}(-\d+)?", stem) is not None for stem in stems.values())
        stems[panel.title] = f"{plain}-{n + 1}" if n else plain
    return stems


def _write_curves(sweep: Sweep, measured: Measurements) -> None:
    import polars as pl

    names = [(k, c.panel, c.label, c.problem, c.policy) for k, c in enumerate(sweep.cells)]
    columns = ["cell", "panel", "label", "problem", "policy"]
    cells = pl.DataFrame(names, schema=columns, orient="row")
    means = measured.means.with_columns(stderr=pl.col("deviation") / pl.col("n_seeds").sqrt())
    counts = ["certified", "trivial", "wrong", "wrong_regret"]
    table = cells.join(means, on="cell", maintain_order="left_right")
    table = table.select(*columns[1:], "step", "n_seeds", "regret", "stderr", *counts)
    write_bytes(sweep.directory / "regret.csv", table.write_csv().encode(), sync=False)
