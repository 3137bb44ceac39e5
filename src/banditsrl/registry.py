"""Which object does a name stand for? One table of names per kind of object."""

import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Generic, TypeVar

from banditsrl.errors import InvalidArgument, UnknownName

T = TypeVar("T")

SAME_WORD, SIMILAR = 0.8, 0.6
"""Least similarity of a mistyped name to the right one, and of a word to a name that is offered."""

MAX_GUESSES = 4
"""Most names that are offered for a word that begins several of them."""


def find_nearest(word: str, names: Iterable[str]) -> list[str]:
    """Return the names that someone who wrote `word` may have meant, the likeliest only.

    Example:
        >>> find_nearest("linuc", ["linucb", "linucb-disjoint"])
        ['linucb']
        >>> find_nearest("vardim", ["vardim-realizable", "vardim-no-hls", "mixing"])
        ['vardim-realizable', 'vardim-no-hls']
        >>> find_nearest("fig1", ["vardim", "mixing"])
        []
    """
    known = list(names)
    begun = [name for name in known if word and name.startswith(word)]
    return (
        get_close_matches(word, known, n=1, cutoff=SAME_WORD)
        or begun[:MAX_GUESSES]
        or get_close_matches(word.lower(), known, n=1, cutoff=SIMILAR)
    )


def guess_at(word: object, names: Iterable[str]) -> str:
    """Return how a sentence about an unknown word ends: with the nearest name, if there is one.

    Example:
        >>> guess_at("reed", ["red", "green"]), guess_at("7", ["red", "green"])
        ("; did you mean 'red'?", '.')
    """
    near = find_nearest(str(word), names)
    return f"; did you mean {offer(near)}?" if near else "."


def offer(names: Iterable[str]) -> str:
    """Return names as a choice in words.

    Example:
        >>> offer(["red"]), offer(["red", "green", "blue"])
        ("'red'", "'red', 'green' or 'blue'")
    """
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}" if first else last


class Registry(Generic[T]):
    """Names of one kind of object (problems, policies, losses, figures).

    Looking up an unknown name raises `UnknownName` with the nearest name that is known.

    Example:
        >>> from banditsrl.registry import Registry
        >>> colours = Registry[int]("colour")
        >>> colours.add("red", 1)
        1
        >>> colours["reed"]
        Traceback (most recent call last):
        banditsrl.errors.UnknownName: There is no colour named 'reed'; did you mean 'red'?
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}

    def add(self, name: str, entry: T) -> T:
        """Add `entry` under `name`, and return it. A name that is taken is refused."""
        if name in self._entries:
            raise InvalidArgument(f"There is already a {self.kind} named {name!r}.")
        self._entries[name] = entry
        return entry

    def named(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds what it decorates under `name`."""
        return lambda entry: self.add(name, entry)

    @contextmanager
    def temporary(self, name: str, entry: T) -> Iterator[T]:
        """Let `name` stand for `entry` inside a `with` block, whether or not the name is taken.

        Afterwards the table is as it was, in the same order.
        """
        before = dict(self._entries)
        self._entries[name] = entry
        try:
            yield entry
        finally:
            self._entries.clear()
            self._entries.update(before)

    def __getitem__(self, name: str) -> T:
        if name in self:
            return self._entries[name]
        near = find_nearest(str(name), self._entries)
        hint = f"known: {', '.join(self._entries)}."
        if near:
            hint = f"did you mean {offer(near)}?"
        raise UnknownName(f"There is no {self.kind} named {name!r}; {hint}")

    def __repr__(self) -> str:
        names = textwrap.fill(
            ", ".join(self),
            96,
            initial_indent="    ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        return f"Registry of {len(self)} names, each a {self.kind}:\n{names}"

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
