"""How are rewards predicted by trees? By boosted oblivious trees, fitted and read compiled.

An oblivious tree asks the same question of all contexts on one level, "is column j at least c?", so
a leaf is D comparisons read as D bits. One model predicts all actions: questions are shared, and
every leaf has one value per action,

    f(x)_a = base_a + sum_t v_t[leaf_t(x), a].

The fit is gradient boosting of the squared error. A tree draws K questions at random, each a column
and the value of that column in a random row. On each level the question of largest gain,

    sum over leaves l, actions a and sides s of  (sum of residuals)^2 / (weight + l2),

is asked of all leaves. A leaf's values are sums of residuals over weight + l2, times the learning
rate. Only the order of a column's values matters, so any scale and integer codes will do. Random
questions make a fit cheap: its cost is the number of rows times K, whatever the number of actions.

Which rows are *alike*? Those that give the same answers to the first questions of a tree, up to the
last one that is better than chance: the questions after it divide rows between which the data show
no difference. How much this says depends on how much these questions explain.
"""

from dataclasses import KW_ONLY
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import count, positive
from banditsrl.core.settings import setting
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.tree_growth import (
    BLOCK,
    Level,
    Questions,
    RowTable,
    Sample,
    choose_questions,
    draw_questions,
    draw_rows,
    draw_sample,
    empty_parts,
    make_table,
    pad_rows,
    read_leaves,
    sum_blocks,
)


class TreeWeights(NamedTuple):
    """T oblivious trees of depth D."""

    which: Array  # (T, D) int32, the column of each question
    cuts: Array  # (T, D) the bit is set where the column is at least this
    values: Array  # (T, 2^D, A)
    base: Array  # (A,) prediction before the first tree
    masses: Array  # (T, 2^D, A) float32, weight of the rows in each leaf and action
    alike: Array  # the same of the rows that are alike to those in each leaf
    shares: Array  # (T,) float32, how much each tree says about what is alike; at most 1 in all


