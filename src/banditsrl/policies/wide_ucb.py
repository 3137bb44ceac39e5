"""WideUCB: optimism on wide random embeddings, one parameter per action. It learns early.

With several embeddings (`Wide`) the index of an action is the weighted mean of theirs,

    sum_e w_e (psi_e . theta_{e,a} + ucb_scale ||psi_e||_{V_{e,a}^-1}),

and the weights are those on the simplex that would have predicted best: each embedding predicts
every reward before it is seen, and at the end of a phase w minimises the squared error of the
mixture over the explored rounds, of which earlier phases count less. The width has a constant
scale: a heuristic, far below the theoretical one, for rewards of order one. Columns are scaled by
the contexts seen in the first phases, up to `n_scaling` rounds; then the embeddings stay.
"""

from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import (
    above,
    at_least,
    check_action,
    check_mask,
    check_reward,
    count,
    positive,
)
from banditsrl.core.actions import draw_action, maximisers, uniform_from_key, uniform_over
from banditsrl.core.history import History
from banditsrl.core.policy import Choice, Policy, unmapped_lanes, untested
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.linear.blocks import (
    Blocks,
    add_block_sample,
    empty_blocks,
    recompute_blocks,
    score_blocks,
)
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.wide import Scaling, Wide
from banditsrl.selection.stacking import Stack, empty_stack, faded, stacked, weights


class Learner(NamedTuple):
    """What is known about one embedding."""

    scaling: Scaling
    blocks: Blocks


class WideState(NamedTuple):
    """State of WideUCB with E embeddings."""

    learners: tuple[Learner, ...]
    stack: Stack
    weights: Array  # (E,)


class WideUCB(Policy):
    """LinUCB with a constant width on a mixture of `Wide` embeddings.

    Args:
        wides: The embeddings.
    """

    wides: tuple[Wide, ...]
    _: KW_ONLY
    ucb_scale: float = setting(0.3, "width of the confidence bound, for rewards of order one")
    lam: float = setting(0.1, "ridge regularizer lambda")
    gamma: float = setting(2.0, "growth of the phases")
    n_scaling: int = setting(500, "rounds whose contexts scale the columns")

    def __check_init__(self) -> None:
        if not self.wides or len({wide.n_actions for wide in self.wides}) > 1:
            sizes = [wide.n_actions for wide in self.wides]
            raise InvalidArgument(
                f"wides must be embeddings of one number of actions, got {sizes}."
            )
        at_least("ucb_scale", self.ucb_scale, 0.0)
        positive("lam", self.lam)
        above("gamma", self.gamma, 1.0)
        count("n_scaling", self.n_scaling)

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return self.wides[0].n_actions

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

    @in_float64
    def init(self, key: Array) -> WideState:
        """Empty statistics."""
        del key
        learners = tuple(
            Learner(wide.unscaled(), empty_blocks(self.n_actions, wide.dim, self.lam))
            for wide in self.wides
        )
        stack = empty_stack(len(learners))
        return WideState(learners, stack, weights(stack))

    def scores(self, state: WideState, context: Any) -> tuple[Array, Array]:
        """Values and norms of every action under every embedding, (E, A) each."""
        found = [
            score_blocks(learner.blocks, wide.embed(learner.scaling, context))
            for wide, learner in zip(self.wides, state.learners, strict=True)
        ]
        values, norms = (jnp.stack(part) for part in zip(*found, strict=True))
        return values, norms

    @in_float64
    def act(self, state: WideState, context: Any, mask: Any, key: Array) -> Choice:
        """The available action of largest index, ties at random."""
        available = check_mask(mask, self.n_actions)
        values, norms = self.scores(state, context)
        index = state.weights @ (values + self.ucb_scale * norms)
        action, pmf = optimistic(jnp.where(available, index, -jnp.inf), uniform_from_key(key))
        return untested(action, pmf)

    @in_float64
    def learn(
        self, state: WideState, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> WideState:
        """Note what each embedding predicts, then add the sample to the block of its action."""
        action = jnp.asarray(check_action(action, self.n_actions))
        reward = check_reward(reward)
        learners, predicted = [], []
        for wide, (scaling, blocks) in zip(self.wides, state.learners, strict=True):
            psi = wide.embed(scaling, context)[action]
            predicted.append(psi @ blocks.theta[action])
            learners.append(Learner(scaling, add_block_sample(blocks, psi, action, reward)))
        explored = ~jnp.asarray(certified)
        stack = stacked(state.stack, jnp.stack(predicted), reward, explored)
        return WideState(tuple(learners), stack, state.weights)

    @in_float64
    def refresh(self, state: WideState, history: History, key: Array) -> WideState:
        """Weigh the embeddings. Early: scale them anew and embed the first rounds again."""
        del key
        learners = tuple(
            self._refreshed(wide, learner, history)
            for wide, learner in zip(self.wides, state.learners, strict=True)
        )
        return WideState(learners, faded(state.stack), weights(state.stack))

    def _refreshed(self, wide: Wide, learner: Learner, history: History) -> Learner:
        """One embedding at the end of a phase; V^-1 and theta are always recomputed."""

        def anew() -> Learner:
            first = jax.tree.map(lambda buffer: buffer[: self.n_scaling], history.contexts)
            rows = jax.vmap(wide.rows)(first)  # (n, R, m)
            valid = jnp.repeat(jnp.arange(len(rows)) < history.n, rows.shape[1])
            scaling = wide.scaled(rows.reshape(-1, wide.n_columns), valid)
            return Learner(scaling, self._rebuilt(wide, scaling, history))

        known = (history.n == 0) | (history.n > self.n_scaling)
        scaling, blocks = jax.lax.cond(known, lambda: learner, anew)
        return Learner(scaling, recompute_blocks(blocks))

    def _rebuilt(self, wide: Wide, scaling: Scaling, history: History) -> Blocks:
        """The sums of all rounds in a new scaling; V^-1 and theta are left to be recomputed."""

        def round_(i: Array, blocks: Blocks) -> Blocks:
            context = jax.tree.map(lambda buffer: buffer[i], history.contexts)
            action, reward = history.actions[i], history.rewards[i]
            psi = wide.embed(scaling, context)[action]
            return blocks._replace(
                V=blocks.V.at[action].add(psi[:, None] * psi[None]),
                b=blocks.b.at[action].add(reward * psi),
            )

        start = empty_blocks(self.n_actions, wide.dim, self.lam)
        blocks: Blocks = jax.lax.fori_loop(0, history.n, round_, start)
        return blocks


def optimistic(index: Array, u: Array) -> tuple[Array, Array]:
    """An action of largest index (A,), at uniform_from_key u among equals, and the pmf."""
    pmf = uniform_over(maximisers(index))
    return draw_action(pmf, u), pmf
