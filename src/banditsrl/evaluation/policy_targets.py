"""With which probabilities would a policy play on logged contexts? As its `act` says for each row.

Rows go through one compiled program in blocks of one size, so it is compiled once. The result is
the distribution that the policy would draw from, audits included. Where a policy estimates it by
draws (`Policy.pmf_draws`), the estimate is right on average, and so are estimators that are linear
in it.
"""

from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.core.actions import maximisers, uniform_over
from banditsrl.core.adapters import as_policy
from banditsrl.core.policy import AnyPolicy, Policy, State
from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument
from banditsrl.logs.log import LogBatch
from banditsrl.numerics.partition import Partitioned, partition
from banditsrl.numerics.precision import in_float64
from banditsrl.serving.agent import Agent

BLOCK_ROWS = 1024
"""Rows that go through the compiled program at once."""


class PolicyTarget:
    """A policy in one state, which does not change.

    Args:
        policy: Any policy whose contexts are vectors.
        state: Its state.
        name: Name of the target; the policy's name by default.
        n_actions: Number of actions of the log, if the policy has more (spare ones) or does not
            know it. The others are never available.
        greedy: Whether to judge the action of largest prediction, instead of what the policy draws.
        even_share: Probability of an even draw where the policy is not certain, as a loop plays.
        seed: Seed of the keys that `act` takes; most policies' distributions do not depend on them.
    """

    def __init__(
        self,
        policy: AnyPolicy,
        state: State,
        *,
        name: str | None = None,
        n_actions: int | None = None,
        greedy: bool = False,
        even_share: float = 0.0,
        seed: int = 0,
    ) -> None:
        adapted = as_policy(policy)
        self.name = adapted.display_name if name is None else name
        self.n_actions, self._n_slots = check_sizes(adapted, n_actions)
        self._parts, self._state, self._greedy = partition(adapted), state, greedy
        self._share = np.float64(even_share)
        self._key = jax.random.key(count("seed", seed, 0))

    def pmf(self, batch: LogBatch) -> NDArray[np.float64]:
        """Return the probability of every action in every round, (n, A)."""
        n = len(batch.rows)
        masks = pad_masks(batch, self.n_actions, self._n_slots)
        parts = [
            self._block_pmf(batch, masks, slice(first, first + BLOCK_ROWS))
            for first in range(0, n, BLOCK_ROWS)
        ]
        pmf = np.concatenate([np.zeros((0, self._n_slots)), *parts])
        return np.ascontiguousarray(pmf[:, : self.n_actions])

    @in_float64
    def _block_pmf(
        self, batch: LogBatch, masks: NDArray[np.bool_], some: slice
    ) -> NDArray[np.float64]:
        """Return the probabilities of at most BLOCK_ROWS rows, which are padded to that number."""
        arrays = (batch.contexts[some], masks[some], batch.rows[some].astype(np.uint32))
        missing = BLOCK_ROWS - len(arrays[0])
        full = [np.pad(array, [(0, missing)] + [(0, 0)] * (array.ndim - 1)) for array in arrays]
        full[1][BLOCK_ROWS - missing :] = True
        rest = (self._key, self._share)
        found = _find_pmfs(self._parts, self._state, tuple(full), *rest, greedy=self._greedy)
        return np.asarray(found)[: BLOCK_ROWS - missing]


@partial(jax.jit, static_argnames="greedy")
def _find_pmfs(
    parts: Partitioned[Policy[Any]],
    state: State,
    rows: tuple[Any, ...],
    key: Array,
    share: Any,
    *,
    greedy: bool,
) -> Array:
    """Return the distributions of rows of a context, a mask and a number, (n, n_slots)."""
    policy = parts.combine()

    def find_pmf(context: Context, mask: Array, row: Array) -> Array:
        if greedy:
            return best_predicted(policy, state, context, mask)
        choice = policy.act(state, context, mask, jax.random.fold_in(key, row))
        is_certain = choice.certified | jnp.asarray(choice.audited)
        even = jnp.where(is_certain, 0.0, share)
        return (1.0 - even) * choice.pmf + even * uniform_over(mask)

    pmfs: Array = jax.vmap(find_pmf)(*rows)
    return pmfs


def best_predicted(policy: Policy[Any], state: State, context: Context, mask: Array) -> Array:
    """Return equal probability on the available actions of largest prediction, (A,)."""
    predicted = policy.predict(state, context)
    if predicted is None:
        raise InvalidArgument(
            f"policy must predict rewards to be judged as greedy, got {policy.display_name}, "
            "whose predict returns None."
        )
    return uniform_over(maximisers(jnp.where(mask, predicted, -jnp.inf)))


def check_sizes(policy: Policy[Any], n_actions: int | None) -> tuple[int, int]:
    """Return the number of actions of the log, and of the policy, which may have more.

    A policy whose contexts are indices of a table is refused: rounds of a log have vectors.
    """
    n_slots = policy.n_actions if policy.n_actions is not None else n_actions
    if n_slots is None:
        raise InvalidArgument(
            f"n_actions must be given, since {policy.display_name} has no n_actions, got None."
        )
    wanted = n_slots if n_actions is None else count("n_actions", n_actions)
    if wanted > n_slots:
        raise InvalidArgument(
            f"policy must have at least the {wanted} actions of the log, got {n_slots}."
        )
    if any(representation.n_contexts is not None for representation in policy.embeddings):
        raise InvalidArgument(
            f"policy must take vectors as contexts to be judged by a log, got "
            f"{policy.display_name}, whose contexts are indices."
        )
    return wanted, n_slots


def pad_masks(batch: LogBatch, n_actions: int, n_slots: int) -> NDArray[np.bool_]:
    """Return which actions of the policy are available in each round, (n, n_slots)."""
    masks = np.zeros((len(batch.rows), n_slots), dtype=bool)
    masks[:, :n_actions] = True if batch.available is None else batch.available
    return masks


def load_agent_target(
    path: str | Path,
    policy: AnyPolicy,
    *,
    name: str | None = None,
    n_actions: int | None = None,
    seed: int = 0,
) -> PolicyTarget:
    """Return the policy in the state that `Agent.save` wrote; another policy's file is refused."""
    state = Agent.load(path, policy).state
    return PolicyTarget(policy, state, name=name, n_actions=n_actions, seed=seed)
