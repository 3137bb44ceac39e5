"""Which kind is a column, and which actions are there, if nobody says so? A first pass tells.

A column whose values are all numbers is a number, one of True and False is a flag, and one of a few
different texts is a category. A number or a flag that is never missing gets no column that says
whether it is. A column of many different texts is refused, since it may be an id: it must be
declared, or left out.
"""

import contextlib
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.live.loop_columns import LoopColumn, read_columns
from banditsrl.problems.stream_columns import Column

MOST_VALUES = 100
"""Different texts in a column that is taken for a category without being told so."""

MOST_DECLARED = 10_000
"""Different texts in a column that is declared to be a category."""

MOST_COLUMNS = 2_000
"""Columns of a context."""

TYPES: dict[type, str] = {
    int: "number",
    float: "number",
    bool: "flag",
    str: "text",
    type(None): "nothing",
}
"""The kind of value of each type."""

PLAIN = set(TYPES)

TEXT_FLAGS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
"""How flags are written in a file of texts; 1 and 0 are read as well, if a column is declared."""


class ColumnFinder:
    """What was seen of one column so far.

    Args:
        name: Its name.
        as_category: Whether it is declared to be a category whose values are to be found.
    """

    def __init__(self, name: str, *, as_category: bool = False) -> None:
        self._name, self._as_category = name, as_category
        self._most = MOST_DECLARED if as_category else MOST_VALUES
        self._values: set[Any] = set()  # different texts, until there are too many
        self._kinds: dict[str, tuple[int, Any]] = {}  # the first row and value of each kind
        self._counts: Counter[str] = Counter()  # about how many rows have each kind
        self._is_missing = False

    def add(self, rows: list[int], values: list[Any], *, is_text: bool) -> None:
        """Look at the values of more rows; texts may stand for values of any kind."""
        types = set(map(type, values))
        self._is_missing = self._is_missing or type(None) in types or _has_nan(values, types)
        collects = is_text or self._as_category or str in types
        plain = values if types <= PLAIN else [v for v in values if type(v) in PLAIN]
        found = {v for v in plain if v is not None} if collects else set()
        if len(self._values) <= self._most:
            self._values |= found
        kinds = self._tell_texts(found) if is_text else {TYPES.get(t, t.__name__) for t in types}
        tell = _tell_text if is_text else _tell_kind
        known = kinds - {"nothing"}
        if len(known) == 1:
            self._counts[next(iter(known))] += len(values) - values.count(None)
        elif known:
            self._counts.update(map(tell, values))
        for kind in sorted(known - {*self._kinds}):
            at = next(at for at, value in enumerate(values) if tell(value) == kind)
            self._kinds[kind] = (rows[at], values[at])

    def _tell_texts(self, texts: set[str]) -> set[str]:
        numbers, others = parse_numbers(self._name, list(texts))
        self._is_missing = self._is_missing or len(others) < np.isnan(numbers).sum()
        return {_tell_text(text) for text in texts} if others or not texts else {"number"}

    def note_missing(self) -> None:
        """Take note that some rows do not have the column at all."""
        self._is_missing = True

    def decide(self, source: str, *, zero_if_missing: bool, skip_bad: bool = False) -> LoopColumn:
        """Return the column, or refuse it if its kind cannot be told.

        If bad rows are skipped, a column is of the kind of most rows; others are bad if they
        cannot be read as that kind.
        """
        kinds = set(self._kinds)
        if skip_bad and len(kinds) > 1:
            kinds = {max(self._kinds, key=lambda kind: self._counts[kind])}
        if self._as_category or kinds == {"text"}:
            return self._category(source)
        if len(kinds) > 1 or not kinds <= {"number", "flag"}:
            self._refuse_mixture(source)
        default = 0.0 if zero_if_missing or not self._is_missing else None
        kind = "flag" if kinds == {"flag"} else "number"
        return LoopColumn(Column(self._name, kind, default=default))

    def _category(self, source: str) -> LoopColumn:
        if not self._values:
            raise InvalidArgument(f"{source}: column {self._name!r} must have values, got none.")
        if len(self._values) > self._most:
            raise InvalidArgument(
                f"{source}: column {self._name!r} must have at most {self._most:,} different "
                f"texts, got more; declare its values, as in columns={{{self._name!r}: "
                "{'category': [...]}}, or leave it out."
            )
        ordered = sorted(self._values, key=lambda value: (str(type(value)), value))
        return LoopColumn(Column(self._name, "category", values=tuple(ordered)))

    def _refuse_mixture(self, source: str) -> None:
        """Name the first row that holds another kind of value than the rows before it."""
        seen = sorted(self._kinds.items(), key=lambda item: item[1][0])
        kind, (row, value) = seen[min(1, len(seen) - 1)]
        raise InvalidArgument(
            f"{source}: row {row}: {self._name} must hold numbers, flags or texts, and one kind of "
            f"them, got {value!r} ({kind}); declare its kind with columns=, or leave it out."
        )


def _tell_kind(value: Any) -> str:
    return TYPES.get(type(value), type(value).__name__)


def _has_nan(values: list[Any], types: set[type]) -> bool:
    return float in types and any(is_nan(value) for value in values)


def _tell_text(text: str | None) -> str:
    if text is None:
        return "nothing"
    if text in TEXT_FLAGS:
        return "flag"
    try:
        read_number(text)
    except ValueError:
        return "text"
    return "number"


def declare_column(name: str, declared: Any) -> LoopColumn:
    """Return a column whose kind was given."""
    return read_columns("columns", {name: declared})[0]


def parse_texts(column: LoopColumn, values: list[Any]) -> tuple[Any, dict[int, str]]:
    """Return texts as values of the kind of a column, and what is wrong with others, by place."""
    if column.column.kind == "category":
        known = {str(value): value for value in column.column.values}
        return [known.get(value, value) for value in values], {}
    if column.column.kind == "flag":
        flags: Mapping[Any, Any] = {**TEXT_FLAGS, "1": True, "0": False, None: None}
        odd = {at: v for at, v in enumerate(values) if v not in flags}
        broken = {at: f"{column.name} must be true or false, got {v!r}." for at, v in odd.items()}
        return [flags.get(value) for value in values], broken
    return parse_numbers(column.name, values)


def parse_numbers(name: str, values: list[Any]) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return numbers, or texts that are numbers, and what is wrong with others, by place.

    What is missing or wrong is NaN.
    """
    import polars as pl

    types = set(map(type, values))
    if types <= {int, float, bool, type(None)}:
        with contextlib.suppress(OverflowError):  # of an integer that no float can hold
            return np.asarray(values, dtype=np.float64), {}
    if types <= {str, type(None)}:
        parsed = pl.Series(values, dtype=pl.String).cast(pl.Float64, strict=False)
        if parsed.null_count() == values.count(None):
            return parsed.fill_null(np.nan).to_numpy(), {}
    broken: dict[int, str] = {}
    numbers = np.full(len(values), np.nan)
    for at, value in enumerate(values):
        try:
            numbers[at] = np.nan if value is None else read_number(value)
        except (TypeError, ValueError):
            broken[at] = f"{name} must be a number, got {value!r}."
        except OverflowError:
            numbers[at] = np.inf
    return numbers, broken


def read_number(value: Any) -> float:
    """Return a number, or a text that is one; 1_000 is Python and not a number."""
    if isinstance(value, str) and "_" in value:
        raise ValueError
    return float(value)


def is_nan(value: Any) -> bool:
    """Return whether a value is a float that is not a number."""
    return isinstance(value, float) and math.isnan(value)
