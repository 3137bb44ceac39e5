"""Is the sweep complete? The box at the top of the report page that lists what is missing."""

from html import escape

from banditsrl.experiments.sweep import Sweep, SweepCell

MAX_LISTED = 40
"""Incomplete cells that are named one by one; the others are only counted."""


def render_status(sweep: Sweep, damaged: tuple[str, ...]) -> str:
    """Return the box that says whether the sweep is complete, and if not, what is missing."""
    planned, done = len(sweep.runs), len(sweep.finished) - len(damaged)
    if done == planned:
        words = "the run is" if planned == 1 else f"all {planned:,} runs are"
        return f'<p class="status done">Complete: {words} finished.</p>'
    listed = "".join(f"<li>{item}</li>" for item in _list_missing(sweep, damaged))
    return (
        f'<div class="status open" role="status"><p><strong>Incomplete: {done:,} of {planned:,} '
        "runs are finished.</strong> All numbers below are computed from the finished seeds only. "
        f"What is missing:</p><ul>{listed}</ul></div>"
    )


def _list_missing(sweep: Sweep, damaged: tuple[str, ...]) -> list[str]:
    short = [cell for cell in sweep.cells if sweep.count_finished(cell) < len(cell.runs)]
    items = [_describe_cell(sweep, cell) for cell in short[:MAX_LISTED]]
    if len(short) > MAX_LISTED:
        items.append(f"{len(short) - MAX_LISTED} more curves are incomplete")
    if empty := [title for title in sweep.panels if not _has_finished_run(sweep, title)]:
        items.append(f"panels without a finished run are left out: {escape(', '.join(empty))}")
    items += [f"the table of run {escape(run)} cannot be read" for run in damaged]
    return items


def _describe_cell(sweep: Sweep, cell: SweepCell) -> str:
    done, planned = sweep.count_finished(cell), len(cell.runs)
    failed = [text for run in cell.runs if (text := sweep.store.read_failure(run))]
    why = f"; {len(failed)} failed: {escape(failed[0])}" if failed else ""
    return f"{escape(cell.panel)}, {escape(cell.label)}: {done} of {planned} runs finished{why}"


def _has_finished_run(sweep: Sweep, title: str) -> bool:
    return any(sweep.count_finished(cell) for cell in sweep.cells if cell.panel == title)
