"""Which fold does a row belong to, and which rows are kept? A hash of the row's number decides.

The folds of a row are the same in every pass and in every process, and are not consecutive blocks,
which would differ where the log drifts.
"""

import numpy as np
from numpy.typing import NDArray

from banditsrl.logs.log import LogBatch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_KEPT = 12_000
"""Most rows that are kept for models which need rows and not sums."""

FOLD_SALT, SAMPLE_SALT = 1, 2
"""Added to row numbers, so that the fold of a row and whether it is kept are independent."""


def hash_rows(rows: Ints, salt: int) -> NDArray[np.uint64]:
    """Return well mixed 64-bit numbers, (n,): odd factors and shifts spread every bit."""
    mixed = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt * 0x632BE59B)
    for factor in (0xD6E8FEB86659FD93, 0xCA5A826395121157):
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def fold_of(rows: Ints, n_folds: int) -> Ints:
    """Return the fold of each row, (n,), in 0 .. n_folds - 1.

    Example:
        >>> np.bincount(fold_of(np.arange(1, 1001), 4)).min() > 200
        np.True_
    """
    return (hash_rows(rows, FOLD_SALT) % np.uint64(n_folds)).astype(np.int64)


class KeptRows:
    """A random part of a log, at most `MOST_KEPT` rows: those with the smallest hashes."""

    def __init__(self, n_columns: int) -> None:
        self.rows: Ints = np.zeros(0, dtype=np.int64)
        self.contexts: Floats = np.zeros((0, n_columns))
        self.actions: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self.rewards: Floats = np.zeros(0)

    def add(self, batch: LogBatch) -> None:
        """Add the rows of a batch, and drop those with the largest hashes."""
        rows = np.concatenate([self.rows, batch.rows])
        kept = np.argsort(hash_rows(rows, SAMPLE_SALT), kind="stable")[:MOST_KEPT]
        self.rows = rows[kept]
        self.contexts = np.concatenate([self.contexts, batch.contexts])[kept]
        self.actions = np.concatenate([self.actions, batch.actions])[kept]
        self.rewards = np.concatenate([self.rewards, batch.rewards])[kept]
