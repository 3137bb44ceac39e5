"""How do applications written for Azure Personalizer use a loop? With their requests as they are.

Rank, reward and activate have the paths, fields and statuses of version 1.0 of that service. Its
nested features become columns that are named by their path: `{"user": {"age": 31}}` is the column
`user.age`. Actions must be known to the loop; their features are the columns of the action.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from banditsrl.errors import InvalidArgument
from banditsrl.live_store.records import Decision
from banditsrl.web import bodies
from banditsrl.web.operations import Call, Operation

Features = Annotated[list[dict[str, Any]], Meta(max_length=1000)]
DEPTH = 10
"""Levels of nested features."""


class RankableAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action that may be played, with its features."""

    id: bodies.Name
    features: Features | None = None


class RankRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request to rank actions in a context."""

    actions: Annotated[list[RankableAction], Meta(min_length=1, max_length=1000)]
    context_features: Features | None = None
    excluded_actions: list[bodies.Name] | None = None
    event_id: bodies.Id | None = None
    defer_activation: bool | None = None


class RankedAction(msgspec.Struct, frozen=True):
    """An action and the probability with which it was played."""

    id: str
    probability: float


class RankAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The ranking; its first action is the one to show."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class RankReward(msgspec.Struct, frozen=True):
    """The reward of an event."""

    value: float | bool


def rank(call: Call) -> RankAnswer:
    """Rank actions."""
    body: RankRequest = call.body
    names = [action.id for action in body.actions]
    if len(set(names)) < len(names):
        raise InvalidArgument("actions must have different ids, got one of them twice.")
    excluded = set(body.excluded_actions or ())
    available = [name for name in names if name not in excluded]
    if not available:
        raise InvalidArgument("excludedActions must leave at least one action, got all of them.")
    columns = {a.id: flatten(a.features) for a in body.actions if a.features and a.id in available}
    decision = call.loops.find(call.query.loop).decide(
        flatten(body.context_features or ()),
        available=available,
        id=body.event_id,
        deferred=bool(body.defer_activation),
        actions=columns or None,
    )
    call.decisions.append(decision)
    return _order(decision, names)


def _order(decision: Decision, names: Iterable[str]) -> RankAnswer:
    """Return the action that was drawn, then the others by probability, excluded ones last."""

    def place(name: str) -> tuple[bool, bool, float]:
        return name != decision.action, name not in decision.pmf, -decision.pmf.get(name, 0.0)

    ranking = [RankedAction(n, decision.pmf.get(n, 0.0)) for n in sorted(names, key=place)]
    return RankAnswer(ranking=ranking, event_id=decision.id, reward_action_id=decision.action)


def reward_event(call: Call) -> None:
    """Report the reward of an event."""
    call.loops.find(call.query.loop).reward(call.path["eventId"], call.body.value)


def activate_event(call: Call) -> None:
    """Activate a deferred event."""
    call.loops.find(call.query.loop).activate(call.path["eventId"])


def flatten(features: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return nested features as columns.

    Example:
        >>> flatten([{"hour": 9}, {"user": {"age": 31, "plan": {"paid": True}}}])
        {'hour': 9, 'user.age': 31, 'user.plan.paid': True}
    """
    columns: dict[str, Any] = {}
    for part in features:
        _add(columns, "", part, DEPTH)
    return columns


def _add(columns: dict[str, Any], prefix: str, part: Mapping[str, Any], depth: int) -> None:
    if depth == 0:
        raise InvalidArgument(f"features must have at most {DEPTH} levels, got more.")
    for name, value in part.items():
        full = f"{prefix}{name}"
        if isinstance(value, dict):
            _add(columns, f"{full}.", value, depth - 1)
        elif full in columns and columns[full] != value:
            raise InvalidArgument(f"features must have one value each, got two for {full!r}.")
        else:
            columns[full] = value


ROOT = "/personalizer/v1.0"
EVENT = {"eventId": bodies.Id}

PERSONALIZER = (
    Operation(
        "POST",
        f"{ROOT}/rank",
        "decide",
        "Rank actions, as Azure Personalizer does.",
        rank,
        RankAnswer,
        RankRequest,
        bodies.LoopQuery,
        HTTPStatus.CREATED,
    ),
    Operation(
        "POST",
        f"{ROOT}/events/{{eventId}}/reward",
        "reward",
        "Report the reward of an event.",
        reward_event,
        None,
        RankReward,
        bodies.LoopQuery,
        HTTPStatus.NO_CONTENT,
        EVENT,
    ),
    Operation(
        "POST",
        f"{ROOT}/events/{{eventId}}/activate",
        "reward",
        "Activate a deferred event.",
        activate_event,
        None,
        None,
        bodies.LoopQuery,
        HTTPStatus.NO_CONTENT,
        EVENT,
    ),
)
"""The three calls of Azure Personalizer."""
