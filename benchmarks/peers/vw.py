"""How is Vowpal Wabbit used? As in its contextual-bandit tutorial: text in, probabilities out.

The input has one shared line with the context (namespace c) and one line per action (namespace a),
and `--cb_explore_adf` explores. The tutorial says that context and action must interact to
personalise: `ca` is first order, and `cca` adds products of two columns. A seeded generator draws
the action from the predicted probabilities. Learning takes the cost (minus the reward) and the
probability of that action.
"""

import importlib
from bisect import bisect_right
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from settings import VW

vowpalwabbit = importlib.import_module("vowpalwabbit")

PACKAGES = ("vowpalwabbit",)


class Workspace:
    """A workspace of Vowpal Wabbit with some options that acts and learns."""

    def __init__(self, options: str, *, n_columns: int, n_actions: int, seed: int) -> None:
        common = f"--cb_explore_adf --quiet --random_seed {seed}"
        self.workspace: Any = vowpalwabbit.Workspace(f"{common} {options}")
        self.rng = np.random.default_rng(seed)
        self.lines = [f"|a {action}" for action in range(n_actions)]
        self.columns = " ".join(f"{column}:%.6g" for column in range(n_columns))
        self.shared, self.chance = "", 1.0

    def act(self, context: NDArray[np.float32]) -> int:
        """Draw an action from the predicted pmf."""
        self.shared = "shared |c " + self.columns % tuple(context.tolist())
        pmf = self.workspace.predict([self.shared, *self.lines])
        cumulative = list(accumulate(pmf))
        action = bisect_right(cumulative, self.rng.random() * cumulative[-1])
        self.chance = pmf[action]
        return action

    def learn(self, context: NDArray[np.float32], action: int, reward: float) -> None:
        """Learn the cost of the action that was played."""
        del context  # `act` has stored its line
        lines = list(self.lines)
        lines[action] = f"0:{-reward:.6g}:{self.chance:.6g} {lines[action]}"
        self.workspace.learn([self.shared, *lines])


class Peer(Workspace):
    """A workspace with one of the settings that are compared."""

    def __init__(self, setting: str, *, n_columns: int, n_actions: int, seed: int) -> None:
        super().__init__(VW[setting], n_columns=n_columns, n_actions=n_actions, seed=seed)
