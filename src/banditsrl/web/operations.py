"""Which requests does the service answer? A table: method, path, scope, shapes, and what is called.

The application and `/openapi.json` are both made from this table, so they cannot disagree.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import msgspec

from banditsrl.live_store.records import Decision, Settlement
from banditsrl.web import bodies
from banditsrl.web.loops import Loops
from banditsrl.web.refusals import refuse


@dataclass(frozen=True)
class Call:
    """One request, decoded and allowed."""

    loops: Loops
    body: Any = None
    query: Any = None
    path: dict[str, Any] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)  # that it has made, for the metrics


@dataclass(frozen=True)
class Operation:
    """One thing that the service does.

    Attributes:
        method: GET or POST.
        path: The path, with names of parameters in braces.
        scope: The scope that a token must have; None if everybody may.
        summary: One sentence for the description.
        run: Carries it out.
        answer: Type of the answer; None if there is none.
        body: Type of the body; None if there is none.
        query: Type of the query parameters.
        status: Status of a successful answer.
        path_types: Type of each parameter of the path.
        media: Type of an answer that is not JSON.
    """

    method: str
    path: str
    scope: str | None
    summary: str
    run: Callable[[Call], Any]
    answer: Any
    body: Any = None
    query: type[msgspec.Struct] | None = None
    status: int = HTTPStatus.OK
    path_types: dict[str, Any] = field(default_factory=dict)
    media: str | None = None
    asks_store: bool = False  # what needs no token is answered at once, unless it asks a store

    @property
    def name(self) -> str:
        """Name in the description and in the metrics."""
        return self.run.__name__


def decide(call: Call) -> bodies.DecideAnswer:
    """Decide once."""
    body: bodies.DecideBody = call.body
    made = call.loops.find(body.loop).decide(body.context, **_options(body))
    call.decisions.append(made)
    return bodies.DecideAnswer.describe(made)


def decide_batch(call: Call) -> bodies.DecideBatchAnswer:
    """Decide several times."""
    body: bodies.DecideBatch = call.body
    loop = call.loops.find(body.loop)
    wanted = [{"context": item.context, **_options(item)} for item in body.decisions]
    made = loop.decide_many(wanted)
    call.decisions.extend(made)
    return bodies.DecideBatchAnswer([bodies.DecideAnswer.describe(each) for each in made])


def _options(item: bodies.DecideItem) -> dict[str, Any]:
    return {
        "available": item.available,
        "id": item.id,
        "deferred": item.deferred,
        "baseline": item.baseline,
        "actions": item.actions,
    }


def reward(call: Call) -> bodies.SettlementAnswer:
    """Report a reward."""
    body: bodies.RewardBody = call.body
    return _describe(call.loops.find(body.loop).reward(body.id, body.value, key=body.key))


def reward_batch(call: Call) -> bodies.RewardBatchAnswer:
    """Report several rewards."""
    body: bodies.RewardBatch = call.body
    given = [{"id": item.id, "value": item.value, "key": item.key} for item in body.rewards]
    found = call.loops.find(body.loop).try_rewards(given)
    pairs = zip(body.rewards, found, strict=True)
    return bodies.RewardBatchAnswer([_describe_one(item.id, each) for item, each in pairs])


def _describe_one(decision: str, found: Settlement | Exception) -> bodies.RewardItemAnswer:
    if isinstance(found, Exception):
        refusal = refuse(found)
        return bodies.RewardItemAnswer(decision, False, str(refusal), refusal.status)
    return bodies.RewardItemAnswer(found.id, found.counted, found.reason, HTTPStatus.OK)


def activate(call: Call) -> bodies.SettlementAnswer:
    """Activate a deferred decision."""
    body: bodies.ActivateBody = call.body
    return _describe(call.loops.find(body.loop).activate(body.id))


def _describe(settlement: Settlement) -> bodies.SettlementAnswer:
    return bodies.SettlementAnswer(settlement.id, settlement.counted, settlement.reason)


DECIDING = (
    Operation(
        "POST",
        "/v1/decide",
        "decide",
        "Ask for one decision.",
        decide,
        bodies.DecideAnswer,
        bodies.DecideBody,
    ),
    Operation(
        "POST",
        "/v1/decide/batch",
        "decide",
        "Ask for several decisions.",
        decide_batch,
        bodies.DecideBatchAnswer,
        bodies.DecideBatch,
    ),
    Operation(
        "POST",
        "/v1/reward",
        "reward",
        "Report the reward of a decision.",
        reward,
        bodies.SettlementAnswer,
        bodies.RewardBody,
    ),
    Operation(
        "POST",
        "/v1/reward/batch",
        "reward",
        "Report the rewards of several decisions.",
        reward_batch,
        bodies.RewardBatchAnswer,
        bodies.RewardBatch,
    ),
    Operation(
        "POST",
        "/v1/activate",
        "reward",
        "Say that a deferred decision was shown.",
        activate,
        bodies.SettlementAnswer,
        bodies.ActivateBody,
    ),
)
"""Deciding and learning. The other operations are in `reading.py`, `managing.py`, and so on."""
