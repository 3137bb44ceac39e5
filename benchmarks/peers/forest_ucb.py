"""How is a random forest used? One forest per action; the spread of its trees is the width.

The index of an action is the mean of the trees' predictions plus alpha times their standard
deviation plus alpha over the root of the number of rounds with that action. The last term is needed
because the trees of an action that was always paid the same agree with each other. Forests have 100
trees with at least 5 rounds in a leaf and are refitted at phases that grow by 1.2. An action that
was never played is played first.
"""

import importlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from settings import FOREST

ensemble = importlib.import_module("sklearn.ensemble")

PACKAGES = ("scikit-learn",)

GROWTH = 1.2


class Peer:
    """Optimism on random forests that acts and learns."""

    def __init__(self, setting: str, *, n_columns: int, n_actions: int, seed: int) -> None:
        del n_columns
        self.alpha = FOREST[setting]
        self.seed, self.n_actions, self.next_fit = seed, n_actions, 1
        self.rng = np.random.default_rng(seed)
        self.contexts: list[NDArray[np.float32]] = []
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self.forests: list[Any] = [None] * n_actions
        self.counts = np.zeros(n_actions)

    def act(self, context: NDArray[np.float32]) -> int:
        """Return the action with the largest index."""
        indices = [self._index(action, context[None]) for action in range(self.n_actions)]
        return int(np.argmax(indices + 1e-9 * self.rng.random(self.n_actions)))

    def learn(self, context: NDArray[np.float32], action: int, reward: float) -> None:
        """Store the round, and fit all forests at the end of a phase."""
        self.contexts.append(context)
        self.actions.append(action)
        self.rewards.append(reward)
        self.counts[action] += 1
        if len(self.rewards) >= self.next_fit:
            self.next_fit = math.ceil(GROWTH * self.next_fit)
            self.forests = [self._fit(one) for one in range(self.n_actions)]

    def _index(self, action: int, row: NDArray[np.float32]) -> float:
        forest = self.forests[action]
        if forest is None:
            return math.inf if self.counts[action] == 0 else float(np.mean(self.rewards))
        # The trees themselves are asked: the forest's `predict` checks the row again and again.
        found = [tree.tree_.predict(row)[0, 0] for tree in forest.estimators_]
        return float(np.mean(found) + self.alpha * (np.std(found) + self.counts[action] ** -0.5))

    def _fit(self, action: int) -> Any:
        """Return the forest of one action, or None if it was not played."""
        rows = np.flatnonzero(np.asarray(self.actions) == action)
        if len(rows) == 0:
            return None
        forest = ensemble.RandomForestRegressor(
            n_estimators=100, min_samples_leaf=5, n_jobs=1, random_state=self.seed
        )
        return forest.fit(np.asarray(self.contexts)[rows], np.asarray(self.rewards)[rows])
