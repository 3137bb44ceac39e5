"""How is our own loop read as a log? From its store; `exported_logs.py` reads what it exported.

A decision is a round once its reward counts; others are not rounds yet. A store holds the row that
each decision was made from, so its contexts are those rows, the constant at the end included, as
the loop's policy takes them.

A decision in shadow mode was the baseline's, which plays with probability one. An imported decision
without a law was made by somebody unknown, so its propensity is not known either.
"""

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.live.log_import import IMPORTED
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live.loop_opening import find_config
from banditsrl.live.loop_queries import read_revision
from banditsrl.live_store.decision_rows import SETTLED, to_vector
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.live_store.store_address import open_store
from banditsrl.logs.log import BATCH_ROWS, LogBatch, LogSchema, SkippedRows
from banditsrl.logs.log_checks import keep_good_rows
from banditsrl.logs.log_options import LogOptions

ROUNDS = """SELECT position, features, slot, value, law, available, certified, audited, mode,
    context FROM decisions WHERE loop = ? AND status = ? AND position > ? ORDER BY position
    LIMIT ?"""


class _SettledRow(NamedTuple):
    position: int
    features: bytes
    slot: int
    value: float
    law: bytes
    available: str
    certified: int
    audited: int
    mode: str
    context: str | None


class StoredRounds:
    """The settled decisions of a loop, as a log; the number of a row is its position.

    Args:
        url: Path of a store, or its URL.
        options: Name of the loop, and whether to skip rows that cannot be used.
    """

    def __init__(self, url: str, options: LogOptions) -> None:
        self.url, self.loop, self._options = url, options.loop, options
        with_loop = "" if options.loop is None else f", loop {options.loop}"
        self.name = f"{url.partition('?')[0].rpartition('@')[2]}{with_loop}"  # without a password

    @cached_property
    def _config(self) -> LoopConfig:
        store = open_store(self.url, create=False)
        try:
            return find_config(store, self._options.loop, argument="loop")
        finally:
            store.close()

    @cached_property
    def schema(self) -> LogSchema:
        """All actions that the loop ever had, and the columns of its rows."""
        store = open_store(self.url, create=False)
        try:
            table = read_revision(store, self._config)["actions"]
        finally:
            store.close()
        ordered = sorted(table.values(), key=lambda entry: entry.slot)
        return LogSchema(tuple(entry.name for entry in ordered), name_features(self._config))

    def batches(self, skipped: SkippedRows) -> Iterator[LogBatch]:
        """Yield all settled decisions, in the order of the log."""
        schema, counted = self.schema, skipped if self._options.skip_bad else None
        store = open_store(self.url, create=False)
        try:
            for rows in _iterate_settled(store, self._config.name):
                batch, broken = _make_batch(rows, schema)
                good = keep_good_rows(batch, schema, broken, self.name, counted)
                if len(good.rows):
                    yield good
        finally:
            store.close()


def name_features(config: LoopConfig) -> tuple[str, ...]:
    """Return what the entries of a row of a loop are called."""
    shared = [name for one in config.columns for name in one.column.vector_names]
    own = [name for one in config.action_columns for name in one.column.vector_names]
    known = [*config.actions, *(f"slot {k}" for k in range(len(config.actions), config.n_slots))]
    return (*shared, *(f"{action}: {name}" for action in known for name in own), "constant")


def _iterate_settled(store: LoopStore, loop: str) -> Iterator[list[_SettledRow]]:
    position = 0
    rows: list[tuple[Any, ...]] = [()] * BATCH_ROWS
    while len(rows) == BATCH_ROWS:
        with store.read() as cursor:
            rows = cursor.execute(ROUNDS, (loop, SETTLED, position, BATCH_ROWS))
        if rows:
            found = [_SettledRow(*row) for row in rows]
            position = found[-1].position
            yield found


def _make_batch(rows: list[_SettledRow], schema: LogSchema) -> tuple[LogBatch, dict[int, str]]:
    n_actions = schema.n_actions
    said = [_find_damage(row, schema) for row in rows]
    broken = {at: says for at, says in enumerate(said) if says is not None}
    if broken:
        rows = [_without_content(r, schema) if at in broken else r for at, r in enumerate(rows)]
    laws = np.stack([to_vector(row.law)[:n_actions] for row in rows])
    masks = np.stack([_make_mask(row.available, n_actions) for row in rows])
    unknown = np.asarray([_has_no_law(row.mode, law) for row, law in zip(rows, laws, strict=True)])
    actions = np.asarray([row.slot for row in rows], dtype=np.int32)
    played = laws[np.arange(len(rows)), np.minimum(actions, n_actions - 1)]
    masks[unknown] = True
    for at, row in enumerate(rows):
        if row.context is None:
            broken.setdefault(at, "a round must have a context, got one that was erased.")
    batch = LogBatch(
        rows=np.asarray([row.position for row in rows], dtype=np.int64),
        contexts=np.stack([to_vector(row.features) for row in rows]),
        actions=actions,
        rewards=np.asarray([row.value for row in rows], dtype=np.float64),
        propensities=np.where(unknown, np.nan, played),
        pmf=None if unknown.any() else laws,
        available=None if masks.all() else masks,
        certified=np.asarray([bool(row.certified) for row in rows]),
        audited=np.asarray([bool(row.audited) for row in rows]),
    )
    return batch, broken


def _find_damage(row: _SettledRow, schema: LogSchema) -> str | None:
    """Return what a loop would not have written, or None."""
    n_actions, size = schema.n_actions, 8 * len(schema.columns)
    if not isinstance(row.value, float | int):
        got = "none" if row.value is None else repr(row.value)
        return f"reward must be a number, got {got}."
    if len(row.features) != size:
        return f"features must have {size} bytes, got {len(row.features)}."
    if len(row.law) % 8 or len(row.law) < 8 * n_actions:
        return f"law must have {n_actions} numbers of 8 bytes, got {len(row.law)} bytes."
    try:
        slots = list(json.loads(row.available).values())
    except (ValueError, AttributeError):
        return f"available must be an object of slots, got {row.available!r}."
    if not all(isinstance(slot, int) and 0 <= slot < n_actions for slot in slots):
        return f"available must hold slots below {n_actions}, got {row.available!r}."
    return None


def _without_content(row: _SettledRow, schema: LogSchema) -> _SettledRow:
    """Return a damaged row that can be decoded; it is refused or skipped."""
    features, law = bytes(8 * len(schema.columns)), bytes(8 * schema.n_actions)
    return row._replace(features=features, law=law, available="{}", value=0.0)


def _make_mask(available: str, n_actions: int) -> NDArray[np.bool_]:
    mask = np.zeros(n_actions, dtype=bool)
    mask[list(json.loads(available).values())] = True
    return mask


def _has_no_law(mode: str, law: NDArray[np.float64]) -> bool:
    """Return whether a decision was imported from a log that does not say how it was made."""
    return mode == IMPORTED and bool(law.max() == 1.0)


def check_loop_options(options: LogOptions) -> None:
    """Refuse options that have no meaning for a store."""
    if options.columns is not None or options.actions is not None:
        raise InvalidArgument(
            "columns and actions must not be given for a store, which knows its own, got some."
        )
