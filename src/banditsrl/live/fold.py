"""What does a loop know at a position of its log? A fold of the records up to there, and no more.

`Fold.apply` reads no clock, no store and no random source: every process that applies the same
records gets the same state, bit for bit on one build. A decision changes nothing. A round is
learned at the record that settles it. A training starts from the state at its `training` record;
when it is published, the rounds learned since then are learned again by the new model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from banditsrl.core.phases import next_phase_end
from banditsrl.core.policy import Policy, State
from banditsrl.errors import LoopError
from banditsrl.live.encoder import ActionTable, change_actions, first_actions
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live.programs import LearnedRound, Programs
from banditsrl.policies.watched import Watched


class LogRecord(NamedTuple):
    """A record of the log, and the round that is learned at it, if one is."""

    position: int
    kind: str
    time: float
    id: str | None
    body: Mapping[str, Any]
    learned: LearnedRound | None = None


class _Chain(NamedTuple):
    """Rounds, the newest first; a longer chain shares its tail with a shorter one."""

    newest: LearnedRound
    before: "_Chain | None"


@dataclass(frozen=True)
class PendingTraining:
    """A training that has started and is not published."""

    position: int
    rounds: int
    state: State
    erased: int  # position of the last erasure before it
    since: _Chain | None = None
    anew: bool = False  # all rounds are learned again, even those that the state knows

    def rounds_since(self) -> list[LearnedRound]:
        """Return the rounds that were learned after the training started, in their order."""
        found, chain = [], self.since
        while chain is not None:
            found.append(chain.newest)
            chain = chain.before
        return found[::-1]


ModelSource = Callable[[int, PendingTraining | None], State]
"""Gives the state of a model version right after its training: from the store, or by training."""


@dataclass(frozen=True)
class Fold:
    """What a loop knows after the record at `position`."""

    state: State
    actions: ActionTable
    mode: str
    position: int = 0
    revision: int = 0  # position of the last change of actions or settings
    rounds: int = 0  # rounds learned
    model: int = 0
    trained: int = 0  # rounds at the start of the last training that was finished
    erased: int = 0  # position of the last erasure
    pinned: bool = False  # an older version was put back, so nothing is trained
    anew: bool = False  # training was resumed after that; the next one learns all rounds again
    pending: PendingTraining | None = None

    def apply(self, record: LogRecord, programs: Programs, models: ModelSource) -> "Fold":
        """Return what is known after one more record."""
        after = replace(self, position=record.position)
        if record.learned is not None:
            return after._learn(record.learned, programs)
        body = record.body
        if record.kind == "actions":
            table = change_actions(self.actions, body, programs.n_slots)
            return replace(after, actions=table, revision=record.position)
        if record.kind == "settings":
            mode, pinned = body.get("mode", self.mode), body.get("pinned", self.pinned)
            anew = self.anew or (self.pinned and not pinned and body.get("anew", False))
            after = replace(after, mode=mode, pinned=pinned, anew=anew)
            return replace(after, revision=record.position)
        if record.kind == "erasure":
            after = replace(after, erased=record.position)
        if record.kind in ("training", "unchanged", "abandoned", "published"):
            return after._train(record, programs, models)
        if record.kind == "promoted":
            return after._put_back(body["version"], programs.policy, models)
        return after

    def _learn(self, one: LearnedRound, programs: Programs) -> "Fold":
        pending = self.pending
        if pending is not None:
            pending = replace(pending, since=_Chain(one, pending.since))
        state = programs.learn(self.state, one)
        return replace(self, state=state, rounds=self.rounds + 1, pending=pending)

    def _train(self, record: LogRecord, programs: Programs, models: ModelSource) -> "Fold":
        if record.kind == "training":
            pending = PendingTraining(record.position, self.rounds, self.state, self.erased)
            return replace(self, pending=replace(pending, anew=self.anew))
        pending_now = self.pending
        if pending_now is None or pending_now.position != record.body["trained_at"]:
            raise LoopError(
                f"The log is damaged: the record at {record.position} ends a training that has "
                "not started."
            )
        if record.kind == "abandoned":
            return replace(self, pending=None)
        ended = replace(self, pending=None, trained=pending_now.rounds, anew=False)
        if record.kind == "unchanged":
            return ended
        state = models(record.body["version"], pending_now)
        for one in pending_now.rounds_since():
            state = programs.learn(state, one)
        return replace(ended, state=state, model=record.body["version"])

    def _put_back(self, version: int, policy: Policy[Any], models: ModelSource) -> "Fold":
        """Return the fold with an older model; what the audits have shown is kept."""
        state = models(version, None)
        if isinstance(policy, Watched):
            state = self.state._replace(inner=state.inner, n_refreshed=state.n_refreshed)
        return replace(self, state=state, model=version, pinned=True, anew=False, pending=None)

    def wants_training(self, policy: Policy[Any]) -> bool:
        """Return whether a phase has ended since the last training, or trainings were resumed."""
        growth = policy.phase_growth
        if self.pinned or self.mode == "frozen" or self.rounds == 0:
            return False
        if self.anew or growth is None:
            return self.anew
        return next_end_after(growth, self.trained, policy.longest_phase) <= self.rounds


def first_fold(config: LoopConfig, programs: Programs) -> Fold:
    """Return what is known at the record `created`."""
    return Fold(programs.start(), first_actions(config), config.mode, position=1, revision=1)


def next_end_after(growth: float, step: int, longest: int | None) -> int:
    """Return the first phase end after a step, whether or not a phase ends at that step."""
    end = next_phase_end(growth, 1)
    while end <= step:
        following = next_phase_end(growth, end)
        if longest is not None and following - end >= longest:
            return end + longest * ((step - end) // longest + 1)
        end = following
    return end
