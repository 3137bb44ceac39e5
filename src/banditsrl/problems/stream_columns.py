"""How does a row of named values become a vector? Each column is coded by its kind.

| kind | columns of the vector | a missing value | a value never declared |
|---|---|---|---|
| number | the number | 0, and 1 in a column of its own; or the stated default | |
| flag | 0 or 1 | the same | |
| category | one per declared value, 1 in that of the value | 1 in a column of its own | all zeros |

A value is missing if its name is not there, or if it is None or NaN.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import flag, one_of, real
from banditsrl.core.record_help import PlainMeta
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.registry import Registry

KINDS = ("number", "category", "flag")


@dataclass(frozen=True)
class Column(metaclass=PlainMeta):
    """One named column of a context.

    Args:
        name: Its name.
        kind: "number", "category" or "flag".
        values: The values of a category that have a column each, in this order.
        default: What a missing number or flag counts as. With a default there is no column that
            says whether the value is missing.

    Example:
        >>> Column("city", "category", values=("rome", "oslo")).encode("oslo")
        [0.0, 1.0, 0.0]
    """

    name: str
    kind: str
    values: tuple[Hashable, ...] = ()
    default: float | None = None

    def __post_init__(self) -> None:
        one_of("kind", self.kind, KINDS)
        object.__setattr__(self, "values", tuple(self.values))
        if self.kind != "category" and self.values:
            raise InvalidArgument(f"values must be given for a category only, got {self.kind}.")
        if self.kind == "category" and len(set(self.values)) < max(len(self.values), 1):
            raise InvalidArgument(
                f"values of {self.name} must be one or more different values, got {self.values}."
            )
        if self.kind == "category" and self.default is not None:
            raise InvalidArgument(f"default must be None for a category, got {self.default!r}.")
        if self.default is not None:
            object.__setattr__(self, "default", self._read(self.default))

    @property
    def vector_names(self) -> tuple[str, ...]:
        """Names of the columns of the vector that this column becomes."""
        names = [self.name]
        if self.kind == "category":
            names = [f"{self.name}={value}" for value in self.values]
        return (*names, f"{self.name} is missing") if self.default is None else tuple(names)

    def encode(self, value: Any) -> list[float]:
        """Return the part of the vector that one value becomes."""
        is_missing = value is None or (isinstance(value, Real) and math.isnan(value))
        if self.kind == "category":
            hits = [float(not is_missing and value == known) for known in self.values]
            return [*hits, float(is_missing)]
        if self.default is not None:
            return [self.default if is_missing else self._read(value)]
        return [0.0 if is_missing else self._read(value), float(is_missing)]

    def _read(self, value: Any) -> float:
        """Return a number or a flag as a number."""
        if self.kind == "number":
            return real(self.name, float(value) if isinstance(value, np.number) else value)
        known = bool(value) if isinstance(value, Real) and value in (0, 1) else value
        return float(flag(self.name, known))


def encode_rows(columns: Sequence[Column], rows: Any) -> NDArray[np.float64]:
    """Return the vector of one row, or the vectors of several, (n, n_columns).

    Args:
        columns: The columns, in the order of the vector.
        rows: One mapping of names to values, a list of them, or a mapping of names to lists.
    """
    if not isinstance(rows, Mapping):
        if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
            raise InvalidType(
                f"rows must be a mapping of names to values, or a list of them, got {rows!r}."
            )
        width = sum(len(column.vector_names) for column in columns)
        coded = [_encode_row(columns, row) for row in rows]
        return np.asarray(coded, dtype=np.float64).reshape(len(rows), width)
    lengths = {len(values) for values in rows.values() if np.ndim(values) == 1}
    if not lengths:
        return np.asarray(_encode_row(columns, rows), dtype=np.float64)
    if len(lengths) > 1 or any(np.ndim(values) != 1 for values in rows.values()):
        raise InvalidArgument(
            "rows must hold lists of one length, or one value per name, got a mixture."
        )
    (n,) = lengths
    names, lists = list(rows), [list(values) for values in rows.values()]
    each = [dict(zip(names, values, strict=True)) for values in zip(*lists, strict=True)]
    return encode_rows(columns, each) if n else encode_rows(columns, [])


def check_columns(columns: Sequence[Any]) -> tuple[Column, ...]:
    """Return the columns, if there are some and their names differ."""
    wrong = [column for column in columns if not isinstance(column, Column)]
    if wrong:
        raise InvalidType(f"columns must be a sequence of Column, got {wrong[0]!r}.")
    names = [column.name for column in columns]
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(f"columns must have one or more different names, got {names}.")
    return tuple(columns)


def _encode_row(columns: Sequence[Column], row: Mapping[str, Any]) -> list[float]:
    known: Registry[Column] = Registry("column")
    for column in columns:
        known.add(column.name, column)
    for name in row:
        known[name]  # an unknown name is refused, and the nearest one is offered
    return [number for column in columns for number in column.encode(row.get(column.name))]
