"""What does an estimator need of a round? Five numbers, so contexts need not be kept.

For a target pi and a round with context x, action a, propensity p and reward r these are

    weight            w = pi(a | x) / p
    reward            r
    predicted_played  q(x, a)
    predicted_target  sum over actions b of pi(b | x) q(x, b)
    propensity        p

where q is a reward model (`reward_models.py`). A million rounds are 8 MB per number. Intervals that
may be watched at every row also use predictions q' of a model of *earlier* rows only, if there are
any.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.logs.log import LogBatch

Floats = NDArray[np.float64]


class TargetTerms(NamedTuple):
    """What estimators know of n rounds and one target; predictions are zero without a model."""

    weights: Floats  # (n,)
    rewards: Floats  # (n,)
    predicted_played: Floats  # (n,)
    predicted_target: Floats  # (n,)
    earlier_played: Floats | None = None  # (n,)  the same from a model of earlier rows
    earlier_target: Floats | None = None  # (n,)
    propensities: Floats | None = None  # (n,)  None tempers no weights


def make_terms(
    batch: LogBatch,
    pmf: Floats,
    *,
    predictions: Floats | None = None,
    earlier: Floats | None = None,
) -> TargetTerms:
    """Return the terms of one batch.

    Args:
        batch: The rounds.
        pmf: Probability of every action under the target, (n, A).
        predictions: Predicted reward of every action, (n, A), from a model that has not seen the
            round. None means zero, with which "dr" is "ips".
        earlier: Predictions of a model of earlier rounds only, (n, A).
    """
    _check_propensities(batch)
    at = np.arange(len(batch.actions)), batch.actions
    zeros = np.zeros(len(batch.actions))
    played, target = (zeros, zeros) if predictions is None else _read(predictions, pmf, at)
    earlier_played, earlier_target = (None, None) if earlier is None else _read(earlier, pmf, at)
    return TargetTerms(
        weights=pmf[at] / batch.propensities,
        rewards=np.asarray(batch.rewards, dtype=np.float64),
        predicted_played=played,
        predicted_target=target,
        earlier_played=earlier_played,
        earlier_target=earlier_target,
        propensities=np.asarray(batch.propensities, dtype=np.float64),
    )


def join_terms(parts: Sequence[TargetTerms]) -> TargetTerms:
    """Return the terms of consecutive batches as one."""
    if not parts:
        raise InvalidArgument("log must have at least one round, got none.")
    columns = zip(*parts, strict=True)
    joined = [None if column[0] is None else np.concatenate(column) for column in columns]
    return TargetTerms(*joined)  # type: ignore[arg-type]


def effective_sample_size(weights: Floats) -> float:
    """Return (sum w)^2 / sum w^2: how many rounds of the target itself would tell as much."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def _read(
    predictions: Floats, pmf: Floats, at: tuple[NDArray[np.int64], NDArray[np.int32]]
) -> tuple[Floats, Floats]:
    """Return the predictions for the played action and for the target, (n,) each."""
    return predictions[at], (pmf * predictions).sum(axis=1)


def _check_propensities(batch: LogBatch) -> None:
    """Refuse rounds whose weight is unknown or infinite."""
    bad = ~((batch.propensities > 0.0) & (batch.propensities <= 1.0))
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidArgument(
            f"propensities must be above 0 and at most 1, got {batch.propensities[i]:g} "
            f"in row {batch.rows[i]}."
        )
