"""What must a candidate fulfil to pass a gate? A rule, and a verdict in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditsrl.arguments import at_least
from banditsrl.errors import InvalidArgument

KINDS = ("better", "not-worse")

LEVEL = 0.05
"""Probability with which a candidate that is not good enough is ever let through."""


@dataclass(frozen=True)
class GateRule:
    """The condition: better than the current policy by a margin, or not worse by a margin."""

    kind: str
    margin: float

    @property
    def threshold(self) -> float:
        """What the lower bound of the difference must exceed."""
        return self.margin if self.kind == "better" else -self.margin

    def __str__(self) -> str:
        return f"{self.kind}:{self.margin:g}"


def read_gate(words: "str | GateRule") -> GateRule:
    """Return the rule that words such as "better:0.01" or "not-worse:0.02" describe."""
    if isinstance(words, GateRule):
        return words
    kind, _, margin = str(words).partition(":")
    if kind not in KINDS or not margin:
        raise InvalidArgument(
            f"gate must be better:MARGIN or not-worse:MARGIN, such as better:0.01, got {words!r}."
        )
    try:
        number = float(margin)
    except ValueError:
        raise InvalidArgument(f"margin must be a number, got {margin!r}.") from None
    return GateRule(kind, at_least("margin", number, 0.0))


@dataclass(frozen=True)
class GateVerdict:
    """Whether a candidate may replace the current policy, and why.

    Attributes:
        rule: The rule.
        level: Probability with which a candidate that is not good enough is ever let through.
        promoted: Whether the gate is open now.
        n: Rounds that were counted.
        difference: Estimated value of the candidate minus that of the current policy.
        low: Lower bound of it, which holds after every round.
        high: Upper bound of it, likewise; below the lower one if the assumptions do not hold.
        first_round: The round after which the gate was first open, or None.
        reward_range: Least and largest reward, which were known before.
        n_folds: Number of folds; with more than one, the verdict is valid for the whole log only.
        refusal: Why nothing can be said, or None.
    """

    rule: GateRule
    level: float
    promoted: bool
    n: int
    difference: float
    low: float
    high: float
    first_round: int | None
    reward_range: tuple[float, float]
    n_folds: int = 1
    refusal: str | None = None

    @property
    def _when(self) -> str:
        return (
            "at all times, "
            if self.n_folds == 1
            else f"a candidate for each of {self.n_folds} folds, "
        )

    @property
    def sentence(self) -> str:
        """The verdict for a person to read."""
        if self.refusal is not None:
            return f"The gate {self.rule} stays shut: {_continue(self.refusal)}"
        verb = "is open" if self.promoted else "stays shut"
        return (
            f"The gate {self.rule} {verb}: from {self.n:,} rounds the difference is estimated as "
            f"{self.difference:+.4g} and is at least {self.low:+.4g} ({self._when}with "
            f"probability {1 - self.level:.0%}), and the gate asks for more than "
            f"{self.rule.threshold:+g}."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON; a number that does not exist is null."""
        plain: dict[str, Any] = {**self.__dict__, "rule": str(self.rule)}
        plain["reward_range"], plain["sentence"] = list(self.reward_range), self.sentence
        for name in ("difference", "low", "high"):
            plain[name] = plain[name] if np.isfinite(plain[name]) else None
        return plain


def _continue(sentence: str) -> str:
    """Return a sentence as it reads after a colon; it may begin with the name of a target."""
    starts = ("The ", "No ", "Every ")
    return sentence[0].lower() + sentence[1:] if sentence.startswith(starts) else sentence
