"""How is a log moved from one loop to another? As a table with one row per decision.

A file ends in .jsonl (one JSON object per line) or in .parquet. A row has the id, the time, the
context, the available actions, the action, the pmf that it was drawn from, the certificate, whether
it was an audit, the model version, and the reward once it counts. Every row also names the actions
that are paused or retired at the time of the export, for the loop that imports it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from banditsrl.core.files import write_file
from banditsrl.errors import InvalidArgument
from banditsrl.live.encoder import ACTIVE
from banditsrl.live.log_reader import BATCH
from banditsrl.live.loop_opening import find_config
from banditsrl.live.loop_queries import read_revision
from banditsrl.live_store.decision_rows import SELECT, SETTLED, DecisionRow, to_decision
from banditsrl.live_store.loop_store import LoopStore

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".jsonl", ".parquet")


def export_decisions(store: LoopStore, loop: str, path: Path) -> int:
    """Write one row per decision to a file, and return how many there are."""
    _check_ending(path)
    if path.suffix == ".jsonl":
        counts: list[int] = []
        write_file(path, lambda stream: counts.append(_write_lines(stream, store, loop)))
        return counts[0]
    return _write_parquet(store, loop, path)


def iterate_rows(store: LoopStore, loop: str) -> Iterator[dict[str, Any]]:
    """Yield all decisions as plain values, in the order of the log."""
    actions = read_revision(store, find_config(store, loop))["actions"]
    inactive = {each.name: each.state for each in actions.values() if each.state != ACTIVE}
    position = 0
    rows: list[tuple[Any, ...]] = [()] * BATCH
    while len(rows) == BATCH:
        with store.browse() as cursor:
            rows = cursor.execute(
                f"{SELECT} AND position > ? ORDER BY position LIMIT ?", (loop, position, BATCH)
            )
        for values in rows:
            row = DecisionRow(*values)
            position = row.position
            yield {**describe_row(row, loop), "inactive": inactive}


def describe_row(row: DecisionRow, loop: str) -> dict[str, Any]:
    """Return a decision and what became of it, as plain values."""
    decision = to_decision(row, loop)
    return {
        "id": row.id,
        "time": row.time,
        "position": row.position,
        "context": None if row.context is None else dict(decision.context),
        "available": list(decision.available),
        "action": row.action,
        "probability": decision.probability,
        "pmf": dict(decision.pmf),
        "certificate": dict(decision.certificate.__dict__),
        "audit": decision.audit,
        "explored": decision.explored,
        "deferred": decision.deferred,
        "model": row.model,
        "mode": row.mode,
        "shadow": row.shadow,
        "status": row.status,
        "reward": row.value if row.status == SETTLED else None,
        "rewarded": row.settled_time if row.status == SETTLED else None,
    }


def read_export(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of an exported file."""
    _check_ending(path)
    if not path.is_file():
        raise InvalidArgument(f"{path}: cannot be read (there is no such file).")
    if path.suffix == ".parquet":
        yield from _read_parquet(path)
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line.decode())
            except ValueError as error:
                raise InvalidArgument(f"{path}: line {number} is not JSON ({error}).") from error
            if not isinstance(row, dict) or "id" not in row:
                raise InvalidArgument(f"{path}: line {number} must be a decision with an id.")
            yield row


def _check_ending(path: Path) -> None:
    if path.suffix not in ENDINGS:
        raise InvalidArgument(f"path must end in {' or '.join(ENDINGS)}, got {path.name!r}.")


def _write_lines(stream: BinaryIO, store: LoopStore, loop: str) -> int:
    n = 0
    for row in iterate_rows(store, loop):
        stream.write(json.dumps(row).encode() + b"\n")
        n += 1
    return n


NESTED = ("context", "available", "pmf", "certificate", "inactive")
"""Columns that are JSON text in Parquet, since their names differ from row to row."""


def tabulate_decisions(store: LoopStore, loop: str) -> "pl.DataFrame":
    """Return one row per decision, in the order of the log."""
    import polars as pl

    kinds: dict[Any, tuple[str, ...]] = {
        pl.String: ("id", "action", "mode", "shadow", "status", *NESTED),
        pl.Float64: ("time", "probability", "reward", "rewarded"),
        pl.Int64: ("position", "model"),
        pl.Boolean: ("audit", "explored", "deferred"),
    }
    schema = {name: kind for kind, names in kinds.items() for name in names}
    rows = [
        {name: json.dumps(value) if name in NESTED else value for name, value in row.items()}
        for row in iterate_rows(store, loop)
    ]
    names = list(rows[0]) if rows else list(schema)
    return pl.DataFrame(rows, schema={name: schema[name] for name in names}, orient="row")


def _write_parquet(store: LoopStore, loop: str, path: Path) -> int:
    table = tabulate_decisions(store, loop)
    write_file(path, table.write_parquet)
    return len(table)


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    import polars as pl

    try:
        table = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InvalidArgument(f"{path}: is no Parquet file ({error}).") from error
    for row in table.iter_rows(named=True):
        yield {k: json.loads(v) if k in NESTED and v else v for k, v in row.items()}
