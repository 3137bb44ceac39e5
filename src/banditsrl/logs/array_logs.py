"""How do arrays in memory become a log? They are checked once, and cut into batches."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import booleans, count, known_index
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.logs.log import BATCH_ROWS, LogBatch, LogSchema, SkippedRows
from banditsrl.logs.log_batches import take_rows
from banditsrl.logs.log_checks import keep_good_rows


class ArrayRows:
    """A log that is in memory; `Log.from_arrays` describes the arguments."""

    def __init__(
        self,
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
        rows: Any = None,
        name: str = "arrays",
        skip_bad: bool = False,
    ) -> None:
        inputs = _read_numbers("contexts", contexts, 2)
        n = len(inputs)
        played = np.asarray(actions)
        known_index("actions", played, np.iinfo(np.int32).max)
        _check_shape("actions", played, (n,))
        law = None if pmf is None else _read_numbers("pmf", pmf, 2)
        names = _read_names(played, law, n_actions, action_names)
        self.name = name
        self.schema = LogSchema(names, _read_columns(columns, inputs.shape[1]))
        self._rounds = LogBatch(
            rows=np.arange(1, n + 1) if rows is None else np.asarray(rows, dtype=np.int64),
            contexts=inputs,
            actions=played.astype(np.int32),
            rewards=_read_numbers("rewards", rewards, 1),
            propensities=np.full(n, np.nan)
            if propensities is None
            else _read_numbers("propensities", propensities, 1),
            pmf=law,
            available=_read_flags("available", available, (n, len(names))),
            certified=_read_flags("certified", certified, (n,)),
            audited=_read_flags("audited", audited, (n,)),
        )
        self._check_shapes()
        self._defects = SkippedRows()
        counted = self._defects if skip_bad else None
        self._rounds = keep_good_rows(self._rounds, self.schema, {}, self.name, counted)

    def batches(self, skipped: SkippedRows) -> Iterator[LogBatch]:
        """Yield all rounds, in their order."""
        skipped.count, skipped.first = self._defects.count, self._defects.first
        for first in range(0, len(self._rounds.rows), BATCH_ROWS):
            yield take_rows(self._rounds, slice(first, first + BATCH_ROWS))

    def _check_shapes(self) -> None:
        n = len(self._rounds.rows)
        _check_shape("rewards", self._rounds.rewards, (n,))
        _check_shape("propensities", self._rounds.propensities, (n,))
        if self._rounds.pmf is not None:
            _check_shape("pmf", self._rounds.pmf, (n, self.schema.n_actions))


def _read_numbers(name: str, value: Any, n_axes: int) -> NDArray[np.float64]:
    """Return an array of numbers with so many axes; rows with odd numbers are refused later."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidType(
            f"{name} must be an array of numbers, got {type(value).__name__}."
        ) from error
    if array.ndim != n_axes:
        raise InvalidArgument(f"{name} must have {n_axes} axes, got shape {array.shape}.")
    return array


def _read_flags(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    return None if value is None else booleans(name, value, shape)


def _check_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InvalidArgument(f"{name} must have shape {shape}, got shape {array.shape}.")


def _read_names(
    actions: NDArray[Any],
    pmf: NDArray[np.float64] | None,
    n_actions: int | None,
    names: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return the names of the actions; without names they are called by their indices."""
    if names is not None:
        known = tuple(str(name) for name in names)
        if not known or len(set(known)) < len(known):
            raise InvalidArgument(
                f"action_names must be one or more different names, got {list(known)}."
            )
        if n_actions not in (None, len(known)):
            raise InvalidArgument(
                f"n_actions must be the number of action_names, {len(known)}, got {n_actions}."
            )
        return known
    if n_actions is None:
        largest = int(actions.max(initial=-1)) + 1
        n_actions = max(largest, 1) if pmf is None else pmf.shape[1]
    return tuple(str(index) for index in range(count("n_actions", n_actions)))


def _read_columns(columns: Sequence[str] | None, width: int) -> tuple[str, ...]:
    names = tuple(f"x{k}" for k in range(width)) if columns is None else tuple(columns)
    if len(names) != width:
        raise InvalidArgument(f"columns must be {width} names, one per entry, got {len(names)}.")
    return names
