"""How is an object summarised? With a title, a few rows and some sentences.

A `Summary` prints as aligned text and shows as a table in a notebook.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from banditsrl.core.record_help import RecordMeta

GAP = "  "
"""Space between two columns of text."""

CELL = "text-align:left;padding:2px 12px 2px 0"
"""Style of a cell; notebooks align them to the right otherwise."""


@dataclass(frozen=True, repr=False)
class Summary(metaclass=RecordMeta):
    """A small table with a title above and sentences below.

    Attributes:
        title: What it is about.
        rows: The rows, of equal length.
        headers: One header per column, or none.
        notes: Sentences below the table.

    Example:
        >>> print(Summary("Two policies", (("LinUCB", "12"), ("LinTS", "9")), ("policy", "regret")))
        Two policies
          policy  regret
          LinUCB  12
          LinTS   9
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    headers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        table = [self.headers, *self.rows] if self.headers else list(self.rows)
        return "\n".join([self.title, *(f"{GAP}{line}" for line in _align(table)), *self.notes])

    def _repr_html_(self) -> str:
        """Return the summary as notebooks show it."""
        head = _html_row(self.headers, "th") if self.headers else ""
        body = "".join(_html_row(row, "td") for row in self.rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        title = f"<strong>{escape(self.title)}</strong>"
        return f"<div>{title}<table>{head}{body}</table>{notes}</div>"


def _align(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines of text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    padded = [
        GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    ]
    return [line.rstrip() for line in padded]


def _html_row(cells: Sequence[str], tag: str) -> str:
    inside = "".join(f'<{tag} style="{CELL}">{escape(cell)}</{tag}>' for cell in cells)
    return f"<tr>{inside}</tr>"
