"""TreeLinUCB: optimism on the leaves of boosted trees, with one parameter per action.

The trees f (`representations.trees`) are fitted to all rounds at the end of a phase. The embedding
of a context says in which coarse leaf of each of G trees it lies: a coarse leaf is given by the
first q questions of a tree, so the dimension is 1 + 2^q G whatever the number of columns,

    psi = [1, e_{leaf_1}, ..., e_{leaf_G}] / sqrt(1 + G).

Ridge regression on psi corrects the trees between phases, and its width is large in leaves where an
action was played rarely. The index of an action is

    f_a(x) + psi . theta_a + ucb_scale s ||psi||_{V_a^-1},

where theta_a fits the residuals of the trees and s is the standard deviation of the rewards so far.
The trees and the statistics use the same rounds, so the width is a heuristic.
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
from banditsrl.core.history import History, Rounds, fold_blocks
from banditsrl.core.policy import Choice
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
from banditsrl.policies.fitted_policy import FittedPolicy
from banditsrl.representations.trees import TreeWeights
from banditsrl.selection.tree_learner import TreeLearner


class TreeLinUCBState(NamedTuple):
    """State of TreeLinUCB."""

    weights: TreeWeights
    blocks: Blocks  # of the coarse leaves, from the residuals of the trees
    deviation: Array  # () of the rewards; 1 before the first phase ends


class TreeLinUCB(FittedPolicy[TreeLinUCBState]):
    """LinUCB with a constant width on the leaves of boosted trees.

    A decision costs $Ak^2$ with $k=1+2^qG$, for $G$ trees of which $q$ questions are used.

    Args:
        tree_learner: The trees, and the columns that they split.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("wheel")
        >>> banditsrl.make_policy("tree-linucb", problem, n_leaf_trees=4).dim
        65
    """

    tree_learner: TreeLearner
    _: KW_ONLY
    ucb_scale: float = setting(0.5, "Width of the confidence bound, in deviations of the rewards.")
    lam: float = setting(0.1, "Ridge parameter lambda.")
    gamma: float = setting(1.2, "A phase ends when the number of rounds has grown by this factor.")
    n_leaf_trees: int = setting(8, "Number of trees G whose leaves are the embedding.")
    leaf_depth: int = setting(4, "Number of questions q that make a coarse leaf.")

    def __check_init__(self) -> None:
        at_least("ucb_scale", self.ucb_scale, 0.0)
        positive("lam", self.lam)
        above("gamma", self.gamma, 1.0)
        trees = self.tree_learner.trees
        for name, value, most in (
            ("n_leaf_trees", self.n_leaf_trees, trees.n_trees),
            ("leaf_depth", self.leaf_depth, trees.depth),
        ):
            if count(name, value) > most:
                raise InvalidArgument(f"{name} must be at most {most}, got {value!r}.")

    @property
    def dim(self) -> int:
        """Dimension k of the embedding."""
        return 1 + int(2**self.leaf_depth) * self.n_leaf_trees

    @in_float64
    def init(self, key: Array) -> TreeLinUCBState:
        """Return trees that predict 0 and empty statistics."""
        del key
        trees = self.tree_learner.trees
        blocks = empty_blocks(trees.n_actions, self.dim, self.lam)
        return TreeLinUCBState(trees.init(), blocks, jnp.ones((), dtype=jnp.float64))

    @in_float64
    def act(
        self, state: TreeLinUCBState, context: Context, mask: ArrayLike | None, key: Array
    ) -> Choice:
        """Play the available action of largest index, ties at random."""
        available = check_mask(mask, self.tree_learner.trees.n_actions)
        values, norms, _ = score_blocks(state.blocks, self.embed(state.weights, context))
        fitted = self.tree_learner.predict(state.weights, context)
        index = fitted + values + self.ucb_scale * state.deviation * norms
        return Choice.without_test(*draw_best(jnp.where(available, index, -jnp.inf), key))

    @in_float64
    def learn(
        self,
        state: TreeLinUCBState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> TreeLinUCBState:
        """Add the residual, the reward minus what the trees predict, to the block of the action."""
        del certified
        played = jnp.asarray(check_action(action, self.tree_learner.trees.n_actions))
        psi = self.embed(state.weights, context)[played]
        rest = check_reward(reward) - self.tree_learner.predict(state.weights, context)[played]
        return state._replace(blocks=add_block_sample(state.blocks, psi, played, rest))

    @in_float64
    def refresh(self, state: TreeLinUCBState, history: History, key: Array) -> TreeLinUCBState:
        """Fit the trees to all rounds, and rebuild the statistics in the new leaves."""
        del state
        weights = self.tree_learner.fit(key, history)
        blocks = recompute_blocks(self._sum_history(weights, history))
        return TreeLinUCBState(weights, blocks, _deviation(history))

    @in_float64
    def embed(self, weights: TreeWeights, context: Context) -> Array:
        """Return the coarse leaves of every action, (A, k)."""
        fine = self.tree_learner.leaves(weights, context)[:, : self.n_leaf_trees]  # (A, G)
        coarse = fine >> (self.tree_learner.trees.depth - self.leaf_depth)
        lies_in = coarse[..., None] == jnp.arange(2**self.leaf_depth)  # (A, G, 2^q)
        flat = lies_in.reshape(len(fine), -1).astype(jnp.float64)
        psi = jnp.concatenate([jnp.ones((len(fine), 1)), flat], axis=1)
        return psi / jnp.sqrt(1.0 + self.n_leaf_trees)

    def _sum_history(self, weights: TreeWeights, history: History) -> Blocks:
        """Return the sums of all rounds; V^-1 and theta are recomputed later."""
        n_actions = self.tree_learner.trees.n_actions

        def read(context: Context, action: Array, reward: Array) -> tuple[Array, Array]:
            rest = reward - self.tree_learner.predict(weights, context)[action]
            return self.embed(weights, context)[action], rest

        def add_rounds(blocks: Blocks, rounds: Rounds) -> Blocks:
            psi, rest = jax.vmap(read)(rounds.contexts, rounds.actions, rounds.rewards)
            played = rounds.actions[:, None] == jnp.arange(n_actions)
            share = (played & rounds.valid[:, None]).astype(jnp.float64)  # (n, A)
            return blocks._replace(
                V=blocks.V + jnp.einsum("na,nk,nj->akj", share, psi, psi),
                b=blocks.b + jnp.einsum("na,nk,n->ak", share, psi, rest),
            )

        return fold_blocks(history, empty_blocks(n_actions, self.dim, self.lam), add_rounds)

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The inputs of the trees, against which contexts are checked."""
        return (self.tree_learner.columns.inputs,)


def _deviation(history: History) -> Array:
    """Return the standard deviation of the rewards so far, or 1 if they do not vary."""
    exists = jnp.arange(history.capacity) < history.n
    n = jnp.maximum(history.n, 1)
    mean = jnp.where(exists, history.rewards, 0.0).sum() / n
    variance = jnp.where(exists, (history.rewards - mean) ** 2, 0.0).sum() / n
    return jnp.where(variance > 0.0, jnp.sqrt(jnp.where(variance > 0.0, variance, 1.0)), 1.0)
