"""What is a log? Rounds that somebody else decided, read in batches, as often as one likes.

A round has a context, the action that was played, the probability with which it was played, and
its reward. Formats differ only in their readers (`log_formats.py` chooses one), so that everything
else in this room works from `LogBatch`. A log larger than memory is never held as a whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

BATCH_ROWS = 32_768
"""Most rounds of a batch."""


class LogBatch(NamedTuple):
    """Consecutive rounds of a log, n of them, with A actions."""

    rows: NDArray[np.int64]  # (n,)    number of the row in its source, from 1
    contexts: NDArray[np.float64]  # (n, m)  finite
    actions: NDArray[np.int32]  # (n,)    index of the action that was played
    rewards: NDArray[np.float64]  # (n,)    finite
    propensities: NDArray[np.float64]  # (n,)    probability of that action; nan if not logged
    pmf: NDArray[np.float64] | None  # (n, A)  probability of every action, if logged
    available: NDArray[np.bool_] | None  # (n, A)  None if every action was available in each round
    certified: NDArray[np.bool_] | None  # (n,)    whether a certificate decided; None if not logged
    audited: NDArray[np.bool_] | None  # (n,)    whether it was an audit; None if not logged


@dataclass(frozen=True)
class LogSchema:
    """What all rounds of a log have in common."""

    actions: tuple[str, ...]  # their names; the index of an action is its place here
    columns: tuple[str, ...]  # names of the m entries of a context

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return len(self.actions)


@dataclass
class SkippedRows:
    """Rows that could not be used, if the reader was told to skip them."""

    count: int = 0
    first: str = ""  # the sentence about the first one

    def add(self, sentence: str) -> None:
        """Count one more row."""
        self.count += 1
        self.first = self.first or sentence


class LogSource(Protocol):
    """One format of logs. Readers and arrays in memory have this; `Log` is what people use."""

    @property
    def name(self) -> str:
        """What the log is called in messages: a path, an address, or "arrays"."""

    @property
    def schema(self) -> LogSchema:
        """Actions and columns, found before the first batch is read."""

    def batches(self, skipped: SkippedRows) -> Iterator[LogBatch]:
        """Yield all rounds, in the order of the log."""
