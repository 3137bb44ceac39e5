"""WideUCB: optimism on wide random embeddings, with one parameter per action.

It predicts well after few rounds. With several embeddings (`Wide`) the index of an action is the
weighted mean of their indices,

    sum_e w_e (psi_e . theta_{e,a} + ucb_scale ||psi_e||_{V_{e,a}^-1}).

Each embedding predicts every reward before it is seen. At the end of a phase the weights w, which
are non-negative and sum to one, are those with the least squared error of the mixture over the
explored rounds, where earlier phases count less. The constant scale of the width is a heuristic for
rewards of order one, far below the theoretical scale. Columns are scaled by the contexts seen in
the first phases, up to `n_scaling` rounds; after that the embeddings do not change.
"""

from dataclasses import KW_ONLY
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import (
    above,
    at_least,
    check_action,
    check_mask,
    check_reward,
    count,
    positive,
)
from banditsrl.core.actions import draw_best
from banditsrl.core.history import History
from banditsrl.core.policy import Choice, Policy
from banditsrl.core.representation import Context, Representation
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
from banditsrl.numerics.seed_axis import seeds_of_a_network
from banditsrl.representations.wide import Scaling, Wide
from banditsrl.selection.stacking import Stack, add_predictions, empty_stack, fade, fit_weights


class WideLearner(NamedTuple):
    """The scaling and the statistics of one embedding."""

    scaling: Scaling
    blocks: Blocks


class WideState(NamedTuple):
    """State of WideUCB with E embeddings."""

    learners: tuple[WideLearner, ...]
    stack: Stack
    weights: Array  # (E,) weights of the embeddings


class WideUCB(Policy[WideState]):
    """LinUCB with a constant width on a mixture of `Wide` embeddings.

    Args:
        wides: The embeddings.
    """

    wides: tuple[Wide, ...]
    _: KW_ONLY
    ucb_scale: float = setting(0.3, "Width of the confidence bound, for rewards of order one.")
    lam: float = setting(0.1, "Ridge parameter lambda.")
    gamma: float = setting(2.0, "Growth of the phases.")
    n_scaling: int = setting(500, "Number of rounds whose contexts scale the columns.")

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

    @in_float64
    def init(self, key: Array) -> WideState:
        """Return empty statistics."""
        learners = tuple(
            WideLearner(wide.init(key), empty_blocks(wide.n_actions, wide.dim, self.lam))
            for wide in self.wides
        )
        stack = empty_stack(len(learners))
        return WideState(learners, stack, fit_weights(stack))

    @in_float64
    def act(self, state: WideState, context: Context, mask: ArrayLike | None, key: Array) -> Choice:
        """Play the available action of largest index, ties at random."""
        available = check_mask(mask, self.wides[0].n_actions)
        values, norms = self.score(state, context)
        index = state.weights @ (values + self.ucb_scale * norms)
        return Choice.without_test(*draw_best(jnp.where(available, index, -jnp.inf), key))

    @in_float64
    def learn(
        self,
        state: WideState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> WideState:
        """Add the predictions to the stack, and the sample to the block of its action."""
        played = jnp.asarray(check_action(action, self.wides[0].n_actions))
        y = check_reward(reward)
        learners, predictions = [], []
        for wide, (scaling, blocks) in zip(self.wides, state.learners, strict=True):
            psi = wide.at(scaling).embed(context)[played]
            predictions.append(psi @ blocks.theta[played])
            learners.append(WideLearner(scaling, add_block_sample(blocks, psi, played, y)))
        explored = ~jnp.asarray(certified)
        stack = add_predictions(state.stack, jnp.stack(predictions), y, explored)
        return WideState(tuple(learners), stack, state.weights)

    @in_float64
    def refresh(self, state: WideState, history: History, key: Array) -> WideState:
        """Fit the weights; in early phases, also rescale the columns and embed all rounds again."""
        del key
        learners = tuple(
            self._refresh_learner(wide, learner, history)
            for wide, learner in zip(self.wides, state.learners, strict=True)
        )
        return WideState(learners, fade(state.stack), fit_weights(state.stack))

    @in_float64
    def predict(self, state: WideState, context: Context) -> Array | None:
        """Return the weighted prediction of every action."""
        return state.weights @ self.score(state, context)[0]

    def score(self, state: WideState, context: Context) -> tuple[Array, Array]:
        """Return values and norms of every action under every embedding, (E, A) each."""
        found = [
            score_blocks(learner.blocks, wide.at(learner.scaling).embed(context))
            for wide, learner in zip(self.wides, state.learners, strict=True)
        ]
        values, norms = (jnp.stack(part) for part in zip(*found, strict=True))
        return values, norms

    @property
    def phase_growth(self) -> float | None:
        """The growth gamma of the phases."""
        return self.gamma

    @property
    def uses_history(self) -> bool:
        """True: rounds are embedded again while the scaling changes."""
        return True

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The inputs of the wide embeddings, against which contexts are checked."""
        return tuple(wide.inputs for wide in self.wides)

    @property
    def seeds_at_once(self) -> int | None:
        """One on a CPU, which the blocks of one seed keep busy."""
        return seeds_of_a_network()

    def _refresh_learner(self, wide: Wide, learner: WideLearner, history: History) -> WideLearner:
        """Return one embedding at the end of a phase; V^-1 and theta are always recomputed."""

        def scale_anew() -> WideLearner:
            first = jax.tree.map(lambda buffer: buffer[: self.n_scaling], history.contexts)
            rows = jax.vmap(wide.rows)(first)  # (n, R, m)
            valid = jnp.repeat(jnp.arange(len(rows)) < history.n, rows.shape[1])
            scaling = wide.fit_scaling(rows.reshape(-1, wide.n_columns), valid)
            return WideLearner(scaling, self._sum_history(wide.at(scaling), history))

        is_settled = (history.n == 0) | (history.n > self.n_scaling)
        scaling, blocks = jax.lax.cond(is_settled, lambda: learner, scale_anew)
        return WideLearner(scaling, recompute_blocks(blocks))

    def _sum_history(self, wide: Wide, history: History) -> Blocks:
        """Return the sums of all rounds in a new scaling; V^-1 and theta are recomputed later."""

        def add_round(i: Array, blocks: Blocks) -> Blocks:
            context = jax.tree.map(lambda buffer: buffer[i], history.contexts)
            action, reward = history.actions[i], history.rewards[i]
            psi = wide.embed(context)[action]
            return blocks._replace(
                V=blocks.V.at[action].add(psi[:, None] * psi[None]),
                b=blocks.b.at[action].add(reward * psi),
            )

        start = empty_blocks(wide.n_actions, wide.dim, self.lam)
        blocks: Blocks = jax.lax.fori_loop(0, history.n, add_round, start)
        return blocks
