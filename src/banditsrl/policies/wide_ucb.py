"""WideUCB: optimism on wide random embeddings, with one parameter per action.

It predicts well after few rounds. With several embeddings (`Wide`) the index of an action is the
weighted mean of their indices,

    sum_e w_e (f_e(x, a) + ucb_scale s ||psi_e||_{V_{e,a}^-1}),

where f is the ridge prediction, shrunk towards the mean of all rewards (see `linear.blocks`), and s
is the standard deviation of the rewards. So rewards y and a y + b give the same actions, for every
a > 0. Each embedding predicts every reward before it is seen. At the end of a phase the weights w,
which are non-negative and sum to one, are those with the least squared error of the mixture over
the explored rounds, where earlier phases count less. The constant scale of the width is a
heuristic, far below the theoretical scale.

Columns are scaled by a sample of `n_scaling` of the contexts seen so far. The scaling is fitted at
every phase end up to that many rounds, and later only where it has become wrong: a column that was
constant varies by now, or has moved or spread far beyond what was known. All rounds are then
embedded again. The same happens if the state has not learned all of them, because an older version
was put back, or because the policy has forgotten rounds from before a change.
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
from banditsrl.core.policy import Choice
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.linear.blocks import (
    Blocks,
    BlockScores,
    add_block_sample,
    empty_blocks,
    recompute_blocks,
    score_blocks,
)
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.fitted_policy import FittedPolicy
from banditsrl.representations.wide import Scaling, Wide
from banditsrl.selection.reward_scale import (
    RewardScale,
    add_reward,
    cover_history,
    empty_scale,
    subtract_anchor,
)
from banditsrl.selection.stacking import Stack, add_errors, empty_stack, fade, fit_weights

SHIFT = 3.0
"""A column is scaled anew when it has moved by this many deviations, or its deviation has changed
by this factor."""


class WideLearner(NamedTuple):
    """The scaling and the statistics of one embedding."""

    scaling: Scaling
    blocks: Blocks


class WideState(NamedTuple):
    """State of WideUCB with E embeddings."""

    learners: tuple[WideLearner, ...]
    rewards: RewardScale
    stack: Stack
    weights: Array  # (E,) weights of the embeddings
    is_scaled: Array  # () whether the columns have been scaled


class WideUCB(FittedPolicy[WideState]):
    """LinUCB with a constant width on a mixture of `Wide` embeddings.

    Args:
        wides: The embeddings.
    """

    wides: tuple[Wide, ...]
    _: KW_ONLY
    ucb_scale: float = setting(
        0.5, "Width of the confidence bound, in standard deviations of the rewards."
    )
    lam: float = setting(0.1, "Ridge parameter lambda.")
    gamma: float = setting(2.0, "A phase ends when the number of rounds has grown by this factor.")
    n_scaling: int = setting(500, "Number of contexts by which the columns are scaled.")

    def __check_init__(self) -> None:
        if not self.wides or len({wide.n_actions for wide in self.wides}) > 1:
            sizes = [wide.n_actions for wide in self.wides]
            raise InvalidArgument(
                f"wides must be one or more embeddings of the same number of actions, got {sizes}."
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
        unscaled = jnp.zeros((), dtype=bool)
        return WideState(learners, empty_scale(), stack, fit_weights(stack), unscaled)

    @in_float64
    def act(self, state: WideState, context: Context, mask: ArrayLike | None, key: Array) -> Choice:
        """Play the available action of largest index, ties at random."""
        available = check_mask(mask, self.wides[0].n_actions)
        values, norms = self.score(state, context)
        index = state.weights @ (values + self.ucb_scale * state.rewards.deviation * norms)
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
        """Add the errors to the stack, and the sample to the block of its action."""
        played = jnp.asarray(check_action(action, self.wides[0].n_actions))
        rewards, y = subtract_anchor(state.rewards, check_reward(reward))
        learners, errors = [], []
        for wide, (scaling, blocks) in zip(self.wides, state.learners, strict=True):
            psi = wide.at(scaling).embed(context)[played]
            pull = blocks.inverse[played, 0] @ psi
            errors.append(psi @ blocks.theta[played] + self.lam * pull * rewards.mean - y)
            learners.append(WideLearner(scaling, add_block_sample(blocks, psi, played, y)))
        explored = ~jnp.asarray(certified)
        return WideState(
            learners=tuple(learners),
            rewards=add_reward(rewards, y),
            stack=add_errors(state.stack, jnp.stack(errors), explored),
            weights=state.weights,
            is_scaled=state.is_scaled,
        )

    @in_float64
    def refresh(self, state: WideState, history: History, key: Array) -> WideState:
        """Fit the weights; where the scaling is wrong, rescale and embed all rounds again."""
        del key
        rewards = cover_history(state.rewards, history)
        may_keep = state.is_scaled & (history.n > self.n_scaling) & (history.n <= state.rewards.n)
        learners = tuple(
            self._refresh_learner(wide, learner, history, rewards.anchor, may_keep)
            for wide, learner in zip(self.wides, state.learners, strict=True)
        )
        return WideState(
            learners=learners,
            rewards=rewards,
            stack=fade(state.stack),
            weights=fit_weights(state.stack),
            is_scaled=state.is_scaled | (history.n > 0),
        )

    @in_float64
    def predict(self, state: WideState, context: Context) -> Array | None:
        """Return the weighted prediction of every action."""
        return state.rewards.anchor + state.weights @ self.score(state, context)[0]

    def score(self, state: WideState, context: Context) -> tuple[Array, Array]:
        """Return what every embedding predicts of every action, and the norms ||psi||, (E, A) each.

        Predictions are of rewards minus the anchor.
        """
        found = [
            score_blocks(learner.blocks, wide.at(learner.scaling).embed(context))
            for wide, learner in zip(self.wides, state.learners, strict=True)
        ]
        scores = BlockScores(*(jnp.stack(part) for part in zip(*found, strict=True)))
        values = scores.values + self.lam * state.rewards.mean * scores.pull
        return values, scores.norms

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The inputs of the wide embeddings, against which contexts are checked."""
        return tuple(wide.inputs for wide in self.wides)

    @property
    def display_name(self) -> str:
        """The name in the catalogue, under which people know this policy."""
        return "linucb-disjoint"

    def _refresh_learner(
        self, wide: Wide, learner: WideLearner, history: History, anchor: Array, may_keep: Array
    ) -> WideLearner:
        """Return one embedding at the end of a phase; V^-1 and theta are always recomputed."""
        found = self._fit_scaling(wide, history)
        keeps = may_keep & ~_is_wrong(learner.scaling, found)

        def scale_anew() -> WideLearner:
            return WideLearner(found, self._sum_history(wide.at(found), history, anchor))

        scaling, blocks = jax.lax.cond(keeps | (history.n == 0), lambda: learner, scale_anew)
        return WideLearner(scaling, recompute_blocks(blocks))

    def _fit_scaling(self, wide: Wide, history: History) -> Scaling:
        """Return the scaling by contexts that are spread evenly over the history."""
        size = min(self.n_scaling, history.capacity)
        places = jnp.arange(size)
        n = jnp.maximum(history.n, 1)
        spread = jnp.where(n > size, places * n // size, jnp.minimum(places, n - 1))
        sample = jax.tree.map(lambda buffer: buffer[spread], history.contexts)
        rows = jax.vmap(wide.rows)(sample)  # (size, R, m)
        valid = jnp.repeat(places < n, rows.shape[1])
        return wide.fit_scaling(rows.reshape(-1, wide.n_columns), valid)

    def _sum_history(self, wide: Wide, history: History, anchor: Array) -> Blocks:
        """Return the sums of all rounds in a new scaling; V^-1 and theta are recomputed later."""

        def add_round(i: Array, blocks: Blocks) -> Blocks:
            context = jax.tree.map(lambda buffer: buffer[i], history.contexts)
            action, y = history.actions[i], history.rewards[i] - anchor
            psi = wide.embed(context)[action]
            return blocks._replace(
                V=blocks.V.at[action].add(psi[:, None] * psi[None]),
                b=blocks.b.at[action].add(y * psi),
            )

        start = empty_blocks(wide.n_actions, wide.dim, self.lam)
        blocks: Blocks = jax.lax.fori_loop(0, history.n, add_round, start)
        return blocks


def _is_wrong(known: Scaling, found: Scaling) -> Array:
    """Return whether a column varies that was constant, or has moved or spread far."""
    varies = jnp.isinf(known.deviation) & ~jnp.isinf(found.deviation)
    spread = found.deviation > SHIFT * known.deviation
    moved = jnp.abs(found.centre - known.centre) > SHIFT * known.deviation
    return (varies | (jnp.isfinite(found.deviation) & spread) | moved).any()
