"""How does a context of another library become a vector? Each number and each word has a column.

| part of a context | columns |
|---|---|
| no context at all | one, which is always 1 |
| a number, True or False | one, with the number |
| a word | one for each word at this place: 1 in that of this word, 0 in the others |
| a word with known levels | the same, with one for each level from the start |
| a tuple or a list | those of its parts, by their place |
| a dictionary | those of its values, by their key; a key that is not there counts as 0 |
| a missing part (None) | one that says so |

Columns are numbered in the order in which they are first seen. A policy needs to know their number
before its first round, so words without levels and dictionaries need room that is stated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument, InvalidType

Cell: TypeAlias = tuple[str, float]
"""The name of a column and its value."""

Levels: TypeAlias = Callable[[str], Sequence[str]]
"""A function that returns the levels of a word, or nothing if they are not known."""


def no_levels(word: str) -> Sequence[str]:
    """Return no levels: nothing is known of the other words at the place of this one."""
    del word
    return ()


class ColumnTable:
    """The columns of contexts, in the order in which they were first seen.

    Args:
        n_columns: Room for so many columns. None means that the first context decides, which must
            then be made of numbers and of words with known levels, and so must all others.
        levels: Function that returns the levels of a word.

    Example:
        >>> table = ColumnTable(n_columns=4)
        >>> table.encode((0.5, "rome")).tolist()
        [0.5, 1.0, 0.0, 0.0]
        >>> table.encode((1.5, "oslo")).tolist()
        [1.5, 0.0, 1.0, 0.0]
        >>> table.names
        ('0', '1=rome', '1=oslo')
    """

    def __init__(self, n_columns: int | None = None, *, levels: Levels = no_levels) -> None:
        self._room = None if n_columns is None else count("n_columns", n_columns)
        self._grows = n_columns is not None
        self._levels = levels
        self._places: dict[str, int] = {}

    @property
    def n_columns(self) -> int | None:
        """Number of columns for which there is room, or None before the first context."""
        return self._room

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns so far."""
        return tuple(self._places)

    def encode(self, context: Any) -> NDArray[np.float64]:
        """Return the vector of a context, (n_columns,), and number the columns that are new."""
        cells = [("always", 1.0)] if context is None else list(self._split("", context))
        if self._room is None:
            self._fix_room(context, cells)
        self._number(cells)
        vector = np.zeros(self._room or 0)
        for name, value in cells:
            vector[self._places[name]] = value
        return vector

    def _fix_room(self, context: Any, cells: list[Cell]) -> None:
        """Let the first context decide how many columns there are."""
        if _is_open(context, self._levels):
            raise InvalidArgument(
                "n_columns must be given where contexts hold words, gaps or dictionaries, got None "
                f"and the context {context!r}."
            )
        if not cells:
            raise InvalidArgument(f"context must not be empty, got {context!r}.")
        self._room = len(cells)

    def _number(self, cells: list[Cell]) -> None:
        """Give every new column a number, or refuse them all."""
        new = list(dict.fromkeys(name for name, _ in cells if name not in self._places))
        if not self._grows and self._places and (new or len(cells) != self._room):
            raise InvalidArgument(
                f"context must have the {self._room} columns of the first one, got {len(cells)}."
            )
        if len(self._places) + len(new) > (self._room or 0):
            raise InvalidArgument(
                f"n_columns must leave room for every column, got {self._room}, which are used up "
                f"at the new column {new[(self._room or 0) - len(self._places)]!r}."
            )
        for name in new:
            self._places[name] = len(self._places)

    def _split(self, place: str, part: Any) -> Iterator[Cell]:
        """Yield the columns of a part of a context, named by its place."""
        if part is None:
            yield f"{place} is missing", 1.0
        elif isinstance(part, str):
            yield from ((f"{place}={word}", float(word == part)) for word in self._words(part))
        elif isinstance(part, Real | np.bool_):
            yield place or "number", float(part)
        elif isinstance(part, Mapping):
            for key, value in part.items():
                yield from self._split(f"{place}.{key}" if place else str(key), value)
        elif isinstance(part, Sequence | np.ndarray):
            for i, value in enumerate(part):
                yield from self._split(f"{place}.{i}" if place else str(i), value)
        else:
            raise InvalidType(
                "context must be made of numbers, words, tuples and dictionaries, got "
                f"{type(part).__name__}."
            )

    def _words(self, word: str) -> Sequence[str]:
        """Return the words that have a column where this one stands."""
        return self._levels(word) or (word,)


def _is_open(part: Any, levels: Levels) -> bool:
    """Return whether other contexts of this form may need columns that this one does not show."""
    if isinstance(part, str):
        return not levels(part)
    if isinstance(part, Mapping):
        return True
    if isinstance(part, Sequence | np.ndarray):
        return any(value is None or _is_open(value, levels) for value in part)
    return False
