"""What are certificates worth, and why was an action played? In numbers and sentences."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from banditsrl.core.policy import Policy, State
from banditsrl.live.loop_queries import describe_outcome
from banditsrl.live_store.decision_rows import DecisionRow, to_decision, to_vector
from banditsrl.policies.watched import Watched
from banditsrl.selection.trust import Trust


@dataclass(frozen=True)
class LoopTrust(Trust):
    """What audits have shown about certified rounds, and how many rounds there were.

    Attributes:
        counts: Number of decisions, rewards, certified, audited and explored rounds.
    """

    counts: Mapping[str, int]

    def __str__(self) -> str:
        if not (self.n_audits or self.withdrawn or self.counts.get("certified")):
            return "No decision has been certified so far."
        return super().__str__()


def judge_trust(policy: Policy[Any], state: State, names: Mapping[int, str]) -> Trust:
    """Return what the certificates are worth; without audits nothing is known about them."""
    if isinstance(policy, Watched):
        return policy.trust(state, names)
    return Trust(
        bound=float("inf"),
        level=1.0,
        n_certified=0,
        n_audits=0,
        cost=0.0,
        withdrawn=False,
        reason="",
        since=0,
        n_alarms=0,
        informative=False,
    )


def explain_decision(row: DecisionRow, loop: str) -> dict[str, Any]:
    """Return why an action was played: what was predicted, what was second, how far from certain.

    Everything was written down when the decision was made, so the explanation stays true after the
    model has changed.
    """
    decision, predicted = to_decision(row, loop), predicted_rewards(row)
    ranked = sorted(predicted, key=lambda name: -predicted[name])
    others = [name for name in ranked if name != row.action]
    return {
        "decision": decision,
        "outcome": describe_outcome(row),
        "predicted": predicted,
        "second": others[0] if others else None,
        "sentences": [
            _say_why(row, ranked),
            *_say_predictions(row, predicted, others),
            _say_certainty(row),
            _say_source(row, decision.probability),
        ],
    }


def predicted_rewards(row: DecisionRow) -> dict[str, float]:
    """Return what was predicted for each available action; empty without a model."""
    if row.predicted is None:
        return {}
    slots, values = json.loads(row.available), to_vector(row.predicted)
    return {name: float(values[slot]) for name, slot in slots.items()}


def _say_source(row: DecisionRow, probability: float) -> str:
    return (
        f"It was drawn with probability {probability:.4g}, from model version {row.model}, which "
        f"had learned through position {row.known:,} of the log."
    )


def _say_why(row: DecisionRow, ranked: list[str]) -> str:
    if row.mode == "shadow":
        return f"The baseline played {row.action!r}; the policy would have played {row.shadow!r}."
    if row.audited:
        return f"The best action was certified, and {row.action!r} was played to check that."
    if row.certified:
        return f"The action {row.action!r} was certified to be the best."
    if row.explored:
        return f"The action {row.action!r} was played to explore."
    known = "predicted to be the best" if ranked else "chosen by the policy"
    return f"The action {row.action!r} was {known}, which was not certain."


def _say_predictions(row: DecisionRow, predicted: dict[str, float], others: list[str]) -> list[str]:
    if not predicted or not others:
        return []
    best, own = others[0], predicted[row.action]
    words = f"the best other action was {best!r} with {predicted[best]:.4g}"
    return [f"Its predicted reward was {own:.4g}; {words}."]


def _say_certainty(row: DecisionRow) -> str:
    if row.glr is None or row.threshold is None:
        return "The policy has no test that could certify an action here."
    verb = "exceeds" if row.glr > row.threshold else "does not exceed"
    return (
        f"The ratio of the test for the best action is {row.glr:.4g}, which {verb} its threshold "
        f"{row.threshold:.4g}."
    )
