"""Which sections does the report page have? One function per section, listed in `SECTIONS`.

A section is a function from the data of the report to HTML and plots. To add one, write such a
function here (or import it) and add an entry to `SECTIONS`. A section without content is left out.
"""

from collections.abc import Callable
from html import escape
from typing import NamedTuple

from banditsrl.display.numerals import format_count
from banditsrl.reports.curves import ReportPanel
from banditsrl.reports.html_elements import (
    render_figure,
    render_legend,
    render_note,
    render_switches,
    render_table,
)
from banditsrl.reports.origin_section import show_origin
from banditsrl.reports.page_plots import (
    describe_certificate_plot,
    describe_choice_plot,
    describe_regret_plot,
    plot_certificates,
    plot_choices,
    plot_regret,
)
from banditsrl.reports.paired_tables import build_every_pair_table, build_paired_table
from banditsrl.reports.panel_tables import build_final_table, build_tuned_table
from banditsrl.reports.section_content import ReportData, SectionContent
from banditsrl.reports.theory_comparison import TheoryComparison
from banditsrl.reports.theory_marks import describe_marks, mark_times


def show_regret(report: ReportData) -> SectionContent:
    """Show the regret curves of every panel, with the legend."""
    if not report.panels:
        return SectionContent("")
    figures, plots = "", {}
    for k, panel in enumerate(report.panels):
        end = max(curve.cell.horizon for curve in panel.curves)
        marks = mark_times(report.theory[panel.title], end)
        plots[f"regret-{k}"] = plot_regret(panel, report.styles, marks)
        words, stem = describe_regret_plot(panel), report.stems[panel.title]
        caption = (
            f"{escape(words)} {_describe_seeds(panel)} {escape(describe_marks(marks))}"
            f'<span class="files">'
            f'<a href="figures/{stem}.png">PNG</a> '
            f'<a href="figures/{stem}.pdf">PDF</a></span>'
        )
        figures += render_figure(f"regret-{k}", panel.title, words=words, caption=caption)
    html = (
        "<p>Cumulative regret over the steps; lower is better. Where a curve is flat, the "
        "algorithm plays the best actions. Click a name to hide or show that algorithm in every "
        f"plot.</p>{render_legend(report.styles)}{render_switches()}"
        f'<div class="grid">{figures}</div>'
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
        first, *others = map(render_table, present)
        files = _link_table_files(report.stems[panel.title])
        parts.append(f"<h3>{escape(panel.title)}</h3>{first}{files}{''.join(others)}")
        parts.append(_render_every_pair(panel))
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
            names = report.candidates[panel.title, curve.name]
            plot = plot_choices(curve, names)
            if plot is None:
                continue
            key, title = f"choices-{k}-{i}", f"{panel.title}: {curve.name}"
            plots[key] = plot
            figures += render_figure(key, title, words=describe_choice_plot(curve, names), low=True)
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
    without: dict[str, list[str]] = {}
    parts, captions = [], dict[str, None]()
    for panel in report.panels:
        found = report.theory[panel.title]
        if found.table is None:
            without.setdefault(" ".join(found.remarks), []).append(panel.title)
            continue
        captions[found.table.caption] = None
        table = render_table(found.table)
        parts.append(f"<h3>{escape(panel.title)}</h3>{table}{_render_remarks(found)}")
    for sentence, titles in without.items():
        parts.append(f"<p><strong>{escape(', '.join(titles))}.</strong> {escape(sentence)}</p>")
    return SectionContent("".join([*map(render_note, captions), *parts]))


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
    if counts == [1]:
        return "One seed, so there is no band."
    seeds = f"{counts[0]} to {counts[-1]} seeds" if len(counts) > 1 else f"{counts[0]:,} seeds"
    return f"Mean of {seeds}; ± and the band are the 95% interval of the mean, by Student's t."


def _link_table_files(stem: str) -> str:
    return (
        f'<p class="note">This table for a paper: <a href="tables/{stem}.tex">LaTeX</a> '
        f'<a href="tables/{stem}.csv">CSV</a></p>'
    )


def _render_every_pair(panel: ReportPanel) -> str:
    table = build_every_pair_table(panel)
    if table is None:
        return ""
    n_pairs = format_count(len(table.rows), "pair")
    return (
        f"<details><summary>Every pair compared ({n_pairs})</summary>"
        f"{render_note(table.caption)}{render_table(table)}</details>"
    )


def _render_remarks(found: TheoryComparison) -> str:
    if not found.remarks:
        return ""
    listed = "".join(f"<li>{escape(text)}</li>" for text in found.remarks)
    return (
        "<details><summary>Assumptions behind the promised times "
        f"({len(found.remarks)})</summary><ul>{listed}</ul></details>"
    )
