"""Which rounds does an agent start from? Those of a log, or arrays, but not both.

Logs are read in a room above this one, so only what is needed of them is described here.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument


class LoggedBatch(Protocol):
    """Rounds of a log, n of them."""

    @property
    def contexts(self) -> NDArray[np.float64]:
        """Contexts, (n, m)."""

    @property
    def actions(self) -> NDArray[np.int32]:
        """Indices of the actions, (n,)."""

    @property
    def rewards(self) -> NDArray[np.float64]:
        """Rewards, (n,)."""

    @property
    def propensities(self) -> NDArray[np.float64]:
        """Probabilities of the actions, (n,); nan where they are not known."""


class LoggedRows(Protocol):
    """A `banditsrl.Log`, as far as an agent is concerned."""

    def collect(self) -> LoggedBatch:
        """Return all rounds at once."""


def choose_rounds(
    log: LoggedRows | None, arrays: Mapping[str, Any], weighting: str
) -> dict[str, Any]:
    """Return contexts, actions, rewards and propensities, from a log or as they are given.

    Without a weighting, propensities are only described, so that some may be missing.
    """
    given = [name for name, value in arrays.items() if value is not None]
    if log is None:
        missing = [name for name in ("contexts", "actions", "rewards") if name not in given]
        if missing:
            raise InvalidArgument(f"{' and '.join(missing)} must be given without a log, got None.")
        return dict(arrays)
    if given:
        raise InvalidArgument(f"{' and '.join(given)} must not be given with a log, got some.")
    rounds = log.collect()
    unknown = np.isnan(rounds.propensities)
    drop = unknown.all() or (weighting == "none" and bool(unknown.any()))
    return {
        "contexts": rounds.contexts,
        "actions": rounds.actions,
        "rewards": rounds.rewards,
        "propensities": None if drop else rounds.propensities,
    }
