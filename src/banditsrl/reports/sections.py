"""How is the page set? Its sections as HTML, from panels and tables.

This file knows markup and nothing about how numbers are made; every text from outside is escaped.
"""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from banditsrl.reports.colours import Style
from banditsrl.reports.curves import Panel
from banditsrl.reports.promises import NO_BOUND, Promise
from banditsrl.reports.result_tables import (
    MINUS,
    NOTHING,
    Table,
    final_table,
    paired_table,
    tuned_table,
)
from banditsrl.reports.sweep import Cell, Sweep

STROKES = {"dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3", "longdash": "9 4"}
"""Dashes of the swatches in the legend, like the lines they stand for."""

MAX_LISTED = 40
"""Missing cells named one by one before the rest is only counted."""


def status(sweep: Sweep, damaged: tuple[str, ...]) -> str:
    """Whether the sweep is finished, and if not, what is missing."""
    planned, done = len(sweep.planned), len(sweep.finished) - len(damaged)
    if done == planned:
        return f'<p class="status done">Complete: all {planned:,} runs are done.</p>'
    short = [cell for cell in sweep.cells if sweep.n_finished(cell) < len(cell.runs)]
    items = [_missing(sweep, cell) for cell in short[:MAX_LISTED]]
    items += [f"and {len(short) - MAX_LISTED} more cells"] if len(short) > MAX_LISTED else []
    empty = [title for title in sweep.panels if not _begun(sweep, title)]
    items += [f"not shown, since nothing is done: {escape(', '.join(empty))}"] if empty else []
    items += [f"the table of run {escape(run)} cannot be read" for run in damaged]
    listed = "".join(f"<li>{item}</li>" for item in items)
    return (
        f'<div class="status open" role="status"><p><strong>Unfinished: {done:,} of {planned:,} '
        "runs are done.</strong> Means and bands below are over the seeds that are there. "
        f"Missing:</p><ul>{listed}</ul></div>"
    )


def legend(styles: Mapping[str, Style]) -> str:
    """A button per algorithm that hides and shows it in every plot."""
    buttons = "".join(
        f'<button type="button" aria-pressed="true" data-name="{escape(name)}">'
        f'<svg width="30" height="10" aria-hidden="true"><line x1="1" y1="5" x2="29" y2="5" '
        f'stroke="var(--c{style.colour})" stroke-width="3" '
        f'stroke-dasharray="{STROKES.get(style.dash, "none")}"/></svg>{escape(name)}</button>'
        for name, style in styles.items()
    )
    return f'<div class="legend" role="group" aria-label="Algorithms: show or hide">{buttons}</div>'


def figure(key: str, title: str, *, words: str, caption: str = "", low: bool = False) -> str:
    """A plot with its heading, a description for who cannot see it, and a caption."""
    size = "plot low" if low else "plot"
    return (
        f'<figure class="card"><h3>{escape(title)}</h3><div class="{size}" role="img" '
        f'data-plot="{escape(key)}" aria-label="{escape(words)}"></div>'
        f"<figcaption>{caption or escape(words)}</figcaption></figure>"
    )


