"""May a candidate replace the current policy? Only if a bound that holds at all times says so.

In a round with reward r in [low, high], the candidate's weight w = pi(a) / p and the current
policy's weight v, the paired difference

    D = w (r - low) + v (high - r) - (high - low)

has, given the past, the mean value of the candidate minus that of the current policy. It is at
least -(high - low), however large the weights are, so that betting gives a lower bound on the
average of these means after every round (see `selection.confidence_sequence`, which the audits
use). If the current policy wrote the log, v = 1 and D = (w - 1) (r - low). The gate opens if the
bound is above the margin ("better") or above minus the margin ("not-worse"). A candidate that is
not that good is let through with probability at most `level`, even if the gate is asked after every
round, as often as anybody likes. No reward model takes part, so none can be wrong.

The same bet the other way round gives an upper bound. If it lies below the lower one, no difference
fits the rounds: propensities or the range of rewards are wrong, and the gate stays shut.

A candidate that learned from the other folds of the same log is another one in each fold. Then the
capital is shared between the folds, and the verdict is valid for the log as a whole: it refutes
that all of these candidates are not good enough.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import check_range, count, probability
from banditsrl.errors import InvalidArgument
from banditsrl.evaluation.gate_verdict import LEVEL, GateRule, GateVerdict, read_gate

Floats = NDArray[np.float64]


STAKES = 0.9 * 2.0 ** -np.arange(0.0, 15.0)
"""Shares of the capital that are bet, per spread of the rewards. The small ones are for candidates
that the log seldom agrees with, whose weights are seldom and large."""

N_HALVINGS = 50
"""Halvings of the interval in which the bound is sought."""

SLACK = 1e-9
"""Rounding that is tolerated before a reward counts as outside its range."""


class PromotionGate:
    """Watches a candidate, round after round.

    Args:
        rule: What is asked of the candidate, such as "better:0.01".
        reward_range: Least and largest reward, known before the first round.
        level: Probability with which a candidate that is not good enough is ever let through.
        n_folds: Number of folds, if the candidate is a different one in each fold of a log.

    Example:
        >>> gate = PromotionGate("better:0", reward_range=(0.0, 1.0))
        >>> verdict = gate.add(np.tile([2.0, 0.0], 100), np.ones(200), np.tile([1.0, 0.0], 100))
        >>> verdict.promoted, verdict.difference
        (True, 0.5)
    """

    def __init__(
        self,
        rule: str | GateRule,
        *,
        reward_range: tuple[float, float],
        level: float = LEVEL,
        n_folds: int = 1,
    ) -> None:
        self.rule, self.level = read_gate(rule), probability("level", level)
        self._low, self._high = check_range(reward_range)
        self._n = np.zeros(count("n_folds", n_folds))
        self._wealth = np.zeros((n_folds, len(STAKES)))
        self._against = np.zeros((n_folds, len(STAKES)))  # of bets that the candidate is worse
        self._sum, self._first = 0.0, 0

    def add(
        self,
        candidate: Floats,
        current: Floats,
        rewards: Floats,
        folds: NDArray[np.integer[Any]] | None = None,
    ) -> GateVerdict:
        """Add rounds and return the verdict after them.

        Args:
            candidate: (n,) weights of the candidate.
            current: (n,) weights of the current policy; ones if it wrote the log.
            rewards: (n,) rewards.
            folds: (n,) fold of each round; None if there is only one.
        """
        differences = self._compare(candidate, current, rewards)
        won, lost = self._bet(differences), self._bet(self._compare(current, candidate, rewards))
        self._note_first(won)
        for fold in range(len(self._n)):
            mine = slice(None) if folds is None else folds == fold
            self._n[fold] += len(won[mine])
            self._wealth[fold] += won[mine].sum(axis=0)
            self._against[fold] += lost[mine].sum(axis=0)
        self._sum += float(differences.sum())
        return self.judge()

    def _compare(self, candidate: Floats, current: Floats, rewards: Floats) -> Floats:
        """Return the paired differences, (n,)."""
        low, high = self._low, self._high
        outside = (rewards < low - SLACK) | (rewards > high + SLACK)
        if outside.any():
            raise InvalidArgument(
                f"rewards must lie between {low:g} and {high:g}, got {rewards[outside][0]:g}."
            )
        return candidate * (rewards - low) + current * (high - rewards) - (high - low)

    def _bet(self, differences: Floats) -> Floats:
        """Return the log of the factor by which each stake grows in each round, (n, stakes)."""
        shares = np.maximum(differences / (self._high - self._low), -1.0)  # rounding
        return np.log1p(np.multiply.outer(shares, STAKES))

    def _note_first(self, won: Floats) -> None:
        """Note the first round after which the gate is open, if there is one fold."""
        if self._first or len(self._n) > 1:
            return
        wealth = self._wealth[0] + np.cumsum(won, axis=0)
        n = self._n[0] + np.arange(1, len(won) + 1)
        is_open = self._evidence(n, wealth, self.rule.threshold) > -np.log(self.level)
        if is_open.any():
            self._first = int(n[np.argmax(is_open)])

    def _evidence(self, n: Floats, wealth: Floats, difference: float) -> Floats:
        """Return the log capital against a difference of at most this, for n and wealth (S, G).

        It is `evidence_against` of `selection.confidence_sequence`, without a compiled program:
        a gate is asked about many lengths of a log.
        """
        staked = np.log1p(STAKES * max(difference / (self._high - self._low), -1.0))
        capital = wealth - n[:, None] * staked
        largest = capital.max(axis=1, keepdims=True)
        return np.asarray(np.log(np.exp(capital - largest).mean(axis=1)) + largest[:, 0])

    def _is_refuted(self, wealth: Floats, difference: float) -> bool:
        """Return whether a difference of at most this is refuted; folds share the capital."""
        found = self._evidence(self._n, wealth, difference)
        return bool(np.logaddexp.reduce(found) - np.log(len(found)) > -np.log(self.level))

    def judge(self, refusal: str | None = None) -> GateVerdict:
        """Return the verdict after the rounds so far."""
        n = int(self._n.sum())
        low, high = self._find_bound(self._wealth), -self._find_bound(self._against)
        if refusal is None and low > high:
            refusal = (
                f"the difference would have to be at least {low:+.4g} and at most {high:+.4g}, "
                "so the propensities or the range of rewards are wrong."
            )
        return GateVerdict(
            rule=self.rule,
            level=self.level,
            promoted=refusal is None and n > 0 and self._is_good_enough,
            n=n,
            difference=self._sum / n if n else float("nan"),
            low=low,
            high=high,
            first_round=self._first or None,
            reward_range=(self._low, self._high),
            n_folds=len(self._n),
            refusal=refusal,
        )

    @property
    def _is_good_enough(self) -> bool:
        return self._is_refuted(self._wealth, self.rule.threshold)

    def _find_bound(self, wealth: Floats) -> float:
        """Return the largest difference that is refuted, up to rounding."""
        low, high = self._low - self._high, self._high - self._low
        for _ in range(N_HALVINGS if self._n.any() else 0):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._is_refuted(wealth, middle) else (low, middle)
        return low
