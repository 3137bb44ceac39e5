"""How is MABWiser's LinUCB used? `predict` for a context, `partial_fit` with the one reward.

Its ridge regressions, one per arm, have no intercept. With `intercept` a constant column is
appended to the context, which is the usual remedy. It cannot predict before the first reward, so a
seeded generator draws the first arm.
"""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from settings import MABWISER

mab = importlib.import_module("mabwiser.mab")

PACKAGES = ("mabwiser",)


class Peer:
    """A bandit of MABWiser that acts and learns."""

    def __init__(self, setting: str, *, n_columns: int, n_actions: int, seed: int) -> None:
        del n_columns
        alpha, self.intercept = MABWISER[setting]
        policy = mab.LearningPolicy.LinUCB(alpha=alpha, l2_lambda=1.0)
        self.bandit: Any = mab.MAB(list(range(n_actions)), policy, seed=seed)
        self.first = int(np.random.default_rng(seed).integers(n_actions))
        self.fitted = False

    def act(self, context: NDArray[np.float32]) -> int:
        """Return the arm with the largest upper bound."""
        if not self.fitted:
            return self.first
        return int(self.bandit.predict(self._row(context)))

    def learn(self, context: NDArray[np.float32], action: int, reward: float) -> None:
        """Update the regression of the arm that was played."""
        learn = self.bandit.partial_fit if self.fitted else self.bandit.fit
        learn(decisions=[action], rewards=[reward], contexts=self._row(context))
        self.fitted = True

    def _row(self, context: NDArray[np.float32]) -> NDArray[np.float64]:
        row = np.append(context, 1.0) if self.intercept else context
        return np.asarray(row, dtype=np.float64)[None]
