"""How can an environment of another library be simulated? As rounds that were recorded from it.

A recorded round holds a context and the reward of every action that it offers. In a simulation a
context is the index of a recorded round, and rounds are drawn at random, with replacement: however
long the simulation is, there is no other round than the recorded ones. The recorded reward counts
as the mean reward, and no noise is added, so regret is measured against the action whose recorded
reward was the largest.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import booleans, finite_array
from banditsrl.core.problem import Problem
from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.problems.labelled import standardise
from banditsrl.representations.coded import Coded


class RecordedProblem(Problem):
    """Recorded rounds with the rewards of all actions; a context is the index of a round.

    Columns are standardised, as in `TableProblem`. The noise level of the policies is half the
    range of the rewards, which is an upper limit whatever the columns explain.

    Args:
        contexts: Numbers, (n_contexts, n_columns).
        rewards: Rewards of all actions, (n_contexts, n_actions); any number where not available.
        available: Which actions a round offers, (n_contexts, n_actions); all of them by default.
        name: Name in tables and figures.

    Example:
        >>> problem = RecordedProblem([[0.0], [1.0]], [[1.0, 0.0], [0.0, 3.0]])
        >>> problem.means(1).tolist(), problem.sigma
        ([0.0, 3.0], 1.5)
    """

    rewards: Array
    available: Array
    representations: tuple[Coded, ...]
    name: str = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)
    sigma: float | None = eqx.field(static=True)

    @in_float64
    def __init__(
        self, contexts: Any, rewards: Any, *, available: Any = None, name: str = "recorded"
    ) -> None:
        table = _standardise(contexts)
        known = finite_array("rewards", rewards, "(n_contexts, n_actions)")
        if len(known) != len(table):
            raise InvalidArgument(
                f"rewards must have one row per context, {len(table)}, got {len(known)}."
            )
        offered = np.ones(known.shape, dtype=bool)
        if available is not None:
            offered = booleans("available", available, known.shape)
        if not offered.any(axis=1).all():
            row = int(np.argmin(offered.any(axis=1)))
            raise InvalidArgument(
                f"available must offer an action in every row, got none in {row}."
            )
        self.rewards = jnp.asarray(np.where(offered, known, 0.0))
        self.available = jnp.asarray(offered)
        self.n_actions, self.name = known.shape[1], name
        self.sigma = float(np.ptp(known[offered])) / 2.0 or None
        self.representations = (Coded(n_actions=self.n_actions, code="blocks", table=table),)

    @property
    def n_contexts(self) -> int:
        """Number of recorded rounds."""
        return int(self.rewards.shape[0])

    def contexts(self, key: Array, n: int) -> Array:
        """Deal n contexts, (n,) indices of recorded rounds."""
        return jax.random.randint(key, (n,), 0, self.n_contexts, dtype=jnp.int32)

    @in_float64
    def noises(self, key: Array, n: int) -> Array:  # noqa: ARG002 - recorded rewards are certain
        """Return zeros, (n,): the recorded reward is paid as it is."""
        return jnp.zeros(n, dtype=jnp.float64)

    def means(self, context: Context) -> Array:
        """Return the recorded rewards of a round, (A,)."""
        return self.rewards[context]

    def mask(self, context: Context) -> Array:
        """Return which actions a round offered, (A,)."""
        return self.available[context]

    @in_float64
    def reward(self, mean: Array, noise: Array) -> Array:
        """Return the recorded reward."""
        return mean + noise


def _standardise(contexts: Any) -> NDArray[np.float32]:
    """Return standardised columns; if none of them varies, one that is always 1."""
    table = standardise(contexts)
    return table if table.any() else np.ones((len(table), 1), dtype=np.float32)