class Trees(eqx.Module):
    """Boosted oblivious trees with one value per leaf and action.

    Args:
        n_actions: Number of actions A.
        n_columns: Number of columns m of a context.

    Example:
        >>> import jax, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x, played = rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000)
        >>> rewards = (x[:, 0] * x[:, 1] > 0) == played
        >>> trees = Trees(n_actions=2, n_columns=3)
        >>> weights = trees.fit(jax.random.key(0), x, played, rewards, np.ones(2000))
        >>> int(np.asarray(trees.predict(weights, np.array([1.0, -1.0, 0.0]))).argmax())
        0
    """

    n_actions: int = eqx.field(static=True)
    n_columns: int = eqx.field(static=True)
    _: KW_ONLY
    n_trees: int = setting(40, "Number of trees T.")
    depth: int = setting(6, "Number of questions D of a tree.")
    rate: float = setting(0.25, "Learning rate, by which the values of a tree are multiplied.")
    l2: float = setting(3.0, "Shrinkage of the values of a leaf towards 0, in rows.")
    n_questions: int = setting(128, "Number of random questions from which a tree chooses.")
    n_rows: int = setting(16384, "Most rows of a fit; it draws them at random if there are more.")
    n_rows_of_tree: int = setting(4096, "Most rows on which the questions of a tree are chosen.")

    def __check_init__(self) -> None:
        count("n_actions", self.n_actions)
        count("n_columns", self.n_columns)
        count("n_trees", self.n_trees)
        count("depth", self.depth)
        count("n_questions", self.n_questions)
        count("n_rows", self.n_rows)
        count("n_rows_of_tree", self.n_rows_of_tree)
        positive("rate", self.rate)
        positive("l2", self.l2)

    @in_float64
    def init(self) -> TreeWeights:
        """Return trees that predict 0."""
        T, D, A = self.n_trees, self.depth, self.n_actions
        return TreeWeights(
            which=jnp.zeros((T, D), dtype=jnp.int32),
            cuts=jnp.zeros((T, D), dtype=jnp.float64),
            values=jnp.zeros((T, 2**D, A), dtype=jnp.float64),
            base=jnp.zeros(A, dtype=jnp.float64),
            masses=jnp.zeros((T, 2**D, A), dtype=jnp.float32),
            alike=jnp.zeros((T, 2**D, A), dtype=jnp.float32),
            shares=jnp.zeros(T, dtype=jnp.float32),
        )

    @in_float64
    def leaves(self, weights: TreeWeights, columns: ArrayLike) -> Array:
        """Return the leaf of each tree that a context (m,) falls into, (T,) int32."""
        bits = jnp.asarray(columns)[jnp.asarray(weights.which)] >= weights.cuts  # (T, D)
        return (bits * 2 ** jnp.arange(self.depth - 1, -1, -1)).sum(1).astype(jnp.int32)

    @in_float64
    def predict(self, weights: TreeWeights, columns: ArrayLike) -> Array:
        """Return the predicted reward of every action in a context (m,), (A,)."""
        leaf = self.leaves(weights, columns)
        found = jnp.asarray(weights.values)[jnp.arange(self.n_trees), leaf]  # (T, A)
        return weights.base + found.sum(0)

    @in_float64
    def count_near(self, weights: TreeWeights, columns: ArrayLike) -> Array:
        """Return how many rows of every action lie in the leaf of a context (m,), (T, A)."""
        leaf = self.leaves(weights, columns)
        return jnp.asarray(weights.masses)[jnp.arange(self.n_trees), leaf]

    @in_float64
    def count_alike(self, weights: TreeWeights, columns: ArrayLike) -> Array:
        """Return how many rows of every action are alike to a context (m,), (T, A)."""
        leaf = self.leaves(weights, columns)
        return jnp.asarray(weights.alike)[jnp.arange(self.n_trees), leaf]

    @in_float64
    def fit(
        self,
        key: Array,
        columns: ArrayLike,
        actions: ArrayLike,
        rewards: ArrayLike,
        weight: ArrayLike,
        rare: ArrayLike | None = None,
    ) -> TreeWeights:
        """Return the trees that fit the given rows; without any weight they predict 0.

        Args:
            key: Decides which rows and questions are drawn.
            columns: Columns of the contexts, (N, m).
            actions: The action played in each row, (N,).
            rewards: The reward of each row, (N,).
            weight: Weight of the squared error of each row, (N,); rows of weight 0 are ignored.
            rare: Rows of which as many as possible are used if there are too many rows, (N,).
        """
        order_key, trees_key = jax.random.split(key)
        weight = jnp.asarray(weight)
        rare = jnp.zeros(len(weight), dtype=bool) if rare is None else jnp.asarray(rare)
        sizes = {"n_rows": self.n_rows, "most_rare": self.n_rows_of_tree // 2}
        drawn = draw_rows(order_key, weight, rare, **sizes)
        x, played, y, mass = (
            pad_rows(jnp.asarray(rows)[drawn.order]) for rows in (columns, actions, rewards, weight)
        )
        targets, location, scale = _standardise(y, mass)
        table = make_table(x, played, mass, pad_rows(drawn.counts), drawn.n_first)
        weights = self._boost(trees_key, table, targets.astype(jnp.float32))
        return weights._replace(
            values=weights.values.astype(jnp.float64) * scale,
            base=location + weights.base.astype(jnp.float64) * scale,
        )

    def _boost(self, key: Array, table: RowTable, targets: Array) -> TreeWeights:
        """Return trees for targets (P,) of mean 0 and variance 1."""
        base = self._shrink(self._sum_cells(table, jnp.zeros_like(table.actions), targets, 1)[0])

        def add_tree(
            carry: tuple[Array, Array], drawn: tuple[Array, Questions]
        ) -> tuple[tuple[Array, Array], tuple[Array, ...]]:
            residuals, buffer = carry
            sample = draw_sample(drawn[0], table, residuals, drawn[1], buffer)
            which, cuts, levels = self._choose(drawn[1], sample)
            leaf = read_leaves(table.rows, which, cuts)
            sums = self._sum_cells(table, leaf, residuals, 2**self.depth)  # (2^D, A, 3)
            values, masses = self.rate * self._shrink(sums), sums[..., 2]
            found = jnp.arange(self.depth) <= _last_true(levels.gain > levels.chance)
            alike = self._merge_leaves(masses, found.sum())
            explained = (found * levels.gain).sum(), levels.chance[0]
            tree = which, cuts, values, masses, alike, *explained
            return (residuals - values[leaf, table.actions], sample.parts), tree

        residuals = targets - base[table.actions]
        keys = jax.vmap(jax.random.split)(jax.random.split(key, self.n_trees))  # (T, 2)
        asked = jax.vmap(lambda one: draw_questions(one, table, self.n_questions))(keys[:, 1])
        buffer = empty_parts(table, n_rows=self.n_rows_of_tree, n_questions=self.n_questions)
        _, (*tree, gain, chance) = jax.lax.scan(add_tree, (residuals, buffer), (keys[:, 0], asked))
        which, cuts, values, masses, alike = tree
        shares = gain / (gain.sum() + chance.mean())
        return TreeWeights(which, cuts, values, base, masses, alike, shares)

    def _merge_leaves(self, masses: Array, n_levels: Array) -> Array:
        """Return the sums (2^D, A) over all leaves with the same answers on the first levels."""
        first = jnp.arange(2**self.depth) >> (self.depth - n_levels)
        sums: Array = jax.ops.segment_sum(masses, first, 2**self.depth)[first]
        return sums

    def _shrink(self, sums: Array) -> Array:
        """Return the values of cells from their weights and sums of residuals (..., 3)."""
        return sums[..., 1] / (sums[..., 0] + self.l2)

    def _choose(self, asked: Questions, sample: Sample) -> tuple[Array, Array, Level]:
        """Return the columns (D,) and cuts (D,) of the questions of one tree, and its levels."""
        sizes = {"depth": self.depth, "n_actions": self.n_actions, "n_questions": self.n_questions}
        levels = choose_questions(sample, **sizes, l2=self.l2)
        return asked.which[levels.question], asked.cuts[levels.question], levels

    def _sum_cells(self, table: RowTable, leaf: Array, residuals: Array, n_leaves: int) -> Array:
        """Return weight, sum of residuals, and count of every leaf and action, (n_leaves, A, 3)."""
        parts = jnp.stack([table.weight, table.weight * residuals, table.counts], axis=1)
        cells = leaf * self.n_actions + table.actions
        n_blocks = (table.n + BLOCK - 1) // BLOCK
        sums = sum_blocks(parts, cells, n_leaves * self.n_actions, n_blocks)
        return sums.reshape(n_leaves, self.n_actions, 3)


def _last_true(flags: Array) -> Array:
    """Return the index of the last true flag, or -1 if there is none, ()."""
    return jnp.max(jnp.where(flags, jnp.arange(len(flags)), -1))


def _standardise(rewards: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return rewards (P,) of mean 0 and variance 1, and the location and scale taken out."""
    exists = weight > 0.0
    share = weight / jnp.where(exists.any(), weight.sum(), 1.0)
    location = (share * jnp.where(exists, rewards, 0.0)).sum()
    centred = jnp.where(exists, rewards - location, 0.0)
    spread = jnp.sqrt((share * centred**2).sum())
    scale = jnp.where(spread > 0.0, spread, 1.0)
    return centred / scale, location, scale
