"""How is a file of rows read as a log? A first pass finds what was not declared.

It keeps the kinds of columns and the names of actions, and nothing else.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from banditsrl.errors import InvalidArgument
from banditsrl.live.loop_columns import LoopColumn
from banditsrl.logs.column_kinds import MOST_COLUMNS, ColumnFinder, declare_column
from banditsrl.logs.log import LogBatch, LogSchema, SkippedRows
from banditsrl.logs.log_checks import keep_good_rows
from banditsrl.logs.log_options import LogOptions
from banditsrl.logs.raw_blocks import RawBlock, ReadBlocks
from banditsrl.logs.row_coding import RowCoder
from banditsrl.registry import Registry

MOST_ACTIONS = 10_000
"""Different actions; more of them are probably something else."""


class RowSource:
    """A log whose rows are read as lists of values.

    Args:
        name: What the log is called in messages.
        read_blocks: Reads the log from its beginning.
        options: What is known about it.
        zero_if_missing: Whether a number that is not there is zero, as in sparse formats.
    """

    def __init__(
        self,
        name: str,
        read_blocks: ReadBlocks,
        options: LogOptions,
        *,
        zero_if_missing: bool = False,
    ) -> None:
        self.name = name
        self._read_blocks, self._options = read_blocks, options
        self._zero_if_missing = zero_if_missing

    @property
    def schema(self) -> LogSchema:
        """Actions and columns."""
        columns = [name for c in self._coder.columns for name in c.column.vector_names]
        return LogSchema(self._coder.actions, tuple(columns))

    def batches(self, skipped: SkippedRows) -> Iterator[LogBatch]:
        """Yield all rounds, in the order of the log."""
        schema, counted = self.schema, skipped if self._options.skip_bad else None
        for block in self._read_blocks():
            for row, reason in block.left_out:
                skipped.add(f"{self.name}: row {row}: {reason}")
            batch, broken = self._coder.code(block)
            good = keep_good_rows(batch, schema, broken, self.name, counted)
            if len(good.rows):
                yield good

    @cached_property
    def _coder(self) -> RowCoder:
        declared, actions = self._options.declared(), self._options.actions
        kinds = [None] if declared is None else list(declared.values())
        if actions is not None and not any(kind in (None, "category") for kind in kinds):
            return RowCoder([declare_column(n, k) for n, k in (declared or {}).items()], actions)
        survey = _Survey(self.name, declared)
        for block in self._read_blocks():
            if block.broken and not self._options.skip_bad:
                at = min(block.broken)
                raise InvalidArgument(f"{self.name}: row {block.rows[at]}: {block.broken[at]}")
            survey.add(block.without_broken())
        columns = survey.decide_columns(
            zero_if_missing=self._zero_if_missing, skip_bad=self._options.skip_bad
        )
        return RowCoder(columns, survey.decide_actions() if actions is None else actions)


class _Survey:
    """What a first pass finds."""

    def __init__(self, name: str, declared: Mapping[str, Any] | None) -> None:
        self._name, self._declared = name, declared
        self._finders: Registry[ColumnFinder] = Registry("column")
        self._actions: set[Any] = set()
        self._first: tuple[int, Any] | None = None  # row and action of the first round
        self._longest = 0  # law without names
        self._n_rows = 0

    def add(self, block: RawBlock) -> None:
        """Look at more rows."""
        for name, values in block.values.items():
            if self._declared is not None and name not in self._declared:
                continue
            if name not in self._finders:
                self._add_finder(name)
            self._finders[name].add(block.rows, values, is_text=block.is_text)
        for name in set(self._finders) - set(block.values):
            self._finders[name].note_missing()
        self._n_rows += len(block.rows)
        if self._first is None and block.rows:
            self._first = block.rows[0], block.actions[0]
        self._add_actions(block)

    def _add_finder(self, name: str) -> None:
        if len(self._finders) >= MOST_COLUMNS:
            raise InvalidArgument(
                f"{self._name}: a log must have at most {MOST_COLUMNS:,} columns, got more; choose "
                "some with columns=."
            )
        as_category = self._declared is not None and self._declared[name] == "category"
        finder = self._finders.add(name, ColumnFinder(name, as_category=as_category))
        if self._n_rows:
            finder.note_missing()

    def _add_actions(self, block: RawBlock) -> None:
        found = {v for v in block.actions if isinstance(v, str | int) and not isinstance(v, bool)}
        found |= {int(v) for v in block.actions if isinstance(v, float) and v.is_integer()}
        found.update(block.pmf_columns or ())
        for law in block.pmf or ():
            if isinstance(law, Mapping):
                found.update(law)
            elif isinstance(law, list):
                self._longest = max(self._longest, len(law))
        for names in block.available or ():
            listed = names if isinstance(names, list) else ()
            found.update(one for one in listed if isinstance(one, str | int))
        self._actions |= {str(value) for value in found} | set(block.names)
        if len(self._actions) > MOST_ACTIONS:
            raise InvalidArgument(
                f"{self._name}: action must have at most {MOST_ACTIONS:,} different values, got "
                "more; it may be the wrong column."
            )

    def decide_columns(self, *, zero_if_missing: bool, skip_bad: bool) -> list[LoopColumn]:
        """Return the columns, in the order in which they were declared or seen."""
        names = self._finders if self._declared is None else self._declared
        how = {"zero_if_missing": zero_if_missing, "skip_bad": skip_bad}
        return [self._decide(name, **how) for name in names]

    def _decide(self, name: str, *, zero_if_missing: bool, skip_bad: bool) -> LoopColumn:
        declared = None if self._declared is None else self._declared[name]
        if declared not in (None, "category"):
            return declare_column(name, declared)
        try:
            finder = self._finders[name]
        except InvalidArgument as error:
            raise InvalidArgument(f"{self._name}: {error}") from None
        return finder.decide(self._name, zero_if_missing=zero_if_missing, skip_bad=skip_bad)

    def decide_actions(self) -> tuple[str, ...]:
        """Return the names of the actions: integers by size, texts by the alphabet."""
        if self._first is None:
            raise InvalidArgument(f"{self._name}: must have one or more rows, got none.")
        if not self._actions:
            row, value = self._first
            got = "none" if value is None else repr(value)
            raise InvalidArgument(
                f"{self._name}: row {row}: action must be a name or an integer, got {got}."
            )
        whole = all(name.removeprefix("-").isdigit() for name in self._actions)
        if whole and len(self._actions) < self._longest:  # some action was never played
            numbers = [int(name) for name in self._actions]
            if min(numbers) >= 0 and max(numbers) < self._longest:
                return tuple(str(at) for at in range(self._longest))
        return tuple(sorted(self._actions, key=int if whole else None))