def table(content: Table) -> str:
    """A table that scrolls inside its box where it is wider than the screen."""
    sides = [_side(column) for column in zip(*content.rows, strict=True)]
    head = "".join(
        f'<th scope="col"{side}>{escape(name)}</th>'
        for name, side in zip(content.headings, sides, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td{s}>{escape(c)}</td>" for c, s in zip(row[1:], sides[1:], strict=True))
        + "</tr>"
        for row in content.rows
    )
    label = escape(f"Table: {', '.join(name for name in content.headings if name)}")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def results(panels: Iterable[Panel]) -> str:
    """Final regret, pairs and tuned groups, panel by panel; what columns mean is said once."""
    parts, captions = [], dict[str, None]()
    for panel in panels:
        found = [final_table(panel), paired_table(panel), tuned_table(panel)]
        shown = [one for one in found if one is not None]
        captions |= {one.caption: None for one in shown}
        parts.append(f"<h3>{escape(panel.title)}</h3>{''.join(table(one) for one in shown)}")
    return "".join([*(note(caption) for caption in captions), *parts])


def theory(promises: Mapping[str, Promise]) -> str:
    """Promised and measured times, panel by panel; panels without any share a sentence."""
    without: dict[str, list[str]] = {}
    parts, captions = [], dict[str, None]()
    for title, promise in promises.items():
        if promise.table is None:
            without.setdefault(" ".join(promise.remarks), []).append(title)
            continue
        captions[promise.table.caption] = None
        parts.append(f"<h3>{escape(title)}</h3>{table(promise.table)}{_remarks(promise)}")
    for sentence, titles in without.items():
        parts.append(f"<p><strong>{escape(', '.join(titles))}.</strong> {escape(sentence)}</p>")
    return "".join([*(note(caption) for caption in captions), *parts])


def note(text: str) -> str:
    """A remark in small letters."""
    return f'<p class="note">{escape(text)}</p>'


def origin(sweep: Sweep, environments: Iterable[dict[str, Any]]) -> str:
    """The exact command, the settings of every cell and the versions."""
    settings = Table(
        ("algorithm", "panel", "problem", "policy", "preset", "settings", "steps", "seeds"),
        tuple(_settings_row(cell) for cell in sweep.cells),
        "Settings that are not listed have the preset's value.",
    )
    versions = Table(("name", "value"), tuple(_versions(environments)), "As recorded by the runs.")
    command = f"<pre><code>{escape(sweep.command)}</code></pre>" if sweep.command else ""
    shown = table(versions) if versions.rows else "<p>No finished run recorded them yet.</p>"
    return (
        f"<h3>Command</h3>{command or '<p>Not recorded.</p>'}"
        f"<h3>Settings</h3><details><summary>{len(sweep.cells)} cells</summary>"
        f"{table(settings)}{note(settings.caption)}</details><h3>Versions and machine</h3>{shown}"
    )


def _side(column: tuple[str, ...]) -> str:
    """Numbers stand to the right, words to the left."""
    numeric = f"0123456789<>∞{MINUS}{NOTHING}"
    plain = all(cell[:1] in numeric or cell == NO_BOUND for cell in column)
    return ' class="number"' if plain else ""


def _remarks(promise: Promise) -> str:
    if not promise.remarks:
        return ""
    listed = "".join(f"<li>{escape(text)}</li>" for text in promise.remarks)
    return (
        f"<details><summary>What the promised times take for granted here: {len(promise.remarks)} "
        f"remarks</summary><ul>{listed}</ul></details>"
    )


def _begun(sweep: Sweep, title: str) -> bool:
    """Whether a panel has a finished run."""
    return any(sweep.n_finished(cell) for cell in sweep.cells if cell.panel == title)


def _missing(sweep: Sweep, cell: Cell) -> str:
    done, planned = sweep.n_finished(cell), len(cell.runs)
    failed = [text for run in cell.runs if (text := sweep.failure(run))]
    why = f"; {len(failed)} failed: {escape(failed[0])}" if failed else ""
    return f"{escape(cell.panel)}, {escape(cell.label)}: {done} of {planned} runs done{why}"


def _settings_row(cell: Cell) -> tuple[str, ...]:
    every = {**cell.problem_settings, **cell.settings}
    given = ", ".join(f"{name} = {value}" for name, value in every.items()) or NOTHING
    low, high, n = min(cell.seeds), max(cell.seeds), len(cell.seeds)
    together = f"{low} to {high}" if high - low + 1 == n and n > 1 else None
    listed = together or ", ".join(map(str, cell.seeds))
    names = (cell.label, cell.panel, cell.problem, cell.policy, cell.preset or NOTHING)
    return (*names, given, f"{cell.horizon:,}", listed)


def _versions(environments: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    values: dict[str, dict[str, None]] = {}
    for environment in environments:
        for name, value in _flat(environment):
            if name in {"schema", "command"}:
                continue
            values.setdefault(name, {})[str(value)] = None
    for name, found in values.items():
        if name == "time":
            yield "begun", f"{min(found)} to {max(found)}" if len(found) > 1 else min(found)
            continue
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        yield name, "; ".join(list(found)[:3]) + more


def _flat(entry: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in entry.items():
        if isinstance(value, dict):
            yield from _flat(value)
        else:
            yield str(name), value
