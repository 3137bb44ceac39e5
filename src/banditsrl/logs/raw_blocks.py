"""What does a reader of rows hand on? Lists of values as they were written, some rows at a time.

Readers know formats and nothing else. What columns mean, and whether a row can be used, is found
out in one place for all of them (`row_source.py`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class RawBlock:
    """Consecutive rows of a log, as they were written; every list has one entry per row."""

    rows: list[int]  # their numbers, from 1
    values: dict[str, list[Any]]  # the columns of a context; None where a value is missing
    actions: list[Any]  # a name or an integer each
    rewards: list[Any]
    propensities: list[Any] | None = None
    pmf: list[Any] | None = None  # each a mapping of names, or a list in the order of the actions
    pmf_columns: dict[str, list[Any]] | None = None  # probabilities by action, instead of pmf
    available: list[Any] | None = None  # each a list of names; None means all
    certified: list[Any] | None = None
    audited: list[Any] | None = None
    broken: dict[int, str] = field(default_factory=dict)  # rows that are not readable, by place
    names: tuple[str, ...] = ()  # actions that a format lists, whether or not they were played
    is_text: bool = False  # whether all values are text, whatever their kind
    left_out: list[tuple[int, str]] = field(
        default_factory=list
    )  # rows that are not rounds, and why

    def without_broken(self) -> "RawBlock":
        """Return the rows that are readable."""
        if not self.broken:
            return self
        good = [at for at in range(len(self.rows)) if at not in self.broken]

        def keep(values: list[Any] | None) -> list[Any] | None:
            return None if values is None else [values[at] for at in good]

        laws = self.pmf_columns
        return RawBlock(
            rows=[self.rows[at] for at in good],
            values={name: [found[at] for at in good] for name, found in self.values.items()},
            actions=[self.actions[at] for at in good],
            rewards=[self.rewards[at] for at in good],
            propensities=keep(self.propensities),
            pmf=keep(self.pmf),
            pmf_columns=None
            if laws is None
            else {k: [v[at] for at in good] for k, v in laws.items()},
            available=keep(self.available),
            certified=keep(self.certified),
            audited=keep(self.audited),
            names=self.names,
            is_text=self.is_text,
        )


ReadBlocks = Callable[[], Iterator[RawBlock]]
"""Reads a log from its beginning."""
