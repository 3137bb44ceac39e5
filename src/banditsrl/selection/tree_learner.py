"""How do trees learn from a history? They are fitted to its rounds at the end of a phase.

The columns of a context are those of the wide embeddings (`representations.wide`): the context's
own vector, or one vector per action where the inputs depend on the action. In the second case an
action's prediction is read from its own row.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.core.history import History
from banditsrl.core.representation import Context
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.tree_growth import random_order
from banditsrl.representations.trees import Trees, TreeWeights
from banditsrl.representations.wide import Wide


class TreeRows(NamedTuple):
    """Rows to which trees are fitted, P of them."""

    columns: Array  # (P, m)
    actions: Array  # (P,)
    rewards: Array  # (P,)
    weight: Array  # (P,) 1, or 0 for rows that do not exist


class TreeLearner(eqx.Module):
    """Trees, and where the columns of a context come from.

    Args:
        columns: The columns; random features of this embedding are not used.
        trees: The trees.
    """

    columns: Wide
    trees: Trees

    def __check_init__(self) -> None:
        sizes = self.trees.n_actions, self.trees.n_columns
        expected = self.columns.n_actions, self.columns.n_columns
        if sizes != expected:
            raise InvalidArgument(
                f"trees must have {expected[0]} actions and {expected[1]} columns, like the "
                f"inputs, got {sizes[0]} and {sizes[1]}."
            )

    @in_float64
    def fit(self, key: Array, history: History) -> TreeWeights:
        """Return trees fitted to the rounds of a history, or to as many as `n_rows` allows."""
        rows_key, trees_key = jax.random.split(key)
        return self.trees.fit(trees_key, *self.draw_rows(rows_key, history))

    @in_float64
    def predict(self, weights: TreeWeights, context: Context) -> Array:
        """Return the predicted reward of every action, (A,)."""
        rows = self.columns.rows(context)  # (R, m)
        found = jax.vmap(lambda row: self.trees.predict(weights, row))(rows)  # (R, A)
        return found[0] if len(rows) == 1 else jnp.diagonal(found)

    def leaves(self, weights: TreeWeights, context: Context) -> Array:
        """Return the leaf of every action in each tree, (A, T)."""
        rows = self.columns.rows(context)
        found = jax.vmap(lambda row: self.trees.leaves(weights, row))(rows)  # (R, T)
        return jnp.broadcast_to(found, (self.trees.n_actions, self.trees.n_trees))

    def draw_rows(self, key: Array, history: History) -> TreeRows:
        """Return rounds drawn from a history, only as many as a fit uses."""
        exists = jnp.arange(history.capacity) < history.n
        chosen = random_order(key, exists)[: self.trees.n_rows]
        contexts = jax.tree.map(lambda buffer: buffer[chosen], history.contexts)
        actions = history.actions[chosen]

        def row_of(context: Context, action: Array) -> Array:
            rows = self.columns.rows(context)
            return rows[0] if len(rows) == 1 else rows[action]

        weight = exists[chosen].astype(jnp.float64)
        columns = jax.vmap(row_of)(contexts, actions)
        return TreeRows(columns, actions, history.rewards[chosen], weight)
