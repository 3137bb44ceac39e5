"""What would each target have earned on a log, and how good is the log for it?

One pass over the log collects the terms of all targets and the quality of the log together. A
number is given only where one can be: a target is refused if it plays what could not be played in
the log, and a log without propensities leaves only the direct method, with a warning.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.estimation.estimator_formulas import ESTIMATORS
from banditsrl.estimation.estimators import Estimate, estimate
from banditsrl.estimation.paired_comparison import compare, measure_disagreement
from banditsrl.estimation.reward_models import CrossFitted, fit_reward_model
from banditsrl.estimation.row_folds import fold_of
from banditsrl.estimation.target_terms import TargetTerms, join_terms, make_terms
from banditsrl.evaluation.gate_verdict import GateRule, GateVerdict
from banditsrl.evaluation.learned_targets import LearnedTarget
from banditsrl.evaluation.log_quality import LogQuality, QualityTally
from banditsrl.evaluation.promotion_gate import PromotionGate
from banditsrl.evaluation.quality_words import describe_overlap, doubt_gate, refuse_log
from banditsrl.evaluation.target_overlap import OverlapTally, TargetOverlap
from banditsrl.evaluation.targets import Target
from banditsrl.logs.log import Log, LogBatch

Floats = NDArray[np.float64]

DIRECT = "dm"
"""The only estimator that needs no propensities."""

NEED_A_MODEL = ("dm", "dr", "sndr", "switch-dr")

LOGGED = "logged"
"""Name of the policy that wrote the log, whose value is the mean of its rewards."""


@dataclass(frozen=True)
class TargetJudgement:
    """What a log says about one target.

    Attributes:
        name: Name of the target.
        estimates: Estimates by the name of the estimator; empty if all were refused.
        difference: Value of the target minus that of the reference, if there is one.
        overlap: How well the log covers it; None for a policy that was replayed.
        refusal: Why no weighted estimate is given, or None.
        warnings: What is wrong with the log for this target, one sentence each.
        notes: What a reader must know about the numbers, one sentence each.
    """

    name: str
    estimates: dict[str, Estimate] = field(default_factory=dict)
    difference: Estimate | None = None
    overlap: TargetOverlap | None = None
    refusal: str | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def contradiction(self) -> str | None:
        """A sentence if an interval at all times is empty, or None."""
        found = [*self.estimates.values(), *([] if self.difference is None else [self.difference])]
        if not any(one.always_empty for one in found):
            return None
        return (
            f"No value of {self.name} fits all rounds (its interval at all times is empty), so the "
            "propensities or the range of rewards are wrong."
        )


class LogJudge:
    """Collects everything about some targets in one pass, and draws the conclusions.

    Args:
        log: The log.
        targets: The targets, with different names.
        reference: Target to compare with, or None for the policy that wrote the log.
        model: Reward model, or None for estimators that need none.
        progress: Whether to show how far the log has been read.
    """

    def __init__(
        self,
        log: Log,
        targets: Sequence[Target],
        *,
        reference: Target | None = None,
        model: CrossFitted | None = None,
        progress: bool = False,
    ) -> None:
        self._targets, self._reference = list(targets), reference
        self._tally, self._model = QualityTally(log.schema), model
        everyone = [*self._targets, *([] if reference is None else [reference])]
        self._parts: list[list[TargetTerms]] = [[] for _ in everyone]
        self._logged: list[TargetTerms] = []
        self._disagreements: list[list[Floats]] = [[] for _ in targets]
        self._rows: list[NDArray[np.int64]] = []
        self._overlaps: list[OverlapTally] = []
        self._everyone = everyone
        for batch in log.batches(progress=progress):
            self._add(batch, log.schema.n_actions)
        if not self._logged:
            raise InvalidArgument(f"log must have at least one round, got none in {log.name}.")
        self.quality: LogQuality = self._tally.judge()
        self.logged = join_terms(self._logged)
        self.terms = [join_terms(part) for part in self._parts]

    def _add(self, batch: LogBatch, n_actions: int) -> None:
        members = self._tally.add(batch)
        if not self._overlaps:
            sizes = n_actions, members.shape[1]
            self._overlaps = [OverlapTally(target.name, *sizes) for target in self._everyone]
        self._rows.append(batch.rows)
        model = self._model
        predictions = None if model is None else model.predict(batch)
        earlier = None if model is None else model.predict_from_earlier(batch)
        pmfs = [target.pmf(batch) for target in self._everyone]
        for i, pmf in enumerate(pmfs):
            self._overlaps[i].add(batch, pmf, members)
            self._parts[i].append(_make_terms(batch, pmf, predictions, earlier))
        self._logged.append(_logged_terms(batch, predictions, earlier))
        against = batch.pmf if self._reference is None else pmfs[-1]
        if against is not None:
            for found, pmf in zip(self._disagreements, pmfs, strict=False):
                found.append(measure_disagreement(pmf, against))

    def judge(self, index: int, estimators: Sequence[str], **settings: Any) -> TargetJudgement:
        """Return what the log says about one target."""
        target, overlap = self._targets[index], self._tally.judge_target(self._overlaps[index])
        found = TargetJudgement(target.name, overlap=overlap)
        refusal = refuse_log(self.quality, overlap)
        warnings = tuple(describe_overlap(self.quality, overlap)) if refusal is None else ()
        if refusal is None:
            values = {
                name: self._limit(index, estimate(name, self.terms[index], **settings))
                for name in estimators
            }
            notes = self._explain(index, estimators)
            return replace(found, estimates=values, warnings=warnings, notes=notes)
        found = replace(found, refusal=refusal)
        if self.quality.n_missing != self.quality.n or self._model is None:
            return found
        blind = self.terms[index]._replace(weights=np.zeros_like(self.logged.weights))
        value = estimate(DIRECT, blind, level=settings["level"])
        return replace(found, estimates={DIRECT: value}, notes=self._explain(index, [DIRECT]))

    @property
    def reference_refusal(self) -> str | None:
        """Why nothing can be said about the reference, or None."""
        if self._reference is None:
            return None
        return refuse_log(self.quality, self._tally.judge_target(self._overlaps[-1]))

    def compare(self, index: int, name: str, **settings: Any) -> Estimate:
        """Return the value of a target minus that of the reference."""
        parts = self._disagreements[index]
        disagreement = np.concatenate(parts) if parts else None
        found = compare(
            self.terms[index], self._against, name=name, disagreement=disagreement, **settings
        )
        return self._limit(index, found)

    def _explain(self, index: int, estimators: Sequence[str]) -> tuple[str, ...]:
        """Return what the intervals of a target leave out."""
        notes = []
        if biased := [name for name in estimators if ESTIMATORS[name].biased]:
            names = " and ".join(biased)
            notes.append(f"The intervals of {names} leave out a bias that the log cannot show.")
        if isinstance(self._targets[index], LearnedTarget):
            notes.append(
                "A learned target has learned from later rows, too, so it has no interval at all "
                "times."
            )
        return tuple(notes)

    def _limit(self, index: int, found: Estimate) -> Estimate:
        """Drop the interval at all times if the target has learned from later rows."""
        if isinstance(self._targets[index], LearnedTarget):
            return replace(found, always_low=-np.inf, always_high=np.inf)
        return found

    @property
    def _against(self) -> TargetTerms:
        return self.logged if self._reference is None else self.terms[-1]

    def watch(
        self,
        gate: str | GateRule,
        *,
        reward_range: tuple[float, float],
        level: float,
        judged: TargetJudgement,
    ) -> GateVerdict:
        """Return whether a gate lets the first target, judged before, replace the reference."""
        target, terms = self._targets[0], self.terms[0]
        folds, n_folds = None, 1
        if isinstance(target, LearnedTarget):
            n_folds = len(target.folds)
            folds = fold_of(np.concatenate(self._rows), n_folds)
        watched = PromotionGate(gate, reward_range=reward_range, level=level, n_folds=n_folds)
        refusal = judged.refusal or self.reference_refusal
        if refusal is None:
            watched.add(terms.weights, self._against.weights, terms.rewards, folds)
        return watched.judge(refusal or self._doubt(judged))

    def _doubt(self, judged: TargetJudgement) -> str | None:
        """Return why the rounds refute what a gate assumes, or None."""
        tallies = [self._overlaps[0], *([] if self._reference is None else [self._overlaps[-1]])]
        doubts = (doubt_gate(self.quality, self._tally.judge_target(one)) for one in tallies)
        return next((doubt for doubt in doubts if doubt is not None), judged.contradiction)


def fit_model(log: Log, estimators: Sequence[str], *, kind: str, seed: int) -> CrossFitted | None:
    """Return the reward model that some of the estimators need, or None if none does."""
    for name in estimators:
        ESTIMATORS[name]  # an unknown name is refused before the log is read
    if not any(name in NEED_A_MODEL for name in estimators):
        return None
    return fit_reward_model(log, kind=kind, seed=seed)


def _make_terms(
    batch: LogBatch, pmf: Floats, predictions: Floats | None, earlier: Floats | None
) -> TargetTerms:
    """Return the terms of a batch; without propensities its weights mean nothing."""
    if not (batch.propensities > 0.0).all():
        batch = batch._replace(propensities=np.ones(len(pmf)), pmf=None)
    return make_terms(batch, pmf, predictions=predictions, earlier=earlier)


def _logged_terms(
    batch: LogBatch, predictions: Floats | None, earlier: Floats | None
) -> TargetTerms:
    """Return the terms of the policy that wrote the log: whatever the model, its rewards count."""
    played, ones = (np.arange(len(batch.rows)), batch.actions), np.ones(len(batch.rows))
    own = 0.0 * ones if predictions is None else predictions[played]
    past = None if earlier is None else earlier[played]
    return TargetTerms(
        weights=ones,
        rewards=batch.rewards,
        predicted_played=own,
        predicted_target=own,
        earlier_played=past,
        earlier_target=past,
    )
