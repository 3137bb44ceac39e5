"""Does a log try what a target would play? Weights, and the share that was never tried.

A round weighs w = pi(a) / p, the target's probability of the played action over the logged one.
If the log tries everything that the target plays, the weights average one; a few huge weights mean
that a few rounds decide the estimate. The effective sample size (sum w)^2 / sum w^2 says how many
rounds of the target's own the log is worth.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.evaluation.calibration import CERTAIN
from banditsrl.logs.log import LogBatch

Floats = NDArray[np.float64]

NEVER = 1e-12
"""Up to here a propensity counts as zero."""

HEAVY = 0.01
"""Share of the rounds that are called the heaviest ones."""

UNSUPPORTED_LIMIT = 0.01
"""A number is refused if the target plays what could not be played in a larger share of rounds."""

FAR_FROM_ONE = 4.0
"""Standard errors by which a mean weight may differ from one before it is called wrong."""

FEW_ROUNDS = 100.0
"""Below this effective sample size an estimate is called weak."""


@dataclass(frozen=True)
class TargetOverlap:
    """How well a log covers a target.

    Attributes:
        target: Name of the target.
        n: Number of rounds.
        effective_n: Effective sample size.
        mean_weight: Mean of the weights; one if propensities are right and nothing is missing.
        mean_weight_error: Its standard error.
        largest_weight: Largest weight.
        heavy_share: Share of all weight in the heaviest hundredth of the rounds.
        unsupported: Share of the target's play on actions that could not be played: those of
            probability zero, or those never played in the log if it has only propensities.
        never_tried: Share of the target's play where the log has no round of that action, in the
            whole log or in the segments of one column.
        never_tried_where: The segment and the action with the largest part of it, in words.
        wanted: (A,) share of the target's play on every action.
    """

    target: str
    n: int
    effective_n: float
    mean_weight: float
    mean_weight_error: float
    largest_weight: float
    heavy_share: float
    unsupported: float
    never_tried: float
    never_tried_where: str
    wanted: tuple[float, ...]

    @property
    def supported(self) -> bool:
        """Whether a number can be given at all."""
        return self.n > 0 and self.unsupported <= UNSUPPORTED_LIMIT and not self.misses_rounds

    @property
    def misses_rounds(self) -> bool:
        """Whether weights show that the log cannot speak for the target's rounds.

        Their mean estimates the share of its rounds that could be played. Without the logged
        probabilities of all actions nothing else shows that some could not. Above one, propensities
        are wrong.
        """
        return self.weights_off and abs(self.mean_weight - 1.0) > UNSUPPORTED_LIMIT

    @property
    def weights_off(self) -> bool:
        """Whether the weights average significantly away from one."""
        off = abs(self.mean_weight - 1.0)
        return off > FAR_FROM_ONE * max(self.mean_weight_error, self._expected_error) and off > 1e-9

    @property
    def _expected_error(self) -> float:
        """Standard error that weights of this size have if their mean is one.

        Where large weights are rare and too few of them came, the observed error is too small.
        """
        if not self.effective_n > 0.0:
            return 0.0
        size = self.n * self.mean_weight / self.effective_n  # sum of w^2 over sum of w
        return math.sqrt(max(size - 1.0, 0.0) / self.n)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON."""
        return {**self.__dict__, "wanted": list(self.wanted), "supported": self.supported}


class OverlapTally:
    """Adds up what a target plays, in the whole log and in every segment."""

    def __init__(self, target: str, n_actions: int, n_segments: int) -> None:
        self._target, self._n = target, 0
        self._wanted = np.zeros((1 + n_segments, n_actions))  # the whole log comes first
        self._unsupported, self._has_pmfs = 0.0, True
        self._weights: list[Floats] = []

    def add(self, batch: LogBatch, pmf: Floats, members: NDArray[np.bool_]) -> Floats:
        """Add rounds with the target's pmf (n, A); return their weights, nan without propensity."""
        n = len(pmf)
        self._n += n
        self._wanted[0] += pmf.sum(0)
        for j in range(members.shape[1]):
            self._wanted[1 + j] += pmf[members[:, j]].sum(0)
        self._has_pmfs &= batch.pmf is not None
        wanted = pmf[np.arange(n), batch.actions]
        self._unsupported += float(find_unsupported(batch, pmf).sum())
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is no weight at all
            weights = np.where(batch.propensities > 0.0, wanted / batch.propensities, np.nan)
        self._weights.append(weights)
        return weights

    @property
    def weights(self) -> Floats:
        """The weights of all rounds, (n,)."""
        return np.concatenate(self._weights) if self._weights else np.zeros(0)

    def judge(
        self, counts: Floats, actions: tuple[str, ...], segments: tuple[tuple[str, str], ...]
    ) -> TargetOverlap:
        """Return the overlap.

        Args:
            counts: (1 + S, A) logged plays in the whole log and in every segment.
            actions: Names of the actions.
            segments: Column and label of every segment.
        """
        n, weights = max(self._n, 1), self.weights
        total, squares = float(weights.sum()), float(np.square(weights).sum())
        heaviest = np.sort(weights)[len(weights) - max(int(HEAVY * len(weights)), 1) :]
        never, where = self._find_never_tried(counts, actions, segments)
        return TargetOverlap(
            target=self._target,
            n=self._n,
            effective_n=total * total / squares if squares > 0 else 0.0,
            mean_weight=total / n,
            mean_weight_error=float(weights.std() / np.sqrt(n)) if self._n else 0.0,
            largest_weight=float(weights.max(initial=0.0)),
            heavy_share=float(heaviest.sum()) / total if total > 0 else 0.0,
            unsupported=max(self._unsupported, self._find_unknown(counts[0])) / n,
            never_tried=never / n,
            never_tried_where=where,
            wanted=tuple((self._wanted[0] / n).tolist()),
        )

    def _find_unknown(self, plays: Floats) -> float:
        """Return the mass on actions of which nothing shows that they could be played."""
        return 0.0 if self._has_pmfs else float(self._wanted[0][plays == 0].sum())

    def _find_never_tried(
        self, counts: Floats, actions: tuple[str, ...], segments: tuple[tuple[str, str], ...]
    ) -> tuple[float, str]:
        """Return the largest mass without a logged round, over the columns, and where most is."""
        missed = np.where(counts == 0, self._wanted, 0.0)
        columns = ["", *(column for column, _ in segments)]
        by_column = {c: missed[[c == other for other in columns]] for c in dict.fromkeys(columns)}
        worst = max(by_column, key=lambda column: float(by_column[column].sum()))
        mass = float(by_column[worst].sum())
        if not mass > 0.0:
            return 0.0, ""
        rows = np.array([worst == column for column in columns])
        place, action = np.unravel_index(
            int(np.argmax(np.where(rows[:, None], missed, -1.0))), missed.shape
        )
        group = "" if place == 0 else f" where {segments[place - 1][1]}"
        return mass, f"{actions[action]}{group}"


def find_unsupported(batch: LogBatch, pmf: Floats) -> Floats:
    """Return the probability with which the target plays what could not be played, (n,).

    Without logged distributions this is known only of rounds whose played action had probability
    one.
    """
    if batch.pmf is not None:
        return np.asarray(np.where(batch.pmf <= NEVER, pmf, 0.0).sum(axis=1))
    wanted = pmf[np.arange(len(pmf)), batch.actions]
    return np.where(batch.propensities >= CERTAIN, 1.0 - wanted, 0.0)
