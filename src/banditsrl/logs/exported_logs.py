"""How is a file read that a loop exported? Its rows are decisions, with the values that were sent.

Values that are lists or objects are written as JSON in Parquet, and as they are in JSON lines.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from banditsrl.live.log_import import IMPORTED
from banditsrl.live_store.decision_rows import SETTLED
from banditsrl.logs.log_options import LogOptions
from banditsrl.logs.raw_blocks import RawBlock
from banditsrl.logs.row_source import RowSource
from banditsrl.logs.table_logs import TableRows, iterate_table

EXPORTED = {"id", "context", "available", "action", "pmf", "certificate", "audit", "status", "mode"}
"""Columns that tell a file that a loop exported."""


def is_exported(names: set[str]) -> bool:
    """Return whether a table with these columns was exported by a loop."""
    return names >= EXPORTED


def read_exported(path: Path, format: str, options: LogOptions) -> RowSource:  # noqa: A002
    """Return the log in a file that a loop exported."""
    return RowSource(str(path), partial(_read_export_blocks, path, format), options)


def _read_export_blocks(path: Path, format: str) -> Iterator[RawBlock]:  # noqa: A002
    for table in iterate_table(path, format):
        nothing: list[Any] = [None] * len(table.rows)
        statuses = table.columns.get("status", nothing)
        for at, status in enumerate(statuses):
            if not isinstance(status, str):
                table.broken.setdefault(at, f"status must be a text, got {_show(status)}.")
        kept = [at for at, status in enumerate(statuses) if status == SETTLED or at in table.broken]
        if kept:
            yield _make_export_block(table, kept)


def _make_export_block(table: TableRows, kept: list[int]) -> RawBlock:
    nothing: list[Any] = [None] * len(table.rows)
    broken = {place: table.broken[at] for place, at in enumerate(kept) if at in table.broken}

    def column(name: str) -> list[Any]:
        values = table.columns.get(name, nothing)
        return [values[at] for at in kept]

    contexts, laws, certificates = (
        _read_json(name, column(name), dict, broken) for name in ("context", "pmf", "certificate")
    )
    available = _read_json("available", column("available"), list, broken)
    for at, context in enumerate(contexts):
        if context is None:
            broken.setdefault(at, "a round must have a context, got one that was erased.")
    unknown = [_is_made_up(m, law) for m, law in zip(column("mode"), laws, strict=True)]
    names = dict.fromkeys(name for context in contexts for name in context or ())
    return RawBlock(
        rows=[table.rows[at] for at in kept],
        values={name: [(context or {}).get(name) for context in contexts] for name in names},
        actions=column("action"),
        rewards=column("reward"),
        propensities=[
            None if u else p for u, p in zip(unknown, column("probability"), strict=True)
        ],
        pmf=None if any(unknown) else laws,
        available=[None if u else a for u, a in zip(unknown, available, strict=True)],
        certified=[None if c is None else c.get("certified") for c in certificates],
        audited=column("audit"),
        broken=broken,
    )


def _read_json(name: str, values: list[Any], kind: type, broken: dict[int, str]) -> list[Any]:
    """Return lists or objects, None where there is none; others are noted."""
    found: list[Any] = []
    for at, value in enumerate(values):
        try:
            parsed = json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            parsed = value
        if parsed is not None and not isinstance(parsed, kind):
            word = "a list" if kind is list else "an object"
            broken.setdefault(at, f"{name} must be {word}, got {value!r}.")
            parsed = None
        found.append(parsed)
    return found


def _show(value: Any) -> str:
    return "none" if value is None else repr(value)


def _is_made_up(mode: Any, law: Any) -> bool:
    return mode == IMPORTED and isinstance(law, dict) and 1.0 in law.values()
