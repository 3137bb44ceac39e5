"""How is a table read as a log? One row per round, in Parquet, CSV or JSON lines, by named columns.

| column | meaning |
|---|---|
| `action`, `reward`, `propensity` | the round; other names can be given |
| `pmf` | probability of every action: an object of names, or a list in the order of the actions |
| `pmf_NAME` | probability of one action, instead of `pmf` |
| `available` | list of the actions that could be played; null means all |
| `certified`, `audited` | flags of the policy that decided |
| all others | the context |

In CSV, lists and objects are written as JSON. A row of CSV is one line.
"""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from banditsrl.errors import InvalidArgument
from banditsrl.logs.line_blocks import open_file, read_lines, read_object
from banditsrl.logs.log import BATCH_ROWS
from banditsrl.logs.log_options import PROPENSITY, LogOptions
from banditsrl.logs.raw_blocks import RawBlock
from banditsrl.logs.row_source import RowSource
from banditsrl.registry import Registry

PMF, AVAILABLE, CERTIFIED, AUDITED = "pmf", "available", "certified", "audited"
PMF_OF = "pmf_"
SPECIAL = (PMF, AVAILABLE, CERTIFIED, AUDITED)

SLICE_ROWS = 4 * BATCH_ROWS
"""Rows of a Parquet file that are decoded at once."""


class TableRows(NamedTuple):
    """Consecutive rows of a table."""

    rows: list[int]
    columns: dict[str, list[Any]]
    broken: dict[int, str]


def read_table(path: Path, format: str, options: LogOptions) -> RowSource:  # noqa: A002
    """Return the log in a table."""
    return RowSource(str(path), partial(_read_blocks, path, format, options), options)


def iterate_table(path: Path, format: str) -> Iterator[TableRows]:  # noqa: A002
    """Go through a table."""
    read = {"parquet": _iterate_parquet, "csv": _iterate_csv, "jsonl": _iterate_json_lines}
    return read[format](path)


def _read_blocks(path: Path, format: str, options: LogOptions) -> Iterator[RawBlock]:  # noqa: A002
    is_first = True
    for rows in iterate_table(path, format):
        if is_first and len(rows.broken) < len(rows.rows):
            _check_names(path, options, set(rows.columns))
            is_first = False
        yield _make_block(rows, options, is_text=format == "csv")


def _check_names(path: Path, options: LogOptions, present: set[str]) -> None:
    """Refuse a table without a column that was named; the nearest name is offered."""
    known: Registry[None] = Registry("column")
    for name in sorted(present):
        known.add(name, None)
    wanted = [options.action, options.reward, *(options.declared() or ())]
    if options.propensity != PROPENSITY:
        wanted.append(options.propensity)
    for name in wanted:
        try:
            known[name]
        except InvalidArgument as error:
            raise InvalidArgument(f"{path}: {error}") from None


def _make_block(table: TableRows, options: LogOptions, *, is_text: bool) -> RawBlock:
    """Tell what each column means."""
    found, declared = dict(table.columns), options.declared()
    kept = set() if declared is None else set(declared)
    nothing: list[Any] = [None] * len(table.rows)
    actions, rewards = (found.pop(name, nothing) for name in (options.action, options.reward))
    propensities = found.pop(options.propensity, None)
    special = {name: found.pop(name) for name in SPECIAL if name in found and name not in kept}
    laws = [name for name in found if name.startswith(PMF_OF) and name not in kept]
    by_action = {name.removeprefix(PMF_OF): found.pop(name) for name in laws}
    values = found if declared is None else {k: v for k, v in found.items() if k in kept}
    broken = dict(table.broken)
    pmf = _parse_json(PMF, special.get(PMF), broken)
    return RawBlock(
        rows=table.rows,
        values=values,
        actions=actions,
        rewards=rewards,
        propensities=propensities,
        pmf=pmf,
        pmf_columns=by_action if by_action and pmf is None else None,
        available=_parse_json(AVAILABLE, special.get(AVAILABLE), broken),
        certified=special.get(CERTIFIED),
        audited=special.get(AUDITED),
        broken=broken,
        is_text=is_text,
    )


