"""Which share of rounds was certified, and which share of those certificates was wrong?

Every share that is shown (console table, JSON, report page, documentation) is computed here.

- A *certified round* is a round whose choice was certified. Rounds with nothing to decide (one
  available action, or equal embeddings) are certified by definition, so they belong to the
  certified rounds. Tables store them in a column of their own, `trivial`; shares add both columns.
- The *certified share* is the number of certified rounds over the number of rounds.
- The *wrong share* is the number of certified rounds whose action was not the best over the number
  of certified rounds. It is zero where nothing was certified.
- The *last tenth* are the rounds after nine tenths of the horizon, as far as the recorded steps
  allow: it begins after the last recorded step at or before that point.

A single share for several seeds adds up the counts of all seeds before it divides them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HALF, NINE_TENTHS = 0.5, 0.9
"""Parts of the horizon after which the second half and the last tenth begin."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CertificateCounts:
    """Cumulative counts of rounds at K recorded steps, for one seed or for S seeds.

    Attributes:
        horizon: Number of steps of the run.
        steps: The recorded steps, (K,).
        certified: Rounds decided by the test, (K,) or (S, K).
        trivial: Rounds with nothing to decide, of the same shape.
        wrong: Certified rounds whose action was not the best, of the same shape.

    Example:
        >>> counts = CertificateCounts(
        ...     horizon=100,
        ...     steps=np.array([50, 90, 100]),
        ...     certified=np.array([10.0, 40.0, 47.0]),
        ...     trivial=np.array([0.0, 0.0, 1.0]),
        ...     wrong=np.array([10.0, 10.0, 12.0]),
        ... )
        >>> counts.certified_in_last_tenth, counts.wrong_in_last_tenth, counts.wrong_overall
        (0.8, 0.25, 0.25)
    """

    horizon: int
    steps: NDArray[np.int64]
    certified: Floats
    trivial: Floats
    wrong: Floats

    @property
    def certified_rounds(self) -> Floats:
        """Rounds whose choice was certified, those with nothing to decide included."""
        return self.certified + self.trivial

    @property
    def certified_shares(self) -> Floats:
        """Certified share between consecutive recorded steps, of the shape of the counts."""
        return _divide(_increments(self.certified_rounds), _increments(self.steps))

    @property
    def wrong_shares(self) -> Floats:
        """Wrong share between consecutive recorded steps, of the shape of the counts."""
        return _divide(_increments(self.wrong), _increments(self.certified_rounds))

    @property
    def certified_in_last_tenth(self) -> float:
        """Certified share of the last tenth, over all seeds."""
        rounds = np.broadcast_to(self.steps, self.certified.shape)
        certified = self._add_last_tenth(self.certified_rounds)
        return float(_divide(certified, self._add_last_tenth(rounds)))

    @property
    def wrong_in_last_tenth(self) -> float:
        """Wrong share of the last tenth, over all seeds."""
        certified = self._add_last_tenth(self.certified_rounds)
        return float(_divide(self._add_last_tenth(self.wrong), certified))

    @property
    def wrong_overall(self) -> float:
        """Wrong share of the whole run, over all seeds."""
        return float(_divide(self.wrong[..., -1].sum(), self.certified_rounds[..., -1].sum()))

    def _add_last_tenth(self, counts: NDArray[np.float64] | NDArray[np.int64]) -> float:
        """Add up over seeds what counts gain in the last tenth."""
        return float(increase_after(NINE_TENTHS, counts, self.steps, self.horizon).sum())


def increase_after(
    part: float,
    counts: NDArray[np.float64] | NDArray[np.int64],
    steps: NDArray[np.int64],
    horizon: int,
) -> Floats:
    """Return what cumulative counts (..., K) gain after a part of the horizon, (...).

    The count begins at the last recorded step at or before that part, or at step 0 if there is no
    such step.

    Example:
        >>> regret, steps = np.array([[3.0, 4.0, 9.0]]), np.array([10, 50, 100])
        >>> increase_after(0.5, regret, steps, horizon=100).tolist()
        [5.0]
    """
    before = int(np.searchsorted(steps, part * horizon, side="right")) - 1
    start = counts[..., before] if before >= 0 else np.zeros(counts.shape[:-1])
    return np.asarray(counts[..., -1] - start, dtype=np.float64)


def _increments(counts: NDArray[np.float64] | NDArray[np.int64]) -> Floats:
    return np.asarray(np.diff(counts, axis=-1, prepend=0), dtype=np.float64)


def _divide(part: Floats | float, whole: Floats | float) -> Floats:
    """Divide, with zero where there is nothing to divide by."""
    nothing = np.zeros(np.broadcast(part, whole).shape)
    return np.divide(part, whole, out=nothing, where=np.asarray(whole) > 0)
