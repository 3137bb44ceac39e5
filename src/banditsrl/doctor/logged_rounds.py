"""How are logged rounds read? A Parquet file with one row per round, checked as it is read.

    action            the action that was played, an integer from 0
    reward            its reward
    phi_<candidate>   the embedding of every action: a list of A lists of d numbers

There is one `phi_` column per candidate. All candidates have the same number of actions A; each has
its own dimension d. Other columns are ignored.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument

if TYPE_CHECKING:
    import polars as pl

PREFIX = "phi_"
"""Beginning of the names of the columns that hold candidates."""

NOT_CONTEXT = {"action", "reward", "propensity"}
"""Columns that do not describe a context."""


@dataclass(frozen=True)
class LoggedRounds:
    """Logged rounds with the embeddings of every candidate.

    Attributes:
        candidates: By name, the embedding of every action in every round, (n, A, d).
        actions: The actions that were played, (n,).
        rewards: Their rewards, (n,).
    """

    candidates: dict[str, NDArray[np.float64]]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return int(next(iter(self.candidates.values())).shape[1])


def read_logged_rounds(path: Path) -> LoggedRounds:
    """Read logged rounds and refuse, in one sentence, a file that does not hold them."""
    frame = _read_frame(path)
    candidates = {
        name.removeprefix(PREFIX): _read_embedding(frame[name], path)
        for name in frame.columns
        if name.startswith(PREFIX)
    }
    actions = _read_actions(frame["action"], candidates, path)
    return LoggedRounds(candidates, actions, _read_rewards(frame["reward"], path))


def has_embeddings(path: Path) -> bool:
    """Return whether a Parquet file holds embeddings; if not, it must have other columns."""
    import polars as pl

    with _refuse_unreadable(path):
        names = list(pl.read_parquet_schema(path))
    if any(name.startswith(PREFIX) for name in names):
        return True
    if not set(names) - NOT_CONTEXT:
        raise InvalidArgument(
            f"{path}: must have the columns {PREFIX}<candidate>, or columns that describe a "
            f"context, got {', '.join(names) or 'none'}."
        )
    return False


@contextlib.contextmanager
def _refuse_unreadable(path: Path) -> Iterator[None]:
    """Turn the errors of a file that is no Parquet file into one sentence."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidArgument(f"{path}: must be a readable Parquet file, got {reason}.") from error


def _read_frame(path: Path) -> "pl.DataFrame":
    import polars as pl

    with _refuse_unreadable(path):
        frame = pl.read_parquet(path)
    missing = [name for name in ("action", "reward") if name not in frame.columns]
    if not any(name.startswith(PREFIX) for name in frame.columns):
        missing.append(f"{PREFIX}<candidate>")
    if missing:
        raise InvalidArgument(
            f"{path}: must have the columns {', '.join(missing)}, "
            f"got {', '.join(frame.columns) or 'none'}."
        )
    if not len(frame):
        raise InvalidArgument(f"{path}: must hold at least one round, got none.")
    return frame


def _read_embedding(column: "pl.Series", path: Path) -> NDArray[np.float64]:
    """Return the column of one candidate as an array, (n, A, d)."""
    import polars as pl

    where = f"{path}: {column.name}"
    try:
        lists = column.cast(pl.List(pl.List(pl.Float64)))
    except pl.exceptions.PolarsError as error:
        raise InvalidArgument(
            f"{where} must hold a list of lists of numbers, got {column.dtype}."
        ) from error
    inner = lists.explode()
    _check_lengths(lists, "actions", where)
    _check_lengths(inner, "dimensions", where)
    flat = inner.explode().fill_null(float("nan")).to_numpy()
    table = flat.reshape(len(lists), int(lists.list.len()[0]), -1)
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0][0])
        raise InvalidArgument(
            f"{where} must be finite, got a missing or infinite value in row {row}."
        )
    return np.asarray(table, dtype=np.float64)


def _check_lengths(lists: "pl.Series", what: str, where: str) -> None:
    """Refuse lists that are empty or differ in length."""
    found = sorted({0 if n is None else n for n in lists.list.len().unique().to_list()})
    if len(found) > 1 or found[0] == 0:
        raise InvalidArgument(
            f"{where} must have the same number of {what} in every round, above zero, "
            f"got {', '.join(map(str, found))}."
        )


def _read_rewards(column: "pl.Series", path: Path) -> NDArray[np.float64]:
    if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
        raise InvalidArgument(f"{path}: reward must hold numbers, got {column.dtype}.")
    values = column.cast(float).fill_null(float("nan")).to_numpy()
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InvalidArgument(f"{path}: reward must be finite, got {values[row]} in row {row}.")
    return np.asarray(values, dtype=np.float64)


def _read_actions(
    column: "pl.Series", candidates: dict[str, NDArray[np.float64]], path: Path
) -> NDArray[np.int64]:
    sizes = {name: table.shape[1] for name, table in candidates.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InvalidArgument(f"{path}: candidates must share the number of actions, got {listed}.")
    n_actions = next(iter(sizes.values()))
    if not column.dtype.is_integer() or column.null_count():
        raise InvalidArgument(f"{path}: action must hold an integer per row, got {column.dtype}.")
    values = np.asarray(column.to_numpy(), dtype=np.int64)
    outside = (values < 0) | (values >= n_actions)
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidArgument(
            f"{path}: action must lie from 0 to {n_actions - 1}, got {values[row]} in row {row}."
        )
    return values
