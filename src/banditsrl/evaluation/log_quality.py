"""Is a log good enough to judge a policy that did not write it?

One pass over the log counts its plays by action and segment, looks for propensities that are
missing, zero or one, and tests whether they fit the plays. `quality_words.py` says in sentences
what follows from it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.evaluation.calibration import CERTAIN, LEVEL, PlayedTally, PmfTally, PropensityFit
from banditsrl.evaluation.quality_words import describe_overlap, describe_quality, refuse_log
from banditsrl.evaluation.segments import (
    Segment,
    assign_segments,
    choose_segments,
    head_of,
)
from banditsrl.evaluation.target_overlap import NEVER, OverlapTally, TargetOverlap
from banditsrl.logs.log import LogBatch, LogSchema

if TYPE_CHECKING:
    from banditsrl.evaluation.targets import Target
    from banditsrl.logs.log import Log


@dataclass(frozen=True)
class LogQuality:
    """What a log can be used for.

    Attributes:
        n: Number of rounds.
        actions: Names of the actions.
        counts: (A,) logged plays of every action.
        smallest: (A,) smallest positive propensity of every action, as far as logged; else nan.
        segments: Segments of the columns that separate the actions most.
        segment_counts: (S, A) logged plays of every action in every segment.
        n_missing: Rounds without a propensity.
        n_zero: Rounds whose played action has a propensity of zero.
        n_certain: Rounds whose played action has a propensity of one.
        n_certified: Rounds that a certificate decided; None if that is not logged.
        n_unaudited: Certified rounds in which no audit could happen, since the propensity is one.
        n_audited: Rounds that were audits; None if that is not logged.
        mean_reward: Mean reward.
        reward_range: Least and largest reward.
        first_missing: Row of the first round without a propensity, or 0.
        first_zero: Row of the first round with a propensity of zero, or 0.
        fit: Whether the propensities fit the plays.
        overlap: How well the log covers the target, if one was given.
    """

    n: int
    actions: tuple[str, ...]
    counts: tuple[int, ...]
    smallest: tuple[float, ...]
    segments: tuple[Segment, ...]
    segment_counts: tuple[tuple[int, ...], ...]
    n_missing: int
    n_zero: int
    n_certain: int
    n_certified: int | None
    n_unaudited: int
    n_audited: int | None
    mean_reward: float
    reward_range: tuple[float, float]
    first_missing: int
    first_zero: int
    fit: PropensityFit
    overlap: TargetOverlap | None = None

    @property
    def problems(self) -> list[str]:
        """What is wrong with the log, one sentence each, the most serious first."""
        found = describe_quality(self)
        return found if self.overlap is None else [*found, *describe_overlap(self, self.overlap)]

    @property
    def refusal(self) -> str | None:
        """Why no number can be given, or None."""
        return refuse_log(self, self.overlap)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON."""
        plain = {
            **self.__dict__,
            "counts": dict(zip(self.actions, self.counts, strict=True)),
            "smallest": {
                name: None if np.isnan(value) else value
                for name, value in zip(self.actions, self.smallest, strict=True)
            },
            "segments": [segment.label for segment in self.segments],
            "segment_counts": [list(row) for row in self.segment_counts],
            "fit": {**self.fit.__dict__, "rejected": self.fit.rejected},
            "overlap": None if self.overlap is None else self.overlap.as_dict(),
            "problems": self.problems,
            "refusal": self.refusal,
        }
        return {**plain, "actions": list(self.actions), "reward_range": list(self.reward_range)}


