"""What was asked for? A request to decide, checked before anything else happens."""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from banditsrl.arguments import flag
from banditsrl.errors import Conflict, InvalidArgument, InvalidType, NotFound
from banditsrl.live.encoder import ACTIVE, ActionEntry, ActionTable, plain_context
from banditsrl.live.loop_config import LoopConfig, check_name
from banditsrl.live_store.decision_rows import digest_request
from banditsrl.registry import guess_at

T = TypeVar("T")

FIELDS = ("context", "available", "id", "deferred", "baseline", "actions")
"""Fields of a request in a batch; the first one is required."""


@dataclass(frozen=True)
class DecideRequest:
    """A checked request; what depends on the present actions is checked by `pick_actions`."""

    id: str
    repeatable: bool  # the id was given, so the request may come again
    context: Mapping[str, Any]
    available: tuple[str, ...] | None
    deferred: bool
    baseline: str | None
    actions: Mapping[str, Mapping[str, Any]]
    digest: str


def read_request(
    context: Any,
    *,
    available: Iterable[str] | None = None,
    id: str | None = None,  # noqa: A002
    deferred: bool = False,
    baseline: str | None = None,
    actions: Mapping[str, Mapping[str, Any]] | None = None,
) -> DecideRequest:
    """Check the arguments of a request, and return them in their final types."""
    named = None if available is None else _read_names(available)
    values = plain_context(context)
    sent = {
        check_name("actions", name): plain_context(columns or {})
        for name, columns in _read_sent(actions).items()
    }
    if baseline is not None:
        check_name("baseline", baseline)
    asked = [values, None if named is None else sorted(named), deferred, baseline, sent]
    return DecideRequest(
        id=new_id() if id is None else check_name("id", id),
        repeatable=id is not None,
        context=values,
        available=named,
        deferred=flag("deferred", deferred),
        baseline=baseline,
        actions=sent,
        digest=digest_request(asked),
    )


def read_requests(requests: Sequence[Any]) -> list[DecideRequest]:
    """Return the requests of a batch, or say which of them is wrong."""
    return [read_item(n, one, read_request, FIELDS) for n, one in enumerate(requests, 1)]


def read_item(number: int, item: Any, read: Callable[..., T], fields: Sequence[str]) -> T:
    """Return what `read` makes of one item of a batch; an error names the item's number."""
    if not isinstance(item, Mapping):
        raise InvalidArgument(f"item {number} must be a mapping of names to values, got {item!r}.")
    for name in item:
        if name not in fields:
            guess = guess_at(name, fields)
            raise InvalidArgument(f"item {number} has an unknown field {name!r}{guess}")
    if fields[0] not in item:
        raise InvalidArgument(f"item {number} must have the field {fields[0]!r}, got {list(item)}.")
    try:
        return read(**item)
    except (InvalidArgument, InvalidType) as error:
        raise type(error)(f"item {number}: {error}") from None


def new_id() -> str:
    """Return a unique id; ids increase with time, which keeps database indexes compact."""
    return f"{int(time.time() * 1000):012x}{secrets.token_hex(10)}"


def pick_actions(table: ActionTable, names: Iterable[str] | None) -> list[ActionEntry]:
    """Return the available actions, in the order of their slots."""
    if names is None:
        return [entry for entry in table.values() if entry.state == ACTIVE]
    found = [_find_action(table, name) for name in names]
    return sorted(found, key=lambda entry: entry.slot)


def pick_baseline(config: LoopConfig, request: DecideRequest, actions: list[ActionEntry]) -> int:
    """Return the slot that the baseline plays."""
    name = request.baseline or config.baseline
    if name is None:
        raise InvalidArgument("baseline must be given in shadow mode, got none.")
    for action in actions:
        if action.name == name:
            return action.slot
    guess = guess_at(name, [action.name for action in actions])
    raise InvalidArgument(f"baseline must be an available action, got {name!r}{guess}")


def _find_action(table: ActionTable, name: str) -> ActionEntry:
    if name not in table:
        raise NotFound(f"There is no action named {name!r}{guess_at(name, table)}")
    entry = table[name]
    if entry.state != ACTIVE:
        raise Conflict(f"The action {name!r} is {entry.state}.")
    return entry


def _read_names(available: Any) -> tuple[str, ...]:
    if isinstance(available, str) or not isinstance(available, Iterable):
        raise InvalidType(f"available must be a list of actions, got {available!r}.")
    names = tuple(check_name("available", name) for name in available)
    if not names or len(set(names)) < len(names):
        raise InvalidArgument(
            f"available must be one or more different actions, got {list(names)[:10]}."
        )
    return names


def _read_sent(actions: Any) -> Mapping[str, Any]:
    if actions is None:
        return {}
    if not isinstance(actions, Mapping):
        raise InvalidType(f"actions must be a mapping of actions to columns, got {actions!r}.")
    return actions
