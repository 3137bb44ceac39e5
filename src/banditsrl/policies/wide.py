"""WideUCB: optimism on a wide random embedding, one parameter per action. It learns early.

The index is psi . theta_a + ucb_scale ||psi||_{V_a^-1}, with a constant scale: a heuristic width,
far below the theoretical one, for rewards of order one. Columns are standardised by the contexts
seen in the first phases, up to `n_scaling` rounds; after that the embedding stays as it is.
"""

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least, count, positive
from banditsrl.linear.blocks import (
    Blocks,
    block_observed,
    block_refreshed,
    block_scores,
    empty_blocks,
)
from banditsrl.linear.glrt import checked_mask
from banditsrl.linear.lanes import double
from banditsrl.policies.history import History, Rounds, folded
from banditsrl.policies.linear import maximisers
from banditsrl.policies.policy import (
    Choice,
    Policy,
    checked_reward,
    drawn,
    quantile,
    setting,
    uniform_over,
    unmapped_lanes,
    untested,
)
from banditsrl.representations.wide import Scaling, Wide


class WideState(NamedTuple):
    """State of WideUCB."""

    scaling: Scaling
    blocks: Blocks


class WideUCB(Policy):
    """LinUCB with a constant width on a `Wide` embedding.

    Args:
        wide: The embedding.
    """

    wide: Wide
    _: KW_ONLY
    ucb_scale: float = setting(0.3, "width of the confidence bound, for rewards of order one")
    lam: float = setting(0.1, "ridge regularizer lambda")
    gamma: float = setting(2.0, "growth of the phases")
    n_scaling: int = setting(500, "rounds whose contexts standardise the columns")

    def __check_init__(self) -> None:
        at_least("ucb_scale", self.ucb_scale, 0.0)
        positive("lam", self.lam)
        count("n_scaling", self.n_scaling)

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return self.wide.n_actions

    @property
    def phase_growth(self) -> float | None:
        """Gamma."""
        return self.gamma

    @property
    def uses_history(self) -> bool:
        """The first rounds are embedded anew while the scaling changes."""
        return True

    @property
    def lanes(self) -> int:
        """The blocks of one seed fill a core."""
        return unmapped_lanes()

    @double
    def init(self, key: Array) -> WideState:
        """Empty statistics."""
        del key
        blocks = empty_blocks(self.n_actions, self.wide.dim, self.lam)
        return WideState(self.wide.unscaled(), blocks)

    def scores(self, state: WideState, context: Any) -> tuple[Array, Array]:
        """Values and norms of every action, (A,) each."""
        return block_scores(state.blocks, self.wide.embed(state.scaling, context))

    @double
    def act(self, state: WideState, context: Any, mask: Any, key: Array) -> Choice:
        """The available action of largest index, ties at random."""
        available = checked_mask(mask, self.n_actions)
        values, norms = self.scores(state, context)
        index = jnp.where(available, values + self.ucb_scale * norms, -jnp.inf)
        pmf = uniform_over(maximisers(index))
        return untested(drawn(pmf, quantile(key)), pmf)

    @double
    def learn(
        self, state: WideState, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> WideState:
        """Add the sample to the block of its action."""
        del certified
        psi = self.wide.embed(state.scaling, context)[action]
        blocks = block_observed(state.blocks, psi, jnp.asarray(action), checked_reward(reward))
        return state._replace(blocks=blocks)

    @double
    def refresh(self, state: WideState, history: History, key: Array) -> WideState:
        """Early: standardise anew and embed the first rounds again. Always: undo drift."""
        del key

        def rescaled() -> WideState:
            scaling = self._scaling(history)
            return WideState(scaling, self._rebuilt(scaling, history))

        state = jax.lax.cond(history.n <= self.n_scaling, rescaled, lambda: state)
        return state._replace(blocks=block_refreshed(state.blocks))

    def _scaling(self, history: History) -> Scaling:
        """Mean and deviation of the columns over all rounds."""

        def block(sums: tuple[Array, Array, Array], rounds: Rounds) -> tuple[Array, Array, Array]:
            rows = jax.vmap(self.wide.rows)(rounds.contexts)  # (n, R, m)
            rows = jnp.where(rounds.valid[:, None, None], rows, 0.0)
            n = sums[0] + rounds.valid.sum() * rows.shape[1]
            return n, sums[1] + rows.sum((0, 1)), sums[2] + (rows * rows).sum((0, 1))

        zeros = jnp.zeros(self.wide.n_columns, dtype=jnp.float64)
        n, first, second = folded(history, (jnp.zeros((), jnp.float64), zeros, zeros), block)
        n = jnp.maximum(n, 1.0)
        mean = first / n
        variance = second / n - mean * mean
        varies = variance > 1e-12 * (1.0 + mean * mean)
        return Scaling(mean, jnp.where(varies, jnp.sqrt(jnp.where(varies, variance, 1.0)), jnp.inf))

    def _rebuilt(self, scaling: Scaling, history: History) -> Blocks:
        """The sums of all rounds in a new scaling; V^-1 and theta are left to be recomputed."""

        def round_(i: Array, blocks: Blocks) -> Blocks:
            context = jax.tree.map(lambda buffer: buffer[i], history.contexts)
            action, reward = history.actions[i], history.rewards[i]
            psi = self.wide.embed(scaling, context)[action]
            return blocks._replace(
                V=blocks.V.at[action].add(psi[:, None] * psi[None]),
                b=blocks.b.at[action].add(reward * psi),
            )

        start = empty_blocks(self.n_actions, self.wide.dim, self.lam)
        blocks: Blocks = jax.lax.fori_loop(0, history.n, round_, start)
        return blocks