class QualityTally:
    """Adds up a log, batch by batch."""

    def __init__(self, schema: LogSchema, level: float = LEVEL) -> None:
        self._schema, self._level = schema, level
        self.segments: tuple[Segment, ...] = ()
        self.n = 0
        self._counts = np.zeros((1, schema.n_actions))  # (1 + S, A) plays: in all, and by segment
        self._smallest = np.full(schema.n_actions, np.inf)
        self._tests: tuple[PmfTally | PlayedTally, ...] = ()
        self._seen: dict[str, int] = {}
        self._rewards = [0.0, np.inf, -np.inf]  # sum, least, largest

    def add(self, batch: LogBatch) -> NDArray[np.bool_]:
        """Add rounds; return which segments they belong to, (n, S)."""
        n_head = 0
        if self.n == 0:
            n_head = head_of(batch)
            self._begin(batch)
        members = assign_segments(batch.contexts, self.segments)
        self.n += len(batch.actions)
        self._count(batch, members)
        tested = members.copy()
        tested[:n_head] = False  # the segments were chosen from these rounds
        if not np.isnan(batch.propensities).any() and (batch.propensities > NEVER).all():
            for test in self._tests:
                test.add(batch, tested)
        return members

    def _begin(self, batch: LogBatch) -> None:
        self.segments = choose_segments(batch, self._schema)
        labels = tuple(segment.label for segment in self.segments)
        self._counts = np.zeros((1 + len(labels), self._schema.n_actions))
        kind = PlayedTally if batch.pmf is None else PmfTally
        self._tests = (kind(self._schema.n_actions, labels),)

    def _count(self, batch: LogBatch, members: NDArray[np.bool_]) -> None:
        n_actions = self._schema.n_actions
        everywhere = np.ones((len(members), 1), dtype=bool)
        for row, chosen in enumerate(np.concatenate([everywhere, members], axis=1).T):
            self._counts[row] += np.bincount(batch.actions[chosen], minlength=n_actions)
        self._note_propensities(batch)
        certain = batch.propensities >= CERTAIN
        self._note("certain", certain, batch)
        if batch.certified is not None:
            self._note("certified", batch.certified, batch)
            self._note("unaudited", batch.certified & certain, batch)
        if batch.audited is not None:
            self._note("audited", batch.audited, batch)
        total, least, largest = self._rewards
        low, high = batch.rewards.min(initial=np.inf), batch.rewards.max(initial=-np.inf)
        total += float(batch.rewards.sum())
        self._rewards = [total, min(least, float(low)), max(largest, float(high))]

    def _note_propensities(self, batch: LogBatch) -> None:
        missing = np.isnan(batch.propensities)
        self._note("missing", missing, batch)
        self._note("zero", ~missing & (batch.propensities <= NEVER), batch)
        if batch.pmf is not None:
            positive = np.where(batch.pmf > NEVER, batch.pmf, np.inf)
            self._smallest = np.minimum(self._smallest, positive.min(axis=0, initial=np.inf))
            return
        usable = np.where(missing | (batch.propensities <= NEVER), np.inf, batch.propensities)
        np.minimum.at(self._smallest, batch.actions, usable)

    def _note(self, what: str, where: NDArray[np.bool_], batch: LogBatch) -> None:
        """Count rounds of a kind, and keep the row of the first one."""
        self._seen[what] = self._seen.get(what, 0) + int(where.sum())
        if where.any():
            self._seen.setdefault(f"first {what}", int(batch.rows[np.argmax(where)]))

    def judge(self, overlap: TargetOverlap | None = None) -> LogQuality:
        """Return the quality of what was added."""
        seen = self._seen
        propensities_known = self.n and not seen["missing"] and not seen["zero"]
        fit = self._tests[0].judge(self._level) if propensities_known else PropensityFit("nothing")
        total, least, largest = self._rewards
        return LogQuality(
            n=self.n,
            actions=self._schema.actions,
            counts=tuple(self._counts[0].astype(int).tolist()),
            smallest=tuple(np.where(np.isinf(self._smallest), np.nan, self._smallest).tolist()),
            segments=self.segments,
            segment_counts=tuple(tuple(row) for row in self._counts[1:].astype(int).tolist()),
            n_missing=seen.get("missing", 0),
            n_zero=seen.get("zero", 0),
            n_certain=seen.get("certain", 0),
            n_certified=seen.get("certified"),
            n_unaudited=seen.get("unaudited", 0),
            n_audited=seen.get("audited"),
            mean_reward=total / max(self.n, 1),
            reward_range=(least, largest) if self.n else (0.0, 0.0),
            first_missing=seen.get("first missing", 0),
            first_zero=seen.get("first zero", 0),
            fit=fit,
            overlap=overlap,
        )

    def judge_target(self, tally: OverlapTally) -> TargetOverlap:
        """Return how well the log covers a target."""
        places = tuple((segment.column, segment.label) for segment in self.segments)
        return tally.judge(self._counts, self._schema.actions, places)


def examine_log(
    log: "Log", target: "Target | None" = None, *, level: float = LEVEL, progress: bool = False
) -> LogQuality:
    """Say what a log can be used for, and how well it covers a target.

    Args:
        log: The log, which is read once.
        target: A policy that should be judged from the log.
        level: Probability with which right propensities are called wrong.
        progress: Whether to show how far the log has been read.
    """
    tally = QualityTally(log.schema, level)
    overlap: OverlapTally | None = None
    for batch in log.batches(progress=progress):
        members = tally.add(batch)
        if target is not None:
            if overlap is None:
                overlap = OverlapTally(target.name, log.schema.n_actions, members.shape[1])
            overlap.add(batch, target.pmf(batch), members)
    return tally.judge(None if overlap is None else tally.judge_target(overlap))
