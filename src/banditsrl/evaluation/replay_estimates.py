"""What does a replay say? A value with intervals, and how rewards rose while the policy learned."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.core.policy import State
from banditsrl.estimation.always_intervals import always_interval, check_bounds
from banditsrl.estimation.mean_intervals import Interval
from banditsrl.estimation.target_terms import TargetTerms

Floats = NDArray[np.float64]

CURVE_POINTS = 50
"""Points of a learning curve, at equal ratios of the number of rounds."""

CUT = 1.0 + 1e-9
"""An acceptance probability above this was cut to 1, and not by rounding."""


class LearningCurve(NamedTuple):
    """Mean rewards of the first rounds of a run."""

    rounds: NDArray[np.int64]  # (P,) numbers of rounds
    mean: Floats  # (P,) mean reward of all rounds up to there
    recent: Floats  # (P,) mean reward since the point before


@dataclass(frozen=True)
class ReplayEstimate:
    """What a policy earned in a replay.

    Attributes:
        name: Name of the policy.
        value: Estimated mean reward per round of the replayed run.
        stderr: Its standard error.
        low: Lower end of the interval for a fixed log.
        high: Upper end of it.
        always_low: Lower end of the interval that holds at all rows; minus infinity if the range of
            rewards was not given.
        always_high: Upper end of it.
        n_accepted: Number of accepted rows, which are the rounds of the replayed run.
        n: Number of rows of the log.
        rate: Rate of acceptance at the last row.
        cut_share: Share of rows whose acceptance probability was above 1 and was cut. If it is not
            zero, the policy has learned from too few of the actions that it prefers.
        curve: Mean rewards over the run.
        state: State of the policy after the last row.
    """

    name: str
    value: float
    stderr: float
    low: float
    high: float
    always_low: float
    always_high: float
    n_accepted: int
    n: int
    rate: float
    cut_share: float
    curve: LearningCurve = field(repr=False, compare=False)
    state: State = field(repr=False, compare=False)


class ReplayedRows(NamedTuple):
    """What a replay found in n rows."""

    rewards: Floats
    accepted: NDArray[np.bool_]
    ratios: Floats  # pi / p of the logged action
    rates: Floats  # of acceptance, when the row was visited
    terms: Floats  # R_k of the doubly robust form; the ratio times the reward without a model

    @property
    def cut_share(self) -> float:
        """Share of rows whose acceptance probability was cut to 1."""
        return float((self.rates * self.ratios > CUT).mean())


def always_mean(
    rewards: Floats, reward_range: tuple[float, float] | None, *, level: float
) -> Interval:
    """Return bounds of the mean reward that hold at all rows; infinite without a range."""
    if reward_range is None:
        return Interval(-math.inf, math.inf)
    zeros = np.zeros_like(rewards)
    terms = TargetTerms(np.ones_like(rewards), rewards, zeros, zeros)
    return always_interval(terms, check_bounds(terms, reward_range, 1.0), level=level)


def draw_curve(values: Floats, weights: Floats, played: NDArray[np.int64]) -> LearningCurve:
    """Return weighted means of values up to certain numbers of rounds.

    Args:
        values: (n,) one for each row.
        weights: (n,) positive.
        played: (n,) number of accepted rounds up to and including the row.
    """
    total, weight = np.cumsum(weights * values), np.cumsum(weights)
    most = max(int(played[-1]), 1)
    points = np.unique(np.geomspace(1, most, CURVE_POINTS).round().astype(np.int64))
    last = np.searchsorted(played, points, side="right") - 1  # the last row of so many rounds
    earlier = np.concatenate([[0.0], total[last[:-1]]]), np.concatenate([[0.0], weight[last[:-1]]])
    recent = (total[last] - earlier[0]) / (weight[last] - earlier[1])
    return LearningCurve(points, total[last] / weight[last], recent)
