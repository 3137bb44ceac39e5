"""Which columns can a loop have? Numbers, categories and flags, which may have missing values.

A column is declared in one of these forms:

    age: number
    member: flag
    country: {category: [fr, de, us]}
    visits: {number: {default: 0, clip: [0, 1000]}}
    opted_in: {flag: {default: false}}

A number outside `clip` counts as the nearest end. Without `clip`, a number that is not finite or
larger than 1e19 in size is refused, so that it can never reach the statistics.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from banditsrl.arguments import LARGEST_NUMBER, real
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.problems.stream_columns import KINDS, Column


@dataclass(frozen=True)
class LoopColumn:
    """A column, and the range that its numbers are clipped to."""

    column: Column
    low: float | None = None
    high: float | None = None

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def width(self) -> int:
        """Number of places in the vector that the column takes."""
        return len(self.column.vector_names)

    def encode(self, value: Any) -> list[float]:
        """Return the part of the vector that one value becomes."""
        if self.column.kind == "number" and value is not None:
            number = self._bound(value)
            if number is not None:  # `Column` would look at the number a second time
                return [number] if self.column.default is not None else [number, 0.0]
            return self.column.encode(None)
        if self.column.kind == "category" and isinstance(value, Mapping | list):
            raise InvalidType(f"{self.name} must be one value, got {type(value).__name__}.")
        return self.column.encode(value)

    def _bound(self, value: Any) -> float | None:
        """Return a number within the range, or refuse one that would spoil the statistics."""
        is_plain = type(value) is float or type(value) is int  # a quick check for the usual case
        if not is_plain and (isinstance(value, bool) or not isinstance(value, Real)):
            raise InvalidType(f"{self.name} must be a number, got {value!r}.")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        if math.isnan(number):  # a missing value
            return None
        if self.low is not None and self.high is not None:
            return min(max(number, self.low), self.high)
        if abs(number) > LARGEST_NUMBER:
            raise InvalidArgument(
                f"{self.name} must be at most {LARGEST_NUMBER:g} in size, got {number:g}."
            )
        return number


def read_columns(name: str, value: Any) -> tuple[LoopColumn, ...]:
    """Return the columns that a mapping of names to declarations describes."""
    if not isinstance(value, Mapping):
        raise InvalidType(f"{name} must be a mapping of names to kinds, got {value!r}.")
    return tuple(_read_column(column, declared) for column, declared in value.items())


def _read_column(name: Any, declared: Any) -> LoopColumn:
    if not isinstance(name, str) or not name:
        raise InvalidType(f"columns must have names of text, got {name!r}.")
    kind: Any = declared
    options: Any = {}
    if isinstance(declared, Mapping) and len(declared) == 1:
        kind, options = next(iter(declared.items()))
    if kind not in KINDS:
        raise InvalidArgument(f"{name} must be one of {', '.join(KINDS)}, got {declared!r}.")
    if kind == "category":
        return LoopColumn(Column(name, kind, values=_read_values(name, options)))
    if not isinstance(options, Mapping) or set(options) - {"default", "clip"}:
        raise InvalidArgument(f"{name} must have default or clip as its options, got {options!r}.")
    low, high = _read_clip(name, kind, options.get("clip"))
    return LoopColumn(Column(name, kind, default=options.get("default")), low, high)


def _read_values(name: str, options: Any) -> tuple[Any, ...]:
    if not isinstance(options, Sequence) or isinstance(options, str):
        raise InvalidArgument(f"{name} must list the values of its category, got {options!r}.")
    odd = [value for value in options if not isinstance(value, str | int | float | bool)]
    if odd:
        raise InvalidArgument(f"{name} must list texts or numbers, got {odd[0]!r}.")
    return tuple(options)


def _read_clip(name: str, kind: str, clip: Any) -> tuple[float | None, float | None]:
    if clip is None:
        return None, None
    is_pair = isinstance(clip, Sequence) and not isinstance(clip, str) and len(clip) == 2
    if kind != "number" or not is_pair:
        raise InvalidArgument(f"clip of {name} must be two numbers, for a number, got {clip!r}.")
    low, high = real(name, clip[0]), real(name, clip[1])
    if not -LARGEST_NUMBER <= low < high <= LARGEST_NUMBER:
        raise InvalidArgument(f"clip of {name} must be two numbers in order, got {clip!r}.")
    return low, high
