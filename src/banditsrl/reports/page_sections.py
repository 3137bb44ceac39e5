"""Which sections does the report page have? One function per section, listed in `SECTIONS`.

A section is a function from the data of the report to HTML and plots. To add one, write such a
function here (or import it) and add an entry to `SECTIONS`. A section without content is left out.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from banditsrl.experiments.sweep_file import Sweep, SweepCell
from banditsrl.reports.colours import LineStyle
from banditsrl.reports.curves import ReportPanel
from banditsrl.reports.html_elements import render_figure, render_legend, render_note, render_table
from banditsrl.reports.number_format import NO_VALUE, format_count
from banditsrl.reports.panel_tables import (
    TextTable,
    build_final_table,
    build_paired_table,
    build_tuned_table,
)
from banditsrl.reports.plotly_plots import (
    Plot,
    describe_certificate_plot,
    describe_choice_plot,
    describe_regret_plot,
    plot_certificates,
    plot_choices,
    plot_regret,
)
from banditsrl.reports.theory_comparison import TheoryComparer, TheoryComparison


@dataclass(frozen=True)
class ReportData:
    """What the sections of the page are made of.

    Attributes:
        sweep: The sweep.
        panels: The panels that have a finished run.
        styles: Line style of every algorithm, by name.
        stems: Name of the figure files of every panel, without their ending, by title.
    """

    sweep: Sweep
    panels: tuple[ReportPanel, ...]
    styles: dict[str, LineStyle]
    stems: dict[str, str]


@dataclass(frozen=True)
class SectionContent:
    """HTML of a section (empty if there is nothing to show) and its plots, by key."""

    html: str
    plots: dict[str, Plot] = field(default_factory=dict)


def show_regret(report: ReportData) -> SectionContent:
    """Show the regret curves of every panel, with the legend."""
    if not report.panels:
        return SectionContent("")
    figures, plots = "", {}
    for k, panel in enumerate(report.panels):
        plots[f"regret-{k}"] = plot_regret(panel, report.styles)
        words, stem = describe_regret_plot(panel), report.stems[panel.title]
        caption = (
            f"{escape(words)} Mean of {_describe_seeds(panel)}; the band is the mean ± 1.96 "
            f'standard errors. <span class="files"><a href="figures/{stem}.png">PNG</a> '
            f'<a href="figures/{stem}.pdf">PDF</a></span>'
        )
        figures += render_figure(f"regret-{k}", panel.title, words=words, caption=caption)
    html = (
        "<p>Cumulative regret over the steps; lower is better. Where a curve is flat, the "
        "algorithm plays the best actions. Click a name to hide or show that algorithm in every "
        f'plot.</p>{render_legend(report.styles)}<div class="grid">{figures}</div>'
        '<p class="note">The numbers behind the curves are in <a href="regret.csv">regret.csv</a>.'
        "</p>"
    )
    return SectionContent(html, plots)


def show_results(report: ReportData) -> SectionContent:
    """Show final regret, paired comparisons and tuned groups of every panel."""
    parts, captions = [], dict[str, None]()
    for panel in report.panels:
        tables = (build_final_table(panel), build_paired_table(panel), build_tuned_table(panel))
        present = [table for table in tables if table is not None]
        captions |= {table.caption: None for table in present}
        parts.append(f"<h3>{escape(panel.title)}</h3>{''.join(map(render_table, present))}")
    return SectionContent("".join([*map(render_note, captions), *parts]))


def show_certificates(report: ReportData) -> SectionContent:
    """Show how many rounds were certified over time, and how many of those wrongly."""
    figures, plots, silent = "", {}, []
    for k, panel in enumerate(report.panels):
        plot = plot_certificates(panel, report.styles)
        if plot is None:
            silent.append(panel.title)
            continue
        plots[f"certificates-{k}"] = plot
        words = describe_certificate_plot(panel)
        figures += render_figure(f"certificates-{k}", panel.title, words=words)
    none = f"<p>No round was certified in: {escape(', '.join(silent))}.</p>" if silent else ""
    if not figures:
        return SectionContent(none)
    html = (
        "<p>Certified: the share of rounds whose choice was certified, between recorded steps. "
        "Wrong: the share of those certified rounds whose action was not the best. Both are over "
        "all seeds. A high certified share means little if many certificates are wrong.</p>"
        f'<div class="grid">{figures}</div>{none}'
    )
    return SectionContent(html, plots)


def show_choices(report: ReportData) -> SectionContent:
    """Show which candidate representation was in use over time."""
    figures, plots = "", {}
    for k, panel in enumerate(report.panels):
        for i, curve in enumerate(panel.curves):
            plot = plot_choices(curve)
            if plot is None:
                continue
            key, title = f"choices-{k}-{i}", f"{panel.title}: {curve.name}"
            plots[key] = plot
            figures += render_figure(key, title, words=describe_choice_plot(curve), low=True)
    if not figures:
        return SectionContent("")
    html = (
        "<p>The candidate representation in use over the steps. The colour is the share of seeds "
        'that use it: <span class="scale"><span>0%</span><i></i><span>100%</span></span></p>'
        f'<div class="grid">{figures}</div>'
    )
    return SectionContent(html, plots)


def show_theory(report: ReportData) -> SectionContent:
    """Show the times of the theory next to the measured ones, where the theory applies."""
    comparer = TheoryComparer(report.sweep)
    without: dict[str, list[str]] = {}
    parts, captions = [], dict[str, None]()
    for panel in report.panels:
        found = comparer.compare(panel)
        if found.table is None:
            without.setdefault(" ".join(found.remarks), []).append(panel.title)
            continue
        captions[found.table.caption] = None
        table = render_table(found.table)
        parts.append(f"<h3>{escape(panel.title)}</h3>{table}{_render_remarks(found)}")
    for sentence, titles in without.items():
        parts.append(f"<p><strong>{escape(', '.join(titles))}.</strong> {escape(sentence)}</p>")
    return SectionContent("".join([*map(render_note, captions), *parts]))


def show_origin(report: ReportData) -> SectionContent:
    """Show the exact command, the settings of every cell, and the versions."""
    sweep = report.sweep
    settings = TextTable(
        ("algorithm", "panel", "problem", "policy", "preset", "settings", "steps", "seeds"),
        tuple(_settings_row(cell) for cell in sweep.cells),
        "Settings that are not listed have the value of the preset.",
    )
    environments = (sweep.read_run_file(run, "environment.json") for run in sweep.runs)
    versions = TextTable(("name", "value"), tuple(_collect_versions(environments)), "")
    command = f"<pre><code>{escape(sweep.command)}</code></pre>" if sweep.command else ""
    shown = render_table(versions) if versions.rows else "<p>No run has recorded them yet.</p>"
    n_curves = format_count(len(sweep.cells), "curve")
    return SectionContent(
        f"<h3>Command</h3>{command or '<p>The command was not recorded.</p>'}"
        f"<h3>Settings</h3><details><summary>Settings of {n_curves}</summary>"
        f"{render_table(settings)}{render_note(settings.caption)}</details>"
        f"<h3>Versions and machine</h3>{shown}"
    )


class SectionEntry(NamedTuple):
    """An entry of `SECTIONS`: anchor on the page, heading, and the function that fills it."""

    anchor: str
    heading: str
    show: Callable[[ReportData], SectionContent]


SECTIONS = (
    SectionEntry("regret", "Regret", show_regret),
    SectionEntry("results", "Final regret", show_results),
    SectionEntry("certificates", "Certificates", show_certificates),
    SectionEntry("choices", "Chosen representations", show_choices),
    SectionEntry("times", "Theory and measurement", show_theory),
    SectionEntry("origin", "How this was made", show_origin),
)
"""The sections of the page, in order."""


def _describe_seeds(panel: ReportPanel) -> str:
    counts = sorted({curve.n_seeds for curve in panel.curves})
    if len(counts) == 1:
        return format_count(counts[0], "seed")
    return f"{counts[0]} to {counts[-1]} seeds"


def _render_remarks(found: TheoryComparison) -> str:
    if not found.remarks:
        return ""
    listed = "".join(f"<li>{escape(text)}</li>" for text in found.remarks)
    return (
        "<details><summary>Assumptions behind the promised times "
        f"({len(found.remarks)})</summary><ul>{listed}</ul></details>"
    )


def _settings_row(cell: SweepCell) -> tuple[str, ...]:
    settings = {**cell.problem_settings, **cell.settings}
    given = ", ".join(f"{name} = {value}" for name, value in settings.items()) or NO_VALUE
    low, high, n = min(cell.seeds), max(cell.seeds), len(cell.seeds)
    consecutive = high - low + 1 == n and n > 1
    seeds = f"{low} to {high}" if consecutive else ", ".join(map(str, cell.seeds))
    names = (cell.label, cell.panel, cell.problem, cell.policy, cell.preset or NO_VALUE)
    return (*names, given, f"{cell.horizon:,}", seeds)


def _collect_versions(environments: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    """Yield every recorded name with the values that the runs recorded for it."""
    values: dict[str, dict[str, None]] = {}
    for environment in environments:
        for name, value in _flatten(environment):
            if name not in {"schema", "command"}:
                values.setdefault(name, {})[str(value)] = None
    for name, found in values.items():
        if name == "time":
            yield "started", f"{min(found)} to {max(found)}" if len(found) > 1 else min(found)
            continue
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        yield name, "; ".join(list(found)[:3]) + more


def _flatten(entry: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in entry.items():
        if isinstance(value, dict):
            yield from _flatten(value)
        else:
            yield str(name), value
