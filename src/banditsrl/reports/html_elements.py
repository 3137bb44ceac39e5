"""How is a piece of the report page written in HTML? Figures, tables, the legend and notes.

This file knows markup and nothing about how numbers are computed. It escapes every text that comes
from outside.
"""

from collections.abc import Mapping
from html import escape

from banditsrl.display.numerals import MINUS, NO_BOUND, NO_VALUE
from banditsrl.reports.colours import LineStyle
from banditsrl.reports.panel_tables import TextTable

STROKES = {"dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3", "longdash": "9 4"}
"""Dashes of the samples in the legend, by name."""


def render_legend(styles: Mapping[str, LineStyle]) -> str:
    """Return one button per algorithm, which hides and shows it in every plot."""
    buttons = "".join(
        f'<button type="button" aria-pressed="true" data-name="{escape(name)}">'
        f'<svg width="30" height="10" aria-hidden="true"><line x1="1" y1="5" x2="29" y2="5" '
        f'stroke="var(--c{style.colour})" stroke-width="3" '
        f'stroke-dasharray="{STROKES.get(style.dash, "none")}"/></svg>{escape(name)}</button>'
        for name, style in styles.items()
    )
    return f'<div class="legend" role="group" aria-label="Algorithms: show or hide">{buttons}</div>'


def render_switches() -> str:
    """Return the buttons that change the axes of the plots and show single seeds."""
    names = {"logX": "Log steps", "logY": "Log regret", "seeds": "Single seeds"}
    buttons = "".join(
        f'<button type="button" aria-pressed="false" data-switch="{key}">{name}</button>'
        for key, name in names.items()
    )
    return f'<div class="switches" role="group" aria-label="Axes and seeds">{buttons}</div>'


def render_figure(key: str, title: str, *, words: str, caption: str = "", low: bool = False) -> str:
    """Return the place of a plot with its heading and a caption.

    Args:
        key: Name under which the page's script finds the plot.
        title: The heading.
        words: What the plot shows, for readers who cannot see it.
        caption: Markup to show below the plot; by default `words`.
        low: Whether the plot is less high than usual.
    """
    size = "plot low" if low else "plot"
    return (
        f'<figure class="card"><h3>{escape(title)}</h3><div class="{size}" role="img" '
        f'data-plot="{escape(key)}" aria-label="{escape(words)}"></div>'
        f"<figcaption>{caption or escape(words)}</figcaption></figure>"
    )


def render_table(table: TextTable) -> str:
    """Return a table that scrolls inside its box where it is too wide, and stacks on a phone."""
    sides = [_choose_alignment(column) for column in zip(*table.rows, strict=True)]
    head = "".join(
        f'<th scope="col"{side}>{escape(name)}</th>'
        for name, side in zip(table.headings, sides, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(
            f'<td{side} data-heading="{escape(name)}">{escape(cell)}</td>'
            for name, cell, side in zip(table.headings[1:], row[1:], sides[1:], strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    label = escape(f"Table: {', '.join(name for name in table.headings if name)}")
    return (
        f'<div class="scroll stack" tabindex="0" role="region" aria-label="{label}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def render_note(text: str) -> str:
    """Return a remark in small letters."""
    return f'<p class="note">{escape(text)}</p>'


def _choose_alignment(column: tuple[str, ...]) -> str:
    """Align numbers to the right and words to the left."""
    numeric = f"0123456789<>∞{MINUS}{NO_VALUE}"
    plain = all(cell[:1] in numeric or cell == NO_BOUND for cell in column)
    return ' class="number"' if plain else ""
