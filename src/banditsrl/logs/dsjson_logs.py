"""How is Vowpal Wabbit's dsjson read? One event per line, its actions in `_multi`.

| field | meaning |
|---|---|
| `_label_cost` | minus the reward; without it, the only outcome in `o` is the reward |
| `_label_Action`, `_labelIndex` | the action that was played, from 1 and from 0 |
| `_label_probability` | its propensity |
| `a`, `p` | all actions in their order, and the probability of each |
| `c` | the shared features, and those of each action in `_multi` |
| `_skipLearn` | the event is left out, and counted |
| `pdrop` | share of events that were dropped; it must be the same in all of them |

A deferred event must have been activated. Events with several slots are refused.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from banditsrl.errors import InvalidArgument
from banditsrl.logs.line_blocks import read_lines, read_object
from banditsrl.logs.log_options import LogOptions
from banditsrl.logs.row_source import RowSource
from banditsrl.logs.slot_events import (
    Event,
    RefusedEvent,
    SlotAction,
    SlotEvent,
    read_event_blocks,
)


def read_dsjson(path: Path, options: LogOptions) -> RowSource:
    """Return the log in a file of dsjson."""
    blocks = read_event_blocks(partial(_read_events, path), options)
    return RowSource(str(path), blocks, options, zero_if_missing=True)


def is_dsjson(line: bytes) -> bool:
    """Return whether a line looks like an event."""
    event, _ = read_object(line)
    return "c" in event and ("_label_cost" in event or "a" in event or "_outcomes" in event)


def _read_events(path: Path) -> Iterator[list[Event]]:
    reader = _EventReader()
    for first, lines in read_lines(path):
        full = [(first + at, line) for at, line in enumerate(lines) if line.strip()]
        yield [reader.read(number, line) for number, line in full]


class _EventReader:
    """Reads events one after the other, and remembers what they have in common."""

    def __init__(self) -> None:
        self._pdrop: float | None = None
        self._multi: Any = None  # of the event before, which is often the same
        self._actions: dict[int, SlotAction] = {}

    def read(self, number: int, line: bytes) -> Event:
        """Return the event in a line."""
        event, says = read_object(line)
        if says is not None:
            return RefusedEvent(number, says, is_defect=True)
        if event.get("_skipLearn") is True:
            return RefusedEvent(number, "_skipLearn says to leave the event out.", is_defect=False)
        try:
            _check_supported(event)
            self._check_dropped(event.get("pdrop", 0.0))
            return _read_event(number, event, self._read_actions(event))
        except InvalidArgument as error:
            return RefusedEvent(number, str(error), is_defect=True)

    def _check_dropped(self, pdrop: Any) -> None:
        if isinstance(pdrop, bool) or not isinstance(pdrop, int | float) or not 0.0 <= pdrop < 1.0:
            raise InvalidArgument(f"pdrop must be at least 0 and below 1, got {pdrop!r}.")
        if self._pdrop is None:
            self._pdrop = pdrop
        if pdrop != self._pdrop:
            raise InvalidArgument(
                f"pdrop must be the same in all events, got {pdrop:g} after {self._pdrop:g}."
            )

    def _read_actions(self, event: Mapping[str, Any]) -> dict[int, SlotAction]:
        found = event["c"].get("_multi") or []
        if found != self._multi:
            self._actions, self._multi = _read_multi(found), found
        return self._actions


def _check_supported(event: Mapping[str, Any]) -> None:
    """Refuse events that are not one decision with one reward."""
    context = event.get("c")
    for name, holder in (("_outcomes", event), ("_slots", context), ("_slots", event)):
        if isinstance(holder, dict) and name in holder:
            raise InvalidArgument(f"an event must have one slot, got several ({name}).")
    if not isinstance(context, dict):
        kind = "an outcome without its decision" if "RewardValue" in event else "none"
        raise InvalidArgument(f"an event must have a context `c`, got {kind}.")
    is_deferred = event.get("DeferredAction") is True or event.get("_deferred") is True
    if is_deferred and not any(_activates(outcome) for outcome in _list_outcomes(event)):
        raise InvalidArgument("a deferred event must have been activated, got one that was not.")


def _list_outcomes(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = event.get("o") or []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InvalidArgument(f"o must be a list of objects, got {found!r}.")
    return found


def _activates(outcome: Mapping[str, Any]) -> bool:
    """Return whether an outcome says that a deferred action was taken."""
    return outcome.get("ActionTaken") is True or outcome.get("DeferredAction") is False


def _read_event(number: int, event: Mapping[str, Any], actions: dict[int, SlotAction]) -> SlotEvent:
    order = event.get("a")
    if not actions and isinstance(order, list):
        actions = {at: SlotAction(None, {}) for at in range(len(order))}
    played = _read_label(event)
    if actions and played not in actions:
        raise InvalidArgument(f"_label_Action must be at most {len(actions)}, got {played + 1}.")
    pmf = _read_law(event, len(actions))
    propensity = event.get("_label_probability")
    if propensity is None and pmf is not None:
        propensity = pmf.get(played)
    shared: dict[str, Any] = {}
    _flatten("", event["c"], shared)
    return SlotEvent(number, shared, actions or None, played, _read_reward(event), propensity, pmf)


def _read_multi(found: Any) -> dict[int, SlotAction]:
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InvalidArgument(f"_multi must be a list of objects, got {found!r}.")
    actions = {}
    for at, one in enumerate(found):
        features: dict[str, Any] = {}
        _flatten("", one, features)
        tag = one.get("_tag")
        actions[at] = SlotAction(tag if isinstance(tag, str) else None, features)
    return actions


def _read_label(event: Mapping[str, Any]) -> int:
    """Return the number of the action that was played, from 0."""
    action, index, order = event.get("_label_Action"), event.get("_labelIndex"), event.get("a")
    if action is None and index is not None:
        action = index + 1 if isinstance(index, int) else index
    if action is None and isinstance(order, list) and order:
        action = order[0]
    if isinstance(action, bool) or not isinstance(action, int) or action < 1:
        got = "none" if action is None else repr(action)
        raise InvalidArgument(f"_label_Action must be a number from 1, got {got}.")
    if index is not None and index != action - 1:
        raise InvalidArgument(f"_labelIndex must be {action - 1}, got {index!r}.")
    return action - 1


def _read_reward(event: Mapping[str, Any]) -> Any:
    cost = event.get("_label_cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        return 0.0 - cost
    if cost is not None:
        raise InvalidArgument(f"_label_cost must be a number, got {cost!r}.")
    outcomes = [one["v"] for one in _list_outcomes(event) if "v" in one]
    if len(outcomes) > 1:
        raise InvalidArgument(
            f"an event without _label_cost must have one outcome, got {outcomes}."
        )
    return outcomes[0] if outcomes else None


def _read_law(event: Mapping[str, Any], n_actions: int) -> dict[int, Any] | None:
    order, law = event.get("a"), event.get("p")
    if not law:
        return None
    if not isinstance(order, list) or not isinstance(law, list) or len(order) != len(law):
        raise InvalidArgument(f"a and p must be lists of one length, got {order!r} and {law!r}.")
    known = {int(one) - 1: p for one, p in zip(order, law, strict=True) if isinstance(one, int)}
    if len(known) < len(law) or any(not 0 <= at < n_actions for at in known):
        raise InvalidArgument(f"a must hold different numbers from 1 to {n_actions}, got {order}.")
    return known


def _flatten(prefix: str, features: Mapping[str, Any], found: dict[str, Any]) -> None:
    """Collect features under the names of the namespaces that hold them."""
    for name, value in features.items():
        if name.startswith("_") and name != "_text":
            continue
        full = f"{prefix}.{name}" if prefix else name
        kind = type(value)
        if kind is dict:
            _flatten(full, value, found)
        elif kind is list:
            _flatten_list(full, value, found)
        elif value is not None:
            found[full] = value


def _flatten_list(prefix: str, values: list[Any], found: dict[str, Any]) -> None:
    for at, value in enumerate(values):
        if isinstance(value, dict):
            _flatten(prefix, value, found)
        elif isinstance(value, list):
            _flatten_list(f"{prefix}[{at}]", value, found)
        elif isinstance(value, str):
            found[f"{prefix}={value}"] = True
        elif value is not None:
            found[f"{prefix}[{at}]"] = value
