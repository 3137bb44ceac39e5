"""Where do the numbers of a report come from? The command, all settings, and the versions."""

from collections.abc import Iterable
from html import escape
from typing import Any

from banditsrl.display.numerals import NO_VALUE, format_count
from banditsrl.experiments.sweep import SweepCell
from banditsrl.reports.html_elements import render_note, render_table
from banditsrl.reports.panel_tables import TextTable
from banditsrl.reports.section_content import ReportData, SectionContent


def show_origin(report: ReportData) -> SectionContent:
    """Show the exact command, the settings of every cell, and the versions."""
    sweep = report.sweep
    settings = TextTable(
        ("algorithm", "panel", "problem", "policy", "preset", "settings", "steps", "seeds"),
        tuple(_settings_row(cell) for cell in sweep.cells),
        "Settings that are not listed have the value of the preset.",
    )
    environments = (sweep.store.read_document(run, "environment.json") for run in sweep.runs)
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
