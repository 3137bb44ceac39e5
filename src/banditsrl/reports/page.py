"""How is the report of a sweep written? One self-contained page, with its figures as files.

This file reads a sweep, asks the other files of this room for panels and sections, and writes
`report.html`, `figures/`, `tables/` and `regret.csv`. `page_sections.py` lists the sections.
"""

import json
import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from banditsrl.core.files import write_bytes
from banditsrl.display.numerals import format_count
from banditsrl.experiments.sweep import Sweep
from banditsrl.experiments.sweep_file import read_sweep
from banditsrl.reports.cell_styles import assign_cell_styles
from banditsrl.reports.colours import define_palette
from banditsrl.reports.curves import ReportPanel, build_panels
from banditsrl.reports.headline import write_headline
from banditsrl.reports.matplotlib_plots import draw_panel, save
from banditsrl.reports.measurements import Measurements, measure_sweep
from banditsrl.reports.page_sections import SECTIONS
from banditsrl.reports.section_content import ReportData
from banditsrl.reports.sweep_problems import SweepProblems
from banditsrl.reports.sweep_status import render_status
from banditsrl.reports.table_files import write_table_files
from banditsrl.reports.theory_comparison import TheoryComparer

SCRIPTS = ("plots.js", "page.js")
"""The scripts of the page, in the order in which they run."""


def write_report(directory: str | Path) -> Path:
    """Write the report of a sweep: a page, PNG and PDF figures, and a table of the curves.

    The page contains everything it needs, so that it opens from disk without a network. It lists
    missing runs, and leaves out panels that have no finished run.

    Args:
        directory: A folder with `sweep.json` and `runs/`.

    Returns:
        The path of the page, `directory/report.html`. Next to it are `regret.csv` (every recorded
        step of every cell), `figures/<panel>.png` and `.pdf`, and `tables/<panel>.csv` and `.tex`.
    """
    sweep = read_sweep(directory)
    measured = measure_sweep(sweep)
    panels = build_panels(sweep, measured)
    shown = {curve.name for panel in panels for curve in panel.curves}
    styles = assign_cell_styles(sweep.cells)
    problems = SweepProblems(sweep)
    comparer = TheoryComparer(problems)
    report = ReportData(
        sweep=sweep,
        panels=panels,
        styles={name: style for name, style in styles.items() if name in shown},
        stems=_name_figure_files(panels),
        theory={panel.title: comparer.compare(panel) for panel in panels},
        candidates={
            (panel.title, curve.name): problems.name_candidates(curve)
            for panel in panels
            for curve in panel.curves
        },
    )
    folder = sweep.store.directory
    for panel in panels:
        stem = report.stems[panel.title]
        save(draw_panel(panel, report.styles), folder / "figures" / stem)
        write_table_files(panel, folder / "tables" / stem)
    _write_curves(sweep, measured)
    page = folder / "report.html"
    write_bytes(page, _fill_page(report, measured.damaged).encode(), sync=False)
    return page


def _fill_page(report: ReportData, damaged: tuple[str, ...]) -> str:
    here = files("banditsrl.reports")
    filled = [(entry, entry.show(report)) for entry in SECTIONS]
    shown = [(entry, content) for entry, content in filled if content.html]
    plots = {key: plot for _, content in shown for key, plot in content.plots.items()}
    return Template(here.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(report.sweep.title),
        description=escape(_describe_page(report)),
        headline=_render_headline(report.panels),
        overview=escape(_describe_sweep(report.sweep)),
        status=render_status(report.sweep, damaged),
        links="".join(f'<a href="#{entry.anchor}">{entry.heading}</a>' for entry, _ in shown),
        body="".join(
            f'<section id="{entry.anchor}"><h2>{entry.heading}</h2>{content.html}</section>'
            for entry, content in shown
        ),
        style=define_palette() + here.joinpath("page.css").read_text(encoding="utf-8"),
        plots=json.dumps(plots, separators=(",", ":")).replace("<", "\\u003c"),
        script="".join(here.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS),
    )


def _describe_page(report: ReportData) -> str:
    """Return the result of the first panel, or what was planned, for lists of pages."""
    first = [write_headline(panel) for panel in report.panels[:1]]
    return f"{report.sweep.title}: {(first or [_describe_sweep(report.sweep)])[0]}"


def _render_headline(panels: tuple[ReportPanel, ...]) -> str:
    """Return the result of every panel, with the name of the panel where there are several."""
    sentences = [escape(write_headline(panel)) for panel in panels]
    if len(panels) < 2:
        return "".join(f'<p class="headline">{sentence}</p>' for sentence in sentences)
    items = "".join(
        f"<li><strong>{escape(panel.title)}:</strong> {sentence}</li>"
        for panel, sentence in zip(panels, sentences, strict=True)
    )
    return f'<ul class="headline">{items}</ul>'


def _describe_sweep(sweep: Sweep) -> str:
    n_names, n_panels = len({cell.name for cell in sweep.cells}), len(sweep.panels)
    steps = sorted({cell.horizon for cell in sweep.cells})
    n_seeds = sorted({len(cell.seeds) for cell in sweep.cells})
    return (
        f"{format_count(n_names, 'algorithm')}, {format_count(n_panels, 'panel')}, "
        f"{' or '.join(f'{n:,}' for n in steps)} steps, "
        f"{' or '.join(map(str, n_seeds))} {'seed' if n_seeds == [1] else 'seeds'} planned for "
        "each curve."
    )


def _name_figure_files(panels: Iterable[ReportPanel]) -> dict[str, str]:
    """Return a file name for every panel: its title in plain letters, numbered where two agree."""
    stems: dict[str, str] = {}
    for panel in panels:
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
    write_bytes(sweep.store.directory / "regret.csv", table.write_csv().encode(), sync=False)
