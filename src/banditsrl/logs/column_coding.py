"""How do the values of a column become numbers? As `encode_rows` codes them, but all at once.

A list of one type is coded at once. A list with anything odd in it is coded value by value, which
gives the same numbers, and a sentence about every value that cannot be coded.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.live.loop_columns import LoopColumn

NUMBERS = {int, float, type(None)}


def encode_column(
    column: LoopColumn, values: list[Any], broken: dict[int, str]
) -> NDArray[np.float64]:
    """Return the part of the vectors that the values of a column become, (n, width)."""
    types = set(map(type, values))
    kind = column.column.kind
    if kind == "number" and types <= NUMBERS and not _has_huge(values, types):
        return encode_numbers(column, np.asarray(values, dtype=np.float64))
    if kind == "flag" and types <= {bool, type(None)}:
        return encode_numbers(column, np.asarray(values, dtype=np.float64))
    if kind == "category" and types <= {str, int, bool, type(None)}:
        return _encode_category(column, values)
    return _encode_each(column, values, broken)


def _has_huge(values: list[Any], types: set[type]) -> bool:
    """Return whether an integer is too large for a float."""
    return int in types and any(isinstance(v, int) and abs(v) > 2**1000 for v in values)


def encode_numbers(column: LoopColumn, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of the vectors that numbers become; NaN is a missing one."""
    missing = np.isnan(numbers)
    if column.low is not None:
        numbers = np.clip(numbers, column.low, column.high)
    default = column.column.default
    if default is not None:
        return np.where(missing, default, numbers)[:, None]
    return np.stack([np.where(missing, 0.0, numbers), missing.astype(np.float64)], axis=1)


def _encode_category(column: LoopColumn, values: list[Any]) -> NDArray[np.float64]:
    known = column.column.values
    places: dict[Any, int] = {value: at for at, value in enumerate(known)} | {None: len(known)}
    codes = np.asarray([places.get(value, -1) for value in values], dtype=np.int64)
    coded = np.zeros((len(values), len(known) + 1))
    hits = np.flatnonzero(codes >= 0)
    coded[hits, codes[hits]] = 1.0
    return coded


def _encode_each(
    column: LoopColumn, values: list[Any], broken: dict[int, str]
) -> NDArray[np.float64]:
    coded = np.zeros((len(values), column.width))
    for at, value in enumerate(values):
        try:
            coded[at] = column.encode(value)
        except (InvalidArgument, InvalidType) as error:
            broken.setdefault(at, str(error))
    return coded
