"""How are the batches of a log joined, and watched while they are read?"""

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from banditsrl.logs.log import LogBatch, LogSchema

LONGEST_NAME = 40
"""Characters of the name of a log beside a bar; the last ones tell most."""


LINE_SECONDS = 5.0
"""Time between two lines, where no bar can be drawn."""


def join_batches(batches: Sequence[LogBatch], schema: LogSchema) -> LogBatch:
    """Return the rounds of several batches as one."""
    if not batches:
        return _no_rounds(schema)
    joined: list[Any] = []
    for parts in zip(*batches, strict=True):
        known = [part for part in parts if part is not None]
        joined.append(np.concatenate(known) if len(known) == len(parts) else None)
    together = LogBatch(*joined)
    if together.available is None and any(batch.available is not None for batch in batches):
        whole = [np.ones((len(b.rows), schema.n_actions), dtype=bool) for b in batches]
        masks = [
            w if b.available is None else b.available for b, w in zip(batches, whole, strict=True)
        ]
        return together._replace(available=np.concatenate(masks))
    return together


def take_rows(batch: LogBatch, which: Any) -> LogBatch:
    """Return some rounds of a batch, by a slice, a mask or indices."""
    parts: list[Any] = [None if part is None else part[which] for part in batch]
    return LogBatch(*parts)


def _no_rounds(schema: LogSchema) -> LogBatch:
    """Return a batch without rounds."""
    return LogBatch(
        rows=np.zeros(0, dtype=np.int64),
        contexts=np.zeros((0, len(schema.columns))),
        actions=np.zeros(0, dtype=np.int32),
        rewards=np.zeros(0),
        propensities=np.zeros(0),
        pmf=None,
        available=None,
        certified=None,
        audited=None,
    )


def _write_lines(batches: Iterator[LogBatch], name: str, total: int | None) -> Iterator[LogBatch]:
    n, written = 0, time.monotonic()
    for batch in batches:
        n += len(batch.rows)
        if time.monotonic() - written > LINE_SECONDS:
            written = time.monotonic()
            of_all = "" if total is None else f" of {total:,}"
            sys.stderr.write(f"{name[-LONGEST_NAME:]}: {n:,}{of_all} rounds\n")
            sys.stderr.flush()
        yield batch


def show_progress(batches: Iterator[LogBatch], name: str, total: int | None) -> Iterator[LogBatch]:
    """Pass batches on, and draw a bar on stderr that is removed at the end.

    Where stderr is no terminal, a line is written every few seconds instead.
    """
    from rich.console import Console  # noqa: PLC0415 - imported only if a bar is drawn
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield from _write_lines(batches, name, total)
        return
    words = TextColumn("{task.description}")
    parts = (words, BarColumn(), MofNCompleteColumn(), TextColumn("rounds"), TimeElapsedColumn())
    with Progress(*parts, console=console, transient=True) as bar:
        task = bar.add_task(name[-LONGEST_NAME:], total=total)
        for batch in batches:
            bar.advance(task, len(batch.rows))
            yield batch
