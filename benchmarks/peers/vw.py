"""How is Vowpal Wabbit used? As its contextual-bandit tutorial does: text in, a pmf out.

One shared line with the context (namespace c) and one line per action (namespace a), explored by
`--cb_explore_adf`. The tutorial says that context and action must interact to personalise: `ca`
is first order, `cca` adds products of two columns. Learning takes the cost (minus the reward) and
the probability of the action played, which is drawn from the pmf by a seeded generator.
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


class Peer:
    """A workspace of Vowpal Wabbit that acts and learns."""

    def __init__(self, setting: str, *, n_columns: int, n_actions: int, seed: int) -> None:
        options = f"--cb_explore_adf --quiet --random_seed {seed} {VW[setting]}"
        self.workspace: Any = vowpalwabbit.Workspace(options)
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
        del context  # its line is still at hand
        lines = list(self.lines)
        lines[action] = f"0:{-reward:.6g}:{self.chance:.6g} {lines[action]}"
        self.workspace.learn([self.shared, *lines])
