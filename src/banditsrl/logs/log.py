"""What is a log? Rounds that somebody else decided, read in batches, as often as one likes.

A round has a context, the action that was played, the probability with which it was played, and
its reward. Formats differ only in their readers (`log_formats.py` chooses one), so that everything
else in this room works from `LogBatch`. A log larger than memory is never held as a whole.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from banditsrl.core.record_help import PlainMeta

BATCH_ROWS = 32_768
"""Most rounds of a batch."""

Columns = Sequence[str] | Mapping[str, Any] | None
"""Columns of a context: their names, or their names and kinds, or None for all of them."""


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


class Log(metaclass=PlainMeta):
    """Rounds that somebody else decided: what was seen, played, and earned.

    A log is read from its source again whenever it is gone through, so it may exceed memory.

    Example:
        >>> log = Log.from_arrays(
        ...     contexts=[[0.1, 1.0], [0.7, 0.0], [0.4, 1.0]],
        ...     actions=[0, 1, 0],
        ...     rewards=[1.0, 0.0, 1.0],
        ...     propensities=[0.5, 0.5, 0.9],
        ...     action_names=["red", "green"],
        ... )
        >>> log.schema.actions
        ('red', 'green')
        >>> log.collect().rewards.tolist()
        [1.0, 0.0, 1.0]
    """

    def __init__(self, source: LogSource) -> None:
        self._source = source
        self._skipped = SkippedRows()
        self._n_rows: int | None = None  # of the last complete pass

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002
        action: str = "action",
        reward: str = "reward",
        propensity: str = "propensity",
        columns: Columns = None,
        actions: Sequence[str | int] | None = None,
        loop: str | None = None,
        position: int | None = None,
        skip_bad: bool = False,
    ) -> "Log":
        """Return the log in a file or a store; nothing is read before it is needed.

        Args:
            path: Path of a file, path of a loop's store, or a postgresql:// URL.
            format: "parquet", "csv", "jsonl", "dsjson", "vw", "obp" or "loop"; None recognises it.
            action: Column of a table that holds the action that was played.
            reward: Column of a table that holds its reward.
            propensity: Column of a table with the probability of that action.
            columns: Names of the columns that describe a context, or a mapping of names to kinds
                ("number", "flag", "category", or {"category": [values]}). None takes all columns
                that have no other meaning. Kinds that are not given are found by a first pass.
            actions: Names of all actions, in the order of their indices; None finds them by a first
                pass and sorts them.
            loop: Name of the loop, if a store has several.
            position: Which position of an Open Bandit log to read, if it has several.
            skip_bad: Whether to skip and count rows that cannot be used, instead of refusing.
        """
        from banditsrl.logs.log_formats import open_log  # noqa: PLC0415
        from banditsrl.logs.log_options import LogOptions  # noqa: PLC0415

        options = LogOptions(
            action=action,
            reward=reward,
            propensity=propensity,
            columns=columns,
            actions=None if actions is None else tuple(str(name) for name in actions),
            loop=loop,
            position=position,
            skip_bad=skip_bad,
        )
        return cls(open_log(path, format, options))

    @classmethod
    def from_arrays(
        cls,
        *,
        contexts: Any,
        actions: Any,
        rewards: Any,
        propensities: Any = None,
        pmf: Any = None,
        available: Any = None,
        certified: Any = None,
        audited: Any = None,
        n_actions: int | None = None,
        action_names: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> "Log":
        """Return a log of rounds that are in memory.

        Args:
            contexts: (n, m) numbers.
            actions: (n,) indices of the actions that were played.
            rewards: (n,) numbers.
            propensities: (n,) probabilities of those actions; NaN where it is not known. None
                takes them from `pmf`, if that is given.
            pmf: (n, A) probabilities of all actions.
            available: (n, A) flags; None means that every action was available in each round.
            certified: (n,) flags that say whether a certificate decided.
            audited: (n,) flags that say whether the round was an audit.
            n_actions: Number of actions A; None takes the largest index, or `pmf`.
            action_names: Names of the actions, instead of their number.
            columns: Names of the entries of a context.
        """
        from banditsrl.logs.array_logs import ArrayRows  # noqa: PLC0415

        rounds = {"contexts": contexts, "actions": actions, "rewards": rewards}
        laws = {"propensities": propensities, "pmf": pmf, "available": available}
        flags = {"certified": certified, "audited": audited}
        names: Any = {"n_actions": n_actions, "action_names": action_names, "columns": columns}
        log = cls(ArrayRows(**rounds, **laws, **flags, **names))
        log._n_rows = len(rewards)
        return log

    @classmethod
    def from_obp(cls, feedback: Mapping[str, Any], *, position: int | None = None) -> "Log":
        """Return the log in a feedback dictionary of Open Bandit Pipeline.

        Args:
            feedback: The dictionary, with n_rounds, n_actions, context, action, reward and pscore.
            position: Which position to keep, if rounds have several.
        """
        from banditsrl.logs.obp_logs import read_feedback  # noqa: PLC0415

        return cls(read_feedback(feedback, position=position))

    @property
    def name(self) -> str:
        """What the log is called in messages."""
        return self._source.name

    def __repr__(self) -> str:
        seen = "not read yet" if self._n_rows is None else f"{self._n_rows:,} rounds"
        return f"Log({self.name}, {seen})"

    @property
    def store(self) -> tuple[str, str | None] | None:
        """Address of the loop's store and name of the loop that was asked for; None for others."""
        from banditsrl.logs.loop_logs import StoredRounds  # noqa: PLC0415

        source = self._source
        return (source.url, source.loop) if isinstance(source, StoredRounds) else None

    @property
    def schema(self) -> LogSchema:
        """Names of the actions and of the entries of a context."""
        return self._source.schema

    @property
    def skipped(self) -> SkippedRows:
        """Rows that the last pass through the log could not use."""
        return self._skipped

    def batches(self, progress: bool = False) -> Iterator[LogBatch]:
        """Yield all rounds in their order, at most `BATCH_ROWS` at a time.

        Args:
            progress: Whether to draw a progress bar on stderr.
        """
        from banditsrl.logs.log_batches import show_progress  # noqa: PLC0415

        self._skipped = SkippedRows()
        found = self._source.batches(self._skipped)
        n = 0
        for batch in show_progress(found, self.name, self._n_rows) if progress else found:
            n += len(batch.rows)
            yield batch
        self._n_rows = n

    def collect(self) -> LogBatch:
        """Return all rounds at once; the log must fit into memory."""
        from banditsrl.logs.log_batches import join_batches  # noqa: PLC0415

        return join_batches(list(self.batches()), self.schema)

    def write(self, path: str | Path, format: str | None = None) -> int:  # noqa: A002
        """Write the log to a file, in one piece, and return the number of its rounds.

        Args:
            path: The file.
            format: As for `read`; None goes by the ending of the path.
        """
        from banditsrl.logs.log_formats import write_log  # noqa: PLC0415

        return write_log(self, Path(path), format)

    def to_obp(self) -> dict[str, Any]:
        """Return the log as a feedback dictionary of Open Bandit Pipeline."""
        from banditsrl.logs.obp_logs import write_feedback  # noqa: PLC0415

        return write_feedback(self)