def _parse_json(name: str, values: list[Any] | None, broken: dict[int, str]) -> list[Any] | None:
    """Return lists and objects that may be written as JSON; None if there are none at all."""
    if values is None or all(value is None for value in values):
        return None
    parsed = []
    for at, value in enumerate(values):
        try:
            parsed.append(json.loads(value) if isinstance(value, str) else value)
        except ValueError:
            parsed.append(None)
            broken.setdefault(at, f"{name} must be a list or an object, got {value!r}.")
    return parsed


def _iterate_parquet(path: Path) -> Iterator[TableRows]:
    import polars as pl

    with refuse_damage(path):
        frame = pl.scan_parquet(path, glob=False)
        n = int(frame.select(pl.len()).collect().item())
    for first in range(0, n, SLICE_ROWS):
        with refuse_damage(path):
            table = frame.slice(first, SLICE_ROWS).collect()
        for at in range(0, len(table), BATCH_ROWS):
            piece = table.slice(at, BATCH_ROWS)
            rows = range(first + at + 1, first + at + 1 + len(piece))
            columns = {name: piece[name].to_list() for name in piece.columns}
            yield TableRows(list(rows), columns, {})


@contextmanager
def refuse_damage(path: Path) -> Iterator[None]:
    """Refuse a file that is not Parquet, or is damaged, in one sentence."""
    import polars as pl

    open_file(path).close()
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise InvalidArgument(f"{path}: cannot be read as Parquet ({reason}).") from error


def _iterate_json_lines(path: Path) -> Iterator[TableRows]:
    for first, lines in read_lines(path):
        full = [(first + at, line) for at, line in enumerate(lines) if line.strip()]
        read = [read_object(line) for _, line in full]
        names = dict.fromkeys(name for found, _ in read for name in found)
        columns = {name: [found.get(name) for found, _ in read] for name in names}
        broken = {at: says for at, (_, says) in enumerate(read) if says is not None}
        if full:
            yield TableRows([number for number, _ in full], columns, broken)


def _iterate_csv(path: Path) -> Iterator[TableRows]:
    names: list[str] = []
    for first, lines in read_lines(path):
        full = [(first + at - 1, line) for at, line in enumerate(lines) if line.strip()]
        if full and not names:
            names = _read_header(path, full.pop(0)[1])
        fields, broken = _split_lines([line for _, line in full], len(names))
        columns = zip(*fields, strict=True) if fields else [[] for _ in names]
        values = {n: [v or None for v in c] for n, c in zip(names, columns, strict=True)}
        if full:
            yield TableRows([number for number, _ in full], values, broken)


def _read_header(path: Path, line: bytes) -> list[str]:
    names, says = _split_line(line.removeprefix(b"\xef\xbb\xbf"), None)
    if says is not None:
        raise InvalidArgument(f"{path}: the first line must hold names of columns: {says}")
    if len(set(names)) < len(names) or not all(names):
        raise InvalidArgument(f"{path}: the first line must hold different names, got {names}.")
    return names


def _split_lines(lines: list[bytes], width: int | None) -> tuple[list[list[str]], dict[int, str]]:
    """Return the fields of each line, and what is wrong with lines that have others."""
    try:
        texts = [line.decode() for line in lines]
        fields = list(csv.reader(texts, strict=True))
    except (ValueError, csv.Error):
        fields = []
    if len(fields) == len(lines) and all(len(row) == width for row in fields):
        return fields, {}
    each = [_split_line(line, width) for line in lines]
    broken = {at: says for at, (_, says) in enumerate(each) if says is not None}
    return [row for row, _ in each], broken


def _split_line(line: bytes, width: int | None) -> tuple[list[str], str | None]:
    nothing = [""] * (width or 0)
    try:
        (fields,) = csv.reader([line.decode()], strict=True)
    except (ValueError, csv.Error) as error:
        reason = "it is not UTF-8" if isinstance(error, ValueError) else str(error)
        return nothing, f"a line must be comma-separated text, got a line that is not ({reason})."
    if width is not None and len(fields) != width:
        return nothing, f"a line must have {width} fields, got {len(fields)}."
    return fields, None
