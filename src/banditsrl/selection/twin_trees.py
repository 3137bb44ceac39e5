"""How are two sets of trees fitted to halves of the rounds, and how many rounds do they call near?

The twins are fitted to every other round each, as in `twin_networks`. A policy that has learned
plays inferior actions rarely. When there are more rounds than a tree looks at, those rare rounds
are drawn before all others: without them nothing would be known of these actions. A round is rare
if it played another action than the other twin preferred. So which rounds are drawn does not depend
on the noise of their own rewards.

A state is a `TreeWeights` whose arrays have one more axis in front, of length two.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.core.history import BLOCK, History
from banditsrl.representations.trees import Trees, TreeWeights


class TwinTrees(eqx.Module):
    """Two sets of trees, each fitted to its own half of the rounds.

    Args:
        trees: The trees and how they are fitted.
    """

    trees: Trees

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return self.trees.n_actions

    def init(self) -> TreeWeights:
        """Return trees that predict 0."""
        weights: TreeWeights = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), self.trees.init())
        return weights

    def predict(self, weights: TreeWeights, columns: Array) -> Array:
        """Return what each twin predicts of every action, (2, A), from columns (m,)."""
        return jax.vmap(lambda one: self.trees.predict(one, columns))(weights)

    def find_scarcity(
        self, weights: TreeWeights, columns: Array, is_late: Array, *, trusted: float
    ) -> Array:
        """Return the squared error of the mean of the rounds nearby, in units of sigma^2, (A,).

        Near are all rounds that are alike, as far as the trees know what is alike. As far as they
        do not, and for a kind of context that came up late, only rounds in the same leaves are.

        Args:
            weights: The trees of both twins.
            columns: The columns of the context, (m,).
            is_late: Whether the context is of a kind that came up late, ().
            trusted: How much of what the trees know of likeness counts, from 0 to 1.
        """
        leaf = jax.vmap(lambda one: self.trees.count_near(one, columns))(weights).sum(0)
        alike = jax.vmap(lambda one: self.trees.count_alike(one, columns))(weights).sum(0)
        shares = jnp.where(is_late, 0.0, trusted * weights.shares.mean(0))  # (T,)
        known, unknown = shares @ (1.0 + alike) ** -0.5, ((1.0 + leaf) ** -0.5).mean(0)
        return (known + (1.0 - shares.sum()) * unknown) ** 2

    def fit(self, weights: TreeWeights, halves: History, keys: Array) -> TreeWeights:
        """Fit each twin to its half of the rounds.

        Args:
            weights: The trees until now.
            halves: The halves of the history, stacked, with contexts of shape (2, N, ...).
            keys: One key for each twin.
        """

        def fit(part: tuple[TreeWeights, History, Array]) -> TreeWeights:
            other, half, key = part
            valid = (jnp.arange(len(half.actions)) < half.n).astype(jnp.float64)
            columns = half.contexts.reshape(len(half.actions), -1)
            rare = self._find_rare(other, columns, half)
            return self.trees.fit(key, columns, half.actions, half.rewards, valid, rare)

        others = jax.tree.map(lambda leaf: leaf[::-1], weights)
        fitted: TreeWeights = jax.lax.map(fit, (others, halves, keys))
        return fitted

    def _find_rare(self, other: TreeWeights, columns: Array, half: History) -> Array:
        """Return which rounds did not play the action that the other twin prefers, (N,).

        While a tree looks at all rounds, this does not matter and is not computed.
        """

        def differs(row: tuple[Array, Array]) -> Array:
            return jnp.argmax(self.trees.predict(other, row[0])) != row[1]

        def find() -> Array:
            found: Array = jax.lax.map(differs, (columns, half.actions), batch_size=BLOCK)
            return found

        nothing = jnp.zeros(half.actions.shape, dtype=bool)
        rare: Array = jax.lax.cond(half.n > self.trees.n_rows_of_tree, find, lambda: nothing)
        return rare


def rescale(trees: TreeWeights, location: Array, scale: Array) -> TreeWeights:
    """Return trees that predict location + scale times what they predict now."""
    return trees._replace(values=scale * trees.values, base=location + scale * trees.base)
