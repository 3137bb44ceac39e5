"""How is a log written as a table? With the columns that are read again, one row per round.

Numbers are written so that the same numbers are read again. A probability that is not known is
empty.
"""

import csv
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from banditsrl.errors import InvalidArgument
from banditsrl.logs.log import Log, LogBatch, LogSchema
from banditsrl.logs.table_logs import AUDITED, AVAILABLE, CERTIFIED, PMF_OF, SPECIAL

RESERVED = ("action", "reward", "propensity", *SPECIAL)


def write_csv(stream: BinaryIO, log: Log) -> int:
    """Write a log as comma-separated lines, and return the number of rounds."""
    n, text = 0, io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    for table in _iterate_tables(log):
        if not n:
            writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        n += len(table["action"])
    text.detach()
    return n


def write_json_lines(stream: BinaryIO, log: Log) -> int:
    """Write a log as one JSON object per line, and return the number of rounds."""
    n = 0
    for table in _iterate_tables(log):
        names = list(table)
        for values in zip(*table.values(), strict=True):
            stream.write(json.dumps(dict(zip(names, values, strict=True))).encode() + b"\n")
        n += len(table["action"])
    return n


def write_parquet(stream: BinaryIO, log: Log) -> int:
    """Write a log as Parquet, and return the number of rounds.

    Batches are written beside the file first, since Parquet files cannot be appended to.
    """
    import polars as pl

    n = 0
    with tempfile.TemporaryDirectory(dir=Path(stream.name).parent) as folder:
        parts: list[Path] = []
        for table in _iterate_tables(log):
            frame = pl.DataFrame(table, schema_overrides=_choose_kinds(table))
            parts.append(Path(folder) / f"{len(parts):06}.parquet")
            frame.write_parquet(parts[-1])
            n += len(frame)
        if not parts:
            raise InvalidArgument(f"{log.name}: must have one or more rounds to write, got none.")
        pl.scan_parquet(parts, glob=False).sink_parquet(stream.name)
    return n


def _choose_kinds(table: dict[str, list[Any]]) -> dict[str, Any]:
    import polars as pl

    special = {"action": pl.String, AVAILABLE: pl.String}
    flags = {CERTIFIED: pl.Boolean, AUDITED: pl.Boolean}
    return {name: {**special, **flags}.get(name, pl.Float64) for name in table}


def _iterate_tables(log: Log) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of each batch; all batches have the same ones."""
    schema, columns = log.schema, None
    odd = [c for c in schema.columns if c in RESERVED or c.startswith(PMF_OF) or not c]
    if odd:
        raise InvalidArgument(f"columns of a table must not be named {odd[0]!r}: it has a meaning.")
    for batch in log.batches():
        table = _make_table(batch, schema)
        columns = columns or list(table)
        yield {name: table.get(name, [None] * len(batch.rows)) for name in columns}


def _make_table(batch: LogBatch, schema: LogSchema) -> dict[str, list[Any]]:
    numbers = dict(zip(schema.columns, batch.contexts.T.tolist(), strict=True))
    unknown = np.isnan(batch.propensities)
    table: dict[str, list[Any]] = {
        **numbers,
        "action": [schema.actions[action] for action in batch.actions],
        "reward": batch.rewards.tolist(),
        "propensity": [
            None if u else p for u, p in zip(unknown, batch.propensities.tolist(), strict=True)
        ],
    }
    if batch.pmf is not None:
        laws = batch.pmf.T.tolist()
        table |= {f"{PMF_OF}{name}": law for name, law in zip(schema.actions, laws, strict=True)}
    table[AVAILABLE] = _name_masks(batch, schema)
    for name, flags in ((CERTIFIED, batch.certified), (AUDITED, batch.audited)):
        if flags is not None:
            table[name] = flags.tolist()
    return table


def _name_masks(batch: LogBatch, schema: LogSchema) -> list[Any]:
    """Return the available actions of each round as JSON; None where all are."""
    if batch.available is None:
        return [None] * len(batch.rows)
    names = np.asarray(schema.actions, dtype=object)
    return [None if mask.all() else json.dumps(names[mask].tolist()) for mask in batch.available]
