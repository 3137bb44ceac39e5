"""What do requests and answers look like? One struct each; `/openapi.json` is made from them.

A request is decoded straight into its struct, which checks types strictly and refuses fields that
it does not know, so that a misspelt one is noticed. A float in an answer may be null where the
number is infinite or unknown, because JSON has neither.
"""

from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from banditsrl.live_store.records import CertificateEvidence, Decision

BATCH = 1000
"""Number of decisions or rewards in one request."""

Name = Annotated[str, Meta(min_length=1, max_length=200)]
# In Python "$" also matches before a final line break, which the lookahead excludes.
PRINTABLE = r"^[^\u0000-\u001f\u007f-\u009f]+(?!\n)$"
Id = Annotated[str, Meta(min_length=1, max_length=200, pattern=PRINTABLE)]
Value = bool | int | float | str | None
Columns = Annotated[dict[str, Value], Meta(max_length=2000)]


class StrictBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=False):
    """A request whose fields are all known."""


class DecideItem(StrictBody, frozen=True, kw_only=True):
    """One decision that is asked for.

    `available` names the actions that may be played, by default all. A request that is repeated
    with the same `id` gets the same answer. A `deferred` decision counts once it is activated.
    `baseline` is the action that is played in shadow mode, and `actions` gives columns of actions.
    """

    context: Columns
    available: Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None = None
    id: Id | None = None
    deferred: bool = False
    baseline: Name | None = None
    actions: Annotated[dict[str, Columns], Meta(max_length=1000)] | None = None


class DecideBody(DecideItem, frozen=True, kw_only=True):
    """One decision that is asked for; `loop` may be left out where there is one loop only."""

    loop: Name | None = None


class DecideBatch(StrictBody, frozen=True, kw_only=True):
    """Several decisions, made in this order. Where one is refused, all are."""

    decisions: Annotated[list[DecideItem], Meta(min_length=1, max_length=BATCH)]
    loop: Name | None = None


class RewardItem(StrictBody, frozen=True, kw_only=True):
    """A reward for a decision; true counts as 1 and false as 0.

    A request that is repeated with the same `key` counts once.
    """

    id: Id
    value: float | bool
    key: Id | None = None


class RewardBody(RewardItem, frozen=True, kw_only=True):
    """A reward for a decision of a loop."""

    loop: Name | None = None


class RewardBatch(StrictBody, frozen=True, kw_only=True):
    """Several rewards, each on its own: one that is refused does not stop the others."""

    rewards: Annotated[list[RewardItem], Meta(min_length=1, max_length=BATCH)]
    loop: Name | None = None


class ActivateBody(StrictBody, frozen=True, kw_only=True):
    """A deferred decision that was shown, and so counts from now on."""

    id: Id
    loop: Name | None = None


class ActionBody(StrictBody, frozen=True, kw_only=True):
    """An action of a loop."""

    name: Name
    loop: Name | None = None


class NewActionBody(ActionBody, frozen=True, kw_only=True):
    """An action to add, with the values of its columns where the loop declares some."""

    columns: Columns | None = None


class ModeBody(StrictBody, frozen=True, kw_only=True):
    """The mode of a loop: learn, shadow or frozen."""

    mode: Name
    loop: Name | None = None


class EraseBody(StrictBody, frozen=True, kw_only=True):
    """Whose contexts are erased: those of `ids`, or those with this `value` in a `column`."""

    ids: Annotated[list[Name], Meta(min_length=1, max_length=BATCH)] | None = None
    column: Name | None = None
    value: Value | msgspec.UnsetType = msgspec.UNSET
    loop: Name | None = None


class LoopQuery(StrictBody, frozen=True, kw_only=True):
    """Which loop is meant."""

    loop: Name | None = None


class LastQuery(LoopQuery, frozen=True, kw_only=True):
    """How many of the latest decisions are wanted."""

    last: Annotated[int, Meta(ge=1, le=BATCH)] = 50


class BinsQuery(LoopQuery, frozen=True, kw_only=True):
    """Into how many intervals the past is divided."""

    bins: Annotated[int, Meta(ge=1, le=1000)] = 200


class LogQuery(LoopQuery, frozen=True, kw_only=True):
    """Which part of the log is wanted."""

    after: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=BATCH)] = BATCH


class DecideAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One decision. It does not repeat the context, so it shows nothing that was not sent."""

    id: str
    loop: str
    action: str
    probability: float
    pmf: dict[str, float]
    model: int
    position: int
    certificate: CertificateEvidence
    audit: bool
    explored: bool
    deferred: bool
    mode: str

    @classmethod
    def describe(cls, decision: Decision) -> Self:
        """Return what this struct shows of a decision."""
        return msgspec.convert(decision, cls, from_attributes=True)


class DecideBatchAnswer(msgspec.Struct, frozen=True):
    """The decisions of a batch, in its order."""

    decisions: list[DecideAnswer]


class SettlementAnswer(msgspec.Struct, frozen=True):
    """What became of a reward or an activation."""

    id: str
    counted: bool
    reason: str


class RewardItemAnswer(SettlementAnswer, frozen=True):
    """What became of one reward of a batch; the status is the one that it would have had alone."""

    status: int


class RewardBatchAnswer(msgspec.Struct, frozen=True):
    """What became of the rewards of a batch, in its order."""

    rewards: list[RewardItemAnswer]


class StateAnswer(msgspec.Struct, frozen=True):
    """Whether the service is alive, or ready."""

    ok: bool
    state: str


class DoneAnswer(msgspec.Struct, frozen=True):
    """A change that was carried out."""

    loop: str
    done: str


class EraseAnswer(DoneAnswer, frozen=True):
    """How many contexts were erased."""

    erased: int


Document = dict[str, Any]
