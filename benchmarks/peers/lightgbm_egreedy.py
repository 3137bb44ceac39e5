"""How is LightGBM used? One regression per action, refitted at phases; exploration is at random.

This is what a practitioner with a table would write: 100 trees of 15 leaves per action, fitted to
the rounds in which the action was played, at phases that grow by 1.2. With probability t^-1/2 an
action is drawn at random; otherwise the action of largest prediction is played. Before an action
was played twice it is predicted by the mean of all rewards. Leaves hold at least 20 rounds, as by
default, and a tenth of the rounds while there are fewer than 200.
"""

import importlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from settings import LIGHTGBM

lightgbm = importlib.import_module("lightgbm")

PACKAGES = ("lightgbm",)

GROWTH = 1.2


class Peer:
    """Epsilon-greedy on gradient boosting that acts and learns."""

    def __init__(self, setting: str, *, n_columns: int, n_actions: int, seed: int) -> None:
        del n_columns
        self.settings = {**LIGHTGBM[setting], "random_state": seed, "n_jobs": 1, "verbose": -1}
        self.rng = np.random.default_rng(seed)
        self.n_actions, self.next_fit = n_actions, 1
        self.contexts: list[NDArray[np.float32]] = []
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self.models: list[Any] = [None] * n_actions

    def act(self, context: NDArray[np.float32]) -> int:
        """Return a random action, or the one of largest prediction."""
        if self.rng.random() < (len(self.rewards) + 1) ** -0.5:
            return int(self.rng.integers(self.n_actions))
        mean = float(np.mean(self.rewards))
        row = context.astype(np.float64)[None]
        values = [model.predict(row)[0] if model else mean for model in self.models]
        return int(np.argmax(values + 1e-9 * self.rng.random(self.n_actions)))

    def learn(self, context: NDArray[np.float32], action: int, reward: float) -> None:
        """Store the round, and fit all models at the end of a phase."""
        self.contexts.append(context)
        self.actions.append(action)
        self.rewards.append(reward)
        if len(self.rewards) >= self.next_fit:
            self.next_fit = math.ceil(GROWTH * self.next_fit)
            self.models = [self._fit(one) for one in range(self.n_actions)]

    def _fit(self, action: int) -> Any:
        """Return the model of one action, or None if it was played less than twice."""
        rows = np.flatnonzero(np.asarray(self.actions) == action)
        if len(rows) < 2:
            return None
        smallest = min(20, max(1, len(rows) // 10))
        model = lightgbm.LGBMRegressor(min_child_samples=smallest, **self.settings)
        model.fit(np.asarray(self.contexts, dtype=np.float64)[rows], np.asarray(self.rewards)[rows])
        return model.booster_  # its `predict` does not check the row again
