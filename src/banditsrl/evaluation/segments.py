"""Into which groups are the rounds of a log divided? By the columns that separate its actions most.

A log may try every action and still never try one of them on old customers. Overlap is therefore
also counted in segments: the values of a column that has few, or the quarters of one that has many.
Segments are chosen from the first rounds of a log, and a test that looks at them must leave those
rounds out.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from banditsrl.logs.log import LogBatch, LogSchema

Floats = NDArray[np.float64]

MOST_COLUMNS = 3
"""Columns that are divided; more would make a report that nobody reads."""

MOST_VALUES = 6
"""A column with at most so many values has one segment per value."""

QUARTERS = (0.25, 0.5, 0.75)

HEAD_ROWS = 4096
"""Most rounds from which segments are chosen; a quarter of the first batch if that is less."""

MOST_INSPECTED = 512
"""Largest number of columns that are examined; in wide rows many columns are redundant."""


@dataclass(frozen=True)
class Segment:
    """Rounds whose value of one column lies in [low, high)."""

    column: str
    index: int  # of the column
    low: float
    high: float
    label: str

    def holds(self, contexts: Floats) -> NDArray[np.bool_]:
        """Return which rounds belong to it, (n,)."""
        values = contexts[:, self.index]
        return (values >= self.low) & (values < self.high)


def head_of(batch: LogBatch) -> int:
    """Return the number of rounds of the first batch from which segments are chosen."""
    return min(HEAD_ROWS, len(batch.actions) // 4)


def choose_segments(batch: LogBatch, schema: LogSchema) -> tuple[Segment, ...]:
    """Return the segments of the columns that separate the actions most, from the first batch."""
    n_head = head_of(batch)
    contexts, actions = batch.contexts[:n_head], batch.actions[:n_head]
    found: list[tuple[float, int, tuple[Segment, ...]]] = []
    for index, column in enumerate(schema.columns[:MOST_INSPECTED]):
        segments = divide_column(contexts[:, index], column, index)
        if len(segments) > 1:
            strength = measure_separation(contexts, actions, segments, schema.n_actions)
            found.append((-strength, index, segments))
    best = sorted(found, key=lambda entry: entry[:2])[:MOST_COLUMNS]
    return tuple(segment for _, _, segments in best for segment in segments)


def divide_column(values: Floats, column: str, index: int) -> tuple[Segment, ...]:
    """Return the segments of one column; a constant column has none."""
    different = np.unique(values)
    if len(different) < 2:
        return ()
    if len(different) <= MOST_VALUES:
        return tuple(
            Segment(column, index, value, _just_above(value), f"{column} = {value:g}")
            for value in different.tolist()
        )
    inner = np.unique(np.quantile(values, QUARTERS)).tolist()
    ends = [-np.inf, *inner, np.inf]
    return tuple(
        Segment(column, index, low, high, _describe_range(column, low, high))
        for low, high in pairwise(ends)
    )


def _just_above(value: float) -> float:
    return float(np.nextafter(value, np.inf))


def _describe_range(column: str, low: float, high: float) -> str:
    if low == -np.inf:
        return f"{column} < {high:.3g}"
    return f"{column} >= {low:.3g}" if high == np.inf else f"{low:.3g} <= {column} < {high:.3g}"


def measure_separation(
    contexts: Floats, actions: NDArray[np.int32], segments: tuple[Segment, ...], n_actions: int
) -> float:
    """Return chi squared of the table of segments and actions, per round."""
    rows = [np.bincount(actions[s.holds(contexts)], minlength=n_actions) for s in segments]
    table = np.asarray(rows, dtype=np.float64)
    total = max(float(table.sum()), 1.0)
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / total
    squares = (table - expected) ** 2
    surplus = np.divide(squares, expected, out=np.zeros_like(table), where=expected > 0)
    return float(surplus.sum()) / total


def assign_segments(contexts: Floats, segments: tuple[Segment, ...]) -> NDArray[np.bool_]:
    """Return which rounds belong to which segment, (n, S)."""
    if not segments:
        return np.zeros((len(contexts), 0), dtype=bool)
    return np.stack([segment.holds(contexts) for segment in segments], axis=1)
