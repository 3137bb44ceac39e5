"""What can be read about a loop? One struct per view; the dashboard shows nothing else.

These answers contain contexts and results, so every one of them needs the scope `read`.
"""

from typing import Any

import msgspec

from banditsrl.web.bodies import DecideAnswer


class LoopView(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be read."""


class DecisionView(DecideAnswer, frozen=True, kw_only=True):
    """One decision, as the log holds it."""

    time: float
    context: dict[str, Any]
    available: list[str]
    shadow: str | None


class OutcomeView(LoopView, frozen=True, kw_only=True):
    """What became of a decision so far."""

    status: str  # waiting, deferred, settled or expired
    value: float | None
    settled_at: int | None  # position in the log
    time: float | None
    deadline: float | None


class DecisionDetail(LoopView, frozen=True, kw_only=True):
    """One decision and what became of it."""

    decision: DecisionView
    outcome: OutcomeView


class DecisionsView(LoopView, frozen=True, kw_only=True):
    """The latest decisions, newest first."""

    decisions: list[DecisionDetail]


class ExplanationView(LoopView, frozen=True, kw_only=True):
    """Why a decision was made, in sentences and in numbers."""

    decision: DecisionView
    outcome: OutcomeView
    predicted: dict[str, float | None]
    second: str | None
    sentences: list[str]


class TrustView(LoopView, frozen=True, kw_only=True):
    """What the certificates of a loop are worth."""

    loop: str
    sentence: str
    bound: float | None
    level: float | None
    n_certified: int
    n_audits: int
    cost: float | None
    withdrawn: bool
    reason: str
    since: int
    n_alarms: int
    informative: bool
    counts: dict[str, int]


class StatusView(LoopView, frozen=True, kw_only=True):
    """Where a loop stands."""

    loop: str
    position: int
    learned_position: int
    rounds: int
    waiting: int
    training: bool
    mode: str
    pinned: bool
    model: int
    learner: bool
    trouble: str


class LoopsView(LoopView, frozen=True, kw_only=True):
    """The loops of the service."""

    loops: list[StatusView]


class ModelView(LoopView, frozen=True, kw_only=True):
    """One version of the model."""

    version: int
    trained_at: int  # position in the log
    published_at: int
    time: float | None
    rounds: int
    build: str
    evaluation: dict[str, Any]
    current: bool


class ModelsView(LoopView, frozen=True, kw_only=True):
    """The versions of the model, oldest first."""

    loop: str
    models: list[ModelView]


class ActionView(LoopView, frozen=True, kw_only=True):
    """One action of a loop."""

    name: str
    state: str  # active, paused or retired
    slot: int
    columns: dict[str, Any]


class ActionsView(LoopView, frozen=True, kw_only=True):
    """The actions of a loop."""

    loop: str
    actions: list[ActionView]


class HistoryBin(LoopView, frozen=True, kw_only=True):
    """What happened in one interval of time; shares are shares of its decisions.

    `error` is the standard error of the mean reward, and `margin` half of its 95% interval.
    """

    time: float
    seconds: float
    decisions: int
    rewards: int
    mean: float | None
    error: float | None
    margin: float | None
    explored: float
    certified: float
    audited: float
    actions: dict[str, float]
    alarms: list[float]
    versions: list[int]


class HistoryView(LoopView, frozen=True, kw_only=True):
    """The past of a loop, in intervals."""

    loop: str
    bins: list[HistoryBin]


class LogView(LoopView, frozen=True, kw_only=True):
    """A part of the log."""

    loop: str
    records: list[dict[str, Any]]
