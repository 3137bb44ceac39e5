"""How are the terms of a log collected? In one pass, for all targets at once."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from banditsrl.estimation.reward_models import CrossFitted, RoundSource
from banditsrl.estimation.target_terms import TargetTerms, join_terms, make_terms
from banditsrl.logs.log import LogBatch

Floats = NDArray[np.float64]


class PmfSource(Protocol):
    """A target, as far as estimators are concerned."""

    def pmf(self, batch: LogBatch) -> Floats:
        """Return the probability of every action in each round, (n, A)."""


def collect_terms(
    log: RoundSource, targets: Sequence[PmfSource], *, model: CrossFitted | None = None
) -> list[TargetTerms]:
    """Return the terms of every target.

    Args:
        log: The log.
        targets: The targets; each must be fixed before the rounds that judge it.
        model: Reward model of the log; None leaves "dm" and "dr" without predictions.
    """
    parts: list[list[TargetTerms]] = [[] for _ in targets]
    for batch in log.batches():
        predictions = None if model is None else model.predict(batch)
        earlier = None if model is None else model.predict_from_earlier(batch)
        for target, found in zip(targets, parts, strict=True):
            pmf = target.pmf(batch)
            found.append(make_terms(batch, pmf, predictions=predictions, earlier=earlier))
    return [join_terms(found) for found in parts]
