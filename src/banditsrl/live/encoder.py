"""How do named values become what a policy takes? One row per decision, and a mask of its actions.

The row holds the columns of the context and then, for each slot of an action, the columns of the
action in it. An action keeps its slot: no slot is ever given to another action, so what was learned
about it stays valid. Slots without an action are zero, and masked.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import Conflict, InvalidArgument, InvalidType, NotFound
from banditsrl.live.loop_columns import LoopColumn
from banditsrl.live.loop_config import LoopConfig
from banditsrl.registry import Registry, guess_at

ACTIVE, PAUSED, RETIRED = "active", "paused", "retired"


@dataclass(frozen=True)
class ActionEntry:
    """An action of a loop."""

    name: str
    slot: int
    state: str  # "active", "paused" or "retired"
    columns: Mapping[str, Any]


ActionTable = Mapping[str, ActionEntry]
"""All actions that a loop ever had, by name."""


def first_actions(config: LoopConfig) -> ActionTable:
    """Return the actions that a loop starts with."""
    named = enumerate(config.actions.items())
    return {name: ActionEntry(name, slot, ACTIVE, columns) for slot, (name, columns) in named}


def change_actions(table: ActionTable, change: Mapping[str, Any], n_slots: int) -> ActionTable:
    """Return the table after a change (add, pause, resume or retire) that is possible."""
    name, verb = change["name"], change["change"]
    if verb == "add":
        return {**table, name: _new_action(table, change, n_slots)}
    if name not in table:
        raise NotFound(f"There is no action named {name!r}{guess_at(name, table)}")
    entry = table[name]
    if entry.state == RETIRED:
        raise Conflict(f"The action {name!r} is retired, which cannot be undone.")
    after = {"pause": PAUSED, "resume": ACTIVE, "retire": RETIRED}[verb]
    others = [one for one in table.values() if one.state == ACTIVE and one.name != name]
    if after != ACTIVE and not others:
        raise Conflict(f"The action {name!r} is the last active one, so it must stay active.")
    return {**table, name: replace(entry, state=after)}


def _new_action(table: ActionTable, change: Mapping[str, Any], n_slots: int) -> ActionEntry:
    name = change["name"]
    if name in table:
        raise Conflict(f"There is already an action named {name!r}, which is {table[name].state}.")
    if len(table) >= n_slots:
        raise Conflict(
            f"There is no slot left for the action {name!r}: the loop was created with "
            f"{n_slots} slots; `spare_actions` sets how many are kept for later."
        )
    return ActionEntry(name, len(table), ACTIVE, change.get("columns") or {})


class Encoder:
    """Turns contexts and actions of one loop into rows and masks."""

    def __init__(self, config: LoopConfig) -> None:
        self.n_slots = config.n_slots
        self._columns, self._action_columns = config.columns, config.action_columns
        self._width = sum(column.width for column in config.columns)
        self._action_width = sum(column.width for column in config.action_columns)

    @property
    def n_columns(self) -> int:
        """Length of a row, whose last column is constant: many policies have no intercept."""
        return self._width + self.n_slots * self._action_width + 1

    def encode(
        self,
        context: Mapping[str, Any],
        actions: Iterable[ActionEntry],
        sent: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> NDArray[np.float64]:
        """Return the row of a context; `sent` has columns of actions that came with a request."""
        row = np.zeros(self.n_columns)
        row[-1] = 1.0
        self.encode_context(context, row)
        if not self._action_width:
            if sent:
                raise InvalidArgument(
                    f"action_columns must be declared to send columns of actions, got {list(sent)}."
                )
            return row
        for action in actions:
            values = {**action.columns, **(sent or {}).get(action.name, {})}
            first = self._width + action.slot * self._action_width
            row[first : first + self._action_width] = _encode_values(self._action_columns, values)
        return row

    def encode_context(self, context: Mapping[str, Any], row: NDArray[np.float64]) -> None:
        """Write the columns of a context into their places of a row."""
        row[: self._width] = _encode_values(self._columns, context)

    def check_action_columns(self, columns: Mapping[str, Any]) -> None:
        """Refuse columns of an action that cannot be encoded."""
        if columns and not self._action_columns:
            raise InvalidArgument(
                f"action_columns must be declared to give an action columns, got {list(columns)}."
            )
        _encode_values(self._action_columns, columns)


def plain_context(context: Any) -> dict[str, Any]:
    """Return a context as it is stored: names and plain values.

    NaN is a missing value. Infinity, which JSON does not have, becomes the largest float, and so
    does a whole number that is larger than any float.
    """
    if not isinstance(context, Mapping):
        raise InvalidType(f"context must be a mapping of names to values, got {context!r}.")
    return {name: _plain_value(name, value) for name, value in context.items()}


def _plain_value(name: Any, value: Any) -> Any:
    if not isinstance(name, str):
        raise InvalidType(f"context must have names of text, got {name!r}.")
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, str | int | float | bool):
        raise InvalidType(f"{name} must be one number, flag or text, got {type(value).__name__}.")
    if isinstance(plain, float) and math.isnan(plain):
        return None
    if isinstance(plain, int | float) and abs(plain) > sys.float_info.max:
        return sys.float_info.max if plain > 0 else -sys.float_info.max
    if isinstance(plain, str) and not _is_unicode(plain):
        raise InvalidArgument(f"{name} must be valid Unicode, got {plain[:50]!r}.")
    return plain


def _is_unicode(text: str) -> bool:
    """Return whether a text can be written to a file; Python also has halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encode_values(columns: Sequence[LoopColumn], values: Mapping[str, Any]) -> list[float]:
    known = {column.name for column in columns}
    if not known.issuperset(values):
        table: Registry[LoopColumn] = Registry("column")
        for column in columns:
            table.add(column.name, column)
        for name in values:
            table[name]  # an unknown name is refused, and the nearest one is offered
    return [number for column in columns for number in column.encode(values.get(column.name))]


def make_mask(n_slots: int, slots: Iterable[int]) -> NDArray[np.bool_]:
    """Return which slots may be played."""
    mask = np.zeros(n_slots, dtype=bool)
    mask[list(slots)] = True
    return mask
