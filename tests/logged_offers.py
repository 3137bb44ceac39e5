"""A small log that tests share: three offers, an age, and a policy whose law depends on it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.logs.log import Log, LogBatch

Floats = NDArray[np.float64]

ACTIONS = ("red", "green", "blue")


class FixedTarget:
    """Plays one law in every round."""

    def __init__(self, law: list[float], name: str = "candidate") -> None:
        self.name, self._law = name, np.asarray(law)

    def pmf(self, batch: LogBatch) -> Floats:
        return np.tile(self._law, (len(batch.actions), 1))


def make_offers(n: int = 600, seed: int = 3, **changes: Any) -> Log:
    """Green earns 0.2 + 0.6 age, red 0.3, and blue 0.5 - 0.3 age."""
    rng = np.random.default_rng(seed)
    contexts = np.stack([rng.random(n), rng.integers(2, size=n).astype(float)], axis=1)
    age = contexts[:, 0]
    laws = np.where(contexts[:, :1] > 0.5, [0.2, 0.4, 0.4], [0.6, 0.2, 0.2])
    actions = (laws.cumsum(1) < rng.random((n, 1))).sum(1)
    means = np.stack([0.3 + 0.0 * age, 0.2 + 0.6 * age, 0.5 - 0.3 * age], axis=1)
    rewards = (rng.random(n) < means[np.arange(n), actions]).astype(float)
    arrays: dict[str, Any] = {
        "contexts": contexts,
        "actions": actions,
        "rewards": rewards,
        "pmf": laws,
        "action_names": list(ACTIONS),
        "columns": ["age", "member"],
        **changes,
    }
    return Log.from_arrays(**arrays)


def make_certain_offers(n: int = 300, **changes: Any) -> Log:
    """The same, but one action is played for sure, green for the young and blue for others."""
    plain = make_offers(n).collect()
    old = plain.contexts[:, 0] > 0.5
    laws = np.where(old[:, None], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    return make_offers(n, actions=old + 1, pmf=laws, **changes)
