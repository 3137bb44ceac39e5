"""How is the report of a sweep written? One self-contained page, with its figures as files.

This file reads a sweep, asks the other files of this room for panels and sections, and writes
`report.html`, `figures/` and `regret.csv`. The sections are listed in `page_sections.py`.
"""

import json
import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from banditsrl.core.files import write_bytes
from banditsrl.experiments.sweep_file import Sweep, read_sweep
from banditsrl.reports.colours import assign_styles, define_palette
from banditsrl.reports.curves import ReportPanel, build_panels
from banditsrl.reports.matplotlib_plots import draw_panel, save
from banditsrl.reports.measurements import Measurements, measure_sweep
from banditsrl.reports.number_format import format_count
from banditsrl.reports.page_sections import SECTIONS, ReportData
from banditsrl.reports.sweep_status import render_status


def write_report(directory: str | Path) -> Path:
    """Write the report of a sweep: a page, PNG and PDF figures, and a table of the curves.

    The page contains everything it needs, so that it opens from disk without a network. It lists
    missing runs, and leaves out panels that have no finished run.

    Args:
        directory: A folder with `sweep.json` and `runs/`.

    Returns:
        The path of the page, `directory/report.html`. Next to it are `regret.csv` (every recorded
        step of every cell) and `figures/<panel>.png` and `.pdf`.
    """
    sweep = read_sweep(directory)
    measured = measure_sweep(sweep)
    panels = build_panels(sweep, measured)
    names = [(curve.name, panel.base_name(curve)) for panel in panels for curve in panel.curves]
    report = ReportData(sweep, panels, assign_styles(names), _name_figure_files(panels))
    folder = sweep.store.directory
    for panel in panels:
        save(draw_panel(panel, report.styles), folder / "figures" / report.stems[panel.title])
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
        overview=escape(_describe_sweep(report.sweep)),
        status=render_status(report.sweep, damaged),
        links="".join(f'<a href="#{entry.anchor}">{entry.heading}</a>' for entry, _ in shown),
        body="".join(
            f'<section id="{entry.anchor}"><h2>{entry.heading}</h2>{content.html}</section>'
            for entry, content in shown
        ),
        style=define_palette() + here.joinpath("page.css").read_text(encoding="utf-8"),
        plots=json.dumps(plots, separators=(",", ":")).replace("<", "\\u003c"),
        plotly=files("plotly").joinpath("package_data", "plotly.min.js").read_text("utf-8"),
        script=here.joinpath("page.js").read_text(encoding="utf-8"),
    )


def _describe_sweep(sweep: Sweep) -> str:
    n_names, n_panels = len({cell.name for cell in sweep.cells}), len(sweep.panels)
    steps = sorted({cell.horizon for cell in sweep.cells})
    n_seeds = sorted({len(cell.seeds) for cell in sweep.cells})
    return (
        f"{format_count(n_names, 'algorithm')}, {format_count(n_panels, 'panel')}, "
        f"{' or '.join(f'{n:,}' for n in steps)} steps, "
        f"{' or '.join(map(str, n_seeds))} seeds planned for each curve."
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
