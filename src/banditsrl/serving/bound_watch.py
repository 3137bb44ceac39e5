"""Do rewards and embeddings keep to the bounds that a policy was given? If not, warn once.

Confidence widths hold only if the bounds do: L on the norm of embeddings, and the bound on rewards
from which a noise level follows. The bound B on the parameter cannot be observed.
"""

import warnings
from typing import Any

import numpy as np

from banditsrl.arguments import positive_or_none
from banditsrl.core.policy import Policy, State
from banditsrl.errors import BoundExceeded
from banditsrl.numerics.precision import in_float64
from banditsrl.simulation.run_checks import describe_exceeded_norms, describe_exceeded_reward

CALLER = 3
"""The application called `Agent.learn`, which called `BoundWatch.see`."""


class BoundWatch:
    """Warns of the first reward beyond its bound, and of the first embedding beyond its L.

    Args:
        policy: The policy whose bounds are watched.
        reward_bound: Bound on the size of rewards, if there is one.
    """

    def __init__(self, policy: Policy[Any], reward_bound: float | None = None) -> None:
        self._policy = policy
        self._reward_bound = positive_or_none("reward_bound", reward_bound)
        # Reading a norm takes longer than a step, so it is read only where a bound was given.
        self._watches_norms = any(
            embedding.L is not None and not embedding.has_known_norms
            for embedding in policy.embeddings
        )

    def see(self, reward: float, state: State) -> None:
        """Compare a reward, and the state after it, with the bounds."""
        for sentence in self._compare(abs(reward), state):
            warnings.warn(sentence, BoundExceeded, stacklevel=CALLER)

    def _compare(self, size: float, state: State) -> list[str]:
        """Return a warning for each bound that was exceeded, and stop watching these bounds."""
        due: list[str] = []
        if self._reward_bound is not None and size > self._reward_bound:
            due.append(describe_exceeded_reward(self._reward_bound, size))
            self._reward_bound = None
        if self._watches_norms and (exceeded := self._compare_norms(state)):
            due += exceeded
            self._watches_norms = False
        return due

    @in_float64
    def _compare_norms(self, state: State) -> list[str]:
        norms = self._policy.largest_norms(state)
        return [] if norms is None else describe_exceeded_norms(self._policy, np.asarray(norms))
