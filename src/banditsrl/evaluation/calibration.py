"""Do the logged propensities fit how often actions were played? A test that holds at any time.

If the whole distribution p of a round is logged, 1{a = k} - p_k has mean zero given the past. With
the sum S of these numbers over some rounds, V = sum of p_k (1 - p_k), and any l > 0,

    exp(l S - V (exp(l) - 1 - l))

is a supermartingale by Bennett's inequality, and so is the same with -S. If only the propensity p
of the played action is logged, Z = 1{a = k} / p has mean one in rounds in which action k could be
played, so that products of 1 + l (Z - 1), and of 1 + l (1 - Z) where they are positive, are
martingales. The last ones need propensities that are never below the smallest logged one.

Each of these numbers starts at one. Their average over bets l, actions, groups of rounds and both
directions is again a supermartingale, and by Ville's inequality it ever exceeds 1 / level with
probability at most `level` if the propensities are right.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from banditsrl.logs.log import LogBatch

Floats = NDArray[np.float64]

CERTAIN = 1.0 - 1e-9
"""From here on a propensity counts as one: no other action could be played."""

LEVEL = 0.01
"""Probability with which right propensities are called wrong."""

LARGE_BETS = 2.0 ** -np.arange(0, 14)
"""The bets l where whole distributions are logged."""

PLAYED_BETS = 2.0 ** -np.arange(1, 15)
"""The bets l for propensities of played actions; all are below one."""

BIN_EDGES = np.array([0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9])
"""Propensities of every action are also compared with frequencies within these bins."""

BINS = (
    f"propensity below {BIN_EDGES[0]:g}",
    *(f"propensity {a:g} to {b:g}" for a, b in pairwise(BIN_EDGES)),
    f"propensity from {BIN_EDGES[-1]:g} on",
)
"""What the bins are called."""

SHOWN_EVIDENCE = 700.0
"""Largest logarithm of evidence that is shown; the exponential of a larger one overflows."""


@dataclass(frozen=True)
class PropensityFit:
    """The result of the test.

    Attributes:
        tested: What was logged: "law" (the probabilities of all actions), "played" (only that of
            the played action) or "nothing".
        level: Probability with which right propensities are called wrong.
        log_evidence: Logarithm of the averaged capital; the test rejects above log(1 / level).
        group: Group of rounds with the strongest evidence; empty if that is the whole log.
        action: Index of the action with the strongest evidence, or -1.
        expected: Plays of it in this group that the propensities predict ("law"), or rounds of the
            group in which it could be played ("played").
        observed: Plays that there were, or the rounds that they stand for, sum of 1 / p.
    """

    tested: str
    level: float = LEVEL
    log_evidence: float = 0.0
    group: str = ""
    action: int = -1
    expected: float = 0.0
    observed: float = 0.0

    @property
    def rejected(self) -> bool:
        """Whether the propensities do not fit the frequencies."""
        return self.log_evidence > -math.log(self.level)

    @property
    def contradicted(self) -> bool:
        """Whether the propensities are certainly wrong.

        If only the propensity of the played action is logged, an action that is played too seldom
        may also have been impossible in some rounds, which the log does not say.
        """
        return self.rejected and (self.tested == "law" or self.observed > self.expected)

    @property
    def p_value(self) -> float:
        """Smallest level at which the propensities are rejected, at most one."""
        return float(np.exp(-min(max(self.log_evidence, 0.0), SHOWN_EVIDENCE)))


class PmfTally:
    """Compares logged distributions with plays, by bins of the propensity and groups of rounds."""

    def __init__(self, n_actions: int, groups: tuple[str, ...]) -> None:
        self._labels = BINS + groups
        shape = (len(self._labels), n_actions)
        self._played, self._expected = np.zeros(shape), np.zeros(shape)
        self._variance = np.zeros(shape)

    def add(self, batch: LogBatch, members: NDArray[np.bool_]) -> None:
        """Add rounds with logged distributions; `members` (n, G) says in which groups they are."""
        if batch.pmf is None:
            return
        pmf, n_bins = batch.pmf, len(BINS)
        n, n_actions = pmf.shape
        played = np.zeros_like(pmf)
        played[np.arange(n), batch.actions] = 1.0
        cells = np.digitize(pmf, BIN_EDGES) * n_actions + np.arange(n_actions)
        pairs = ((self._played, played), (self._expected, pmf), (self._variance, pmf * (1 - pmf)))
        for total, values in pairs:
            summed = np.bincount(cells.ravel(), values.ravel(), minlength=n_bins * n_actions)
            total[:n_bins] += summed.reshape(n_bins, n_actions)
            for j in range(members.shape[1]):
                total[n_bins + j] += values[members[:, j]].sum(0)

    def judge(self, level: float = LEVEL) -> PropensityFit:
        """Return the result so far."""
        surplus, bets = self._played - self._expected, LARGE_BETS
        cost = self._variance[..., None] * (np.expm1(bets) - bets)
        found = [_average(side * surplus[..., None] * bets - cost) for side in (1.0, -1.0)]
        return _conclude("law", np.stack(found), self._labels, self._expected, self._played, level)


class PlayedTally:
    """Compares propensities of played actions with how often they were played."""

    def __init__(self, n_actions: int, groups: tuple[str, ...]) -> None:
        self._labels = ("", *groups)
        shape = (len(self._labels), n_actions)
        self._possible, self._weight = np.zeros(shape), np.zeros(shape)
        self._gains = np.zeros((2, *shape, len(PLAYED_BETS)))

    def add(self, batch: LogBatch, members: NDArray[np.bool_]) -> None:
        """Add rounds; `members` (n, G) says which groups they belong to."""
        n, n_actions = len(batch.actions), self._possible.shape[1]
        possible = _find_possible(batch, n_actions)
        everywhere = np.ones((n, 1), dtype=bool)
        weights = 1.0 / batch.propensities
        gains = _bet_on(weights)
        for place, chosen in enumerate(np.concatenate([everywhere, members], axis=1).T):
            actions = batch.actions[chosen]
            self._possible[place] += possible[chosen].sum(0)
            self._weight[place] += np.bincount(actions, weights[chosen], minlength=n_actions)
            for side in (0, 1):
                for g in range(len(PLAYED_BETS)):
                    won = np.bincount(actions, gains[side, chosen, g], minlength=n_actions)
                    self._gains[side, place, :, g] += won

    def judge(self, level: float = LEVEL) -> PropensityFit:
        """Return the result so far."""
        not_played = np.stack([np.log1p(-PLAYED_BETS), np.log1p(PLAYED_BETS)])
        capital = self._gains + self._possible[None, ..., None] * not_played[:, None, None, :]
        found = _average(capital)
        return _conclude("played", found, self._labels, self._possible, self._weight, level)


def _find_possible(batch: LogBatch, n_actions: int) -> Floats:
    """Return which actions could be played, (n, A): one alone where its propensity is one."""
    n = len(batch.actions)
    possible = np.ones((n, n_actions)) if batch.available is None else batch.available * 1.0
    alone = np.zeros((n, n_actions))
    alone[np.arange(n), batch.actions] = 1.0
    return np.where((batch.propensities >= CERTAIN)[:, None], alone, possible)


def _bet_on(weights: Floats) -> Floats:
    """Return what a play changes in log capital, compared with no play, (2, n, bets)."""
    surplus = (weights - 1.0)[:, None] * PLAYED_BETS
    with np.errstate(divide="ignore"):  # a bet that loses everything has no capital left
        above = np.log1p(surplus) - np.log1p(-PLAYED_BETS)
        below = np.log(np.maximum(1.0 - surplus, 0.0)) - np.log1p(PLAYED_BETS)
    return np.stack([above, below])


def _average(logs: Floats) -> Floats:
    """Return the logarithm of the average over bets, the last axis."""
    largest = np.maximum(logs.max(axis=-1, keepdims=True), -SHOWN_EVIDENCE)
    return np.asarray(np.log(np.exp(logs - largest).mean(axis=-1)) + largest[..., 0])


def _conclude(
    tested: str,
    logs: Floats,
    labels: tuple[str, ...],
    expected: Floats,
    observed: Floats,
    level: float,
) -> PropensityFit:
    """Return the result from the log capital of both directions, all groups and actions."""
    _, place, action = np.unravel_index(int(np.argmax(logs)), logs.shape)
    return PropensityFit(
        tested=tested,
        level=level,
        log_evidence=float(_average(logs.reshape(-1))),
        group=labels[place],
        action=int(action),
        expected=float(expected[place, action]),
        observed=float(observed[place, action]),
    )
