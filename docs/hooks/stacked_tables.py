"""Which tables become blocks on a phone? Those whose columns would be too narrow for their words.

On a phone every row of such a table is a block, with one cell below the other and the name of the
column before the cell (docs/css/banditsrl.css). Other tables scroll, if they must.
"""

import html
import re
from typing import Any

TABLE = re.compile(r"<table>(.*?)</table>", re.DOTALL)
ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<(t[hd])([^>]*)>(.*?)</\1>", re.DOTALL)
STACKED = ((3, 40), (6, 20), (8, 1))
"""A table of so many columns with a cell of so many characters is stacked."""
SHORT = (6, 6)
"""A table of so many columns with at most so many rows is stacked too; a longer one scrolls."""
LONG_NAME = 24
"""A table of two columns is stacked if a name in the first one has so many characters."""


def on_page_content(content: str, **_: Any) -> str:
    """Return the page with the name of its column in every cell of such a table."""
    return TABLE.sub(lambda found: stack(found[0]), content)


def stack(table: str) -> str:
    """Return a table marked for stacking, or as it is."""
    header, *rows = ROW.findall(table)
    names = [read_text(cell[2]) for cell in CELL.findall(header)]
    texts = [read_text(cell[2]) for row in rows for cell in CELL.findall(row)]
    is_reference = names[0] == "Name"  # written from docstrings, with a look of its own
    longest = max(map(len, texts), default=0)
    too_wide = any(len(names) >= columns and longest >= long for columns, long in STACKED)
    has_long_name = len(names) == 2 and any(
        len(word) >= LONG_NAME for text in texts[::2] for word in text.split()
    )
    is_short = len(names) >= SHORT[0] and len(rows) <= SHORT[1]
    if is_reference or not (too_wide or is_short or has_long_name):
        return table
    labelled = ROW.sub(lambda row: f"<tr>{label_cells(row[1], names)}</tr>", table)
    return labelled.replace("<table>", '<table data-stacked="">', 1)


def label_cells(row: str, names: list[str]) -> str:
    """Return the cells of a row, each with the name of its column."""
    cells = [
        f'<{kind}{rest} data-column="{html.escape(name)}">{inside}</{kind}>'
        for (kind, rest, inside), name in zip(CELL.findall(row), names, strict=True)
    ]
    return "\n".join(cells)


def read_text(cell: str) -> str:
    """Return a cell without its tags; a formula counts by its letters."""
    return html.unescape(re.sub(r"<[^>]*>", "", cell)).strip()
