"""How is one oblivious tree grown? Random questions are drawn, and the best is asked on each level.

The best of many questions reduces the squared error even where residuals are noise. So each level
also says what chance would let its question gain: of noise of unit variance, a question gains about
as much as it has free values, and the best of K questions gains more than

    f + 2 sqrt(f x) + 2 x,    x = log(K / CHANCE),

for f free values, with a probability of at most CHANCE (the tail of a chi-square distribution).

Rows are stored in random order, so that a random part of them is a slice. Some come first, and
every tree looks at these: a policy that has learned plays inferior actions rarely, and among
thousands of random rows there would be none of them. Sums over the rows of each leaf and action are
scattered block by block: the cost depends on the number of rows that exist and not on the number of
actions, nor on the capacity of the buffers.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

BLOCK = 128
"""Rows per step of a pass over rows; the number of steps depends on how many rows there are."""


CHANCE = 0.01
"""Probability with which the best question of a level passes for better than chance under noise."""


class RowTable(NamedTuple):
    """The rows of a fit in random order, P of them; those that do not exist have weight 0."""

    columns: Array  # (m, P)
    actions: Array  # (P,) int32
    weight: Array  # (P,) float32
    counts: Array  # (P,) float32, weight of the rows that a row stands for
    lowest: Array  # (m,) smallest cut that splits each column; infinite if it is constant
    n: Array  # () number of rows with a weight
    n_first: Array  # () number of rows that every tree looks at


class Questions(NamedTuple):
    """K questions that one tree may ask."""

    which: Array  # (K,)
    cuts: Array  # (K,)


def random_order(key: Array, valid: Array) -> Array:
    """Return a permutation of the rows, random among the valid ones, which come first."""
    return jnp.argsort(jnp.where(valid, jax.random.uniform(key, valid.shape, jnp.float32), 2.0))


class Draw(NamedTuple):
    """Rows that were drawn for a fit; the first ones are rare."""

    order: Array  # (P,) their numbers
    counts: Array  # (P,) weight of the rows that each of them stands for
    n_first: Array  # () how many rare ones come first


def draw_rows(key: Array, weight: Array, rare: Array, *, n_rows: int, most_rare: int) -> Draw:
    """Return at most `n_rows` random rows with a weight, at most `most_rare` rare ones first."""
    exists = weight > 0.0
    few = random_order(jax.random.fold_in(key, 1), exists & rare)[:most_rare]
    first = jnp.zeros_like(exists).at[few].set(True) & exists & rare
    order = random_order(key, exists)
    order = order[jnp.argsort(~first[order], stable=True)]
    mass, is_other = weight[order], jnp.arange(len(order)) >= first.sum()
    drawn = (mass * is_other)[:n_rows].sum()
    factor = jnp.where(drawn > 0.0, (mass * is_other).sum() / drawn, 1.0)
    counts = jnp.where(is_other, factor, 1.0) * mass
    return Draw(order[:n_rows], counts[:n_rows], first.sum())


def pad_rows(rows: Array) -> Array:
    """Return rows (P, ...) with zeros appended until they fill whole blocks."""
    return jnp.pad(rows, [(0, -len(rows) % BLOCK), *[(0, 0)] * (rows.ndim - 1)])


def make_table(
    columns: Array, actions: Array, weight: Array, counts: Array, n_first: Array
) -> RowTable:
    """Return the table of rows whose valid ones come first; they fill whole blocks."""
    valid = weight > 0.0
    values = jnp.where(valid[:, None], columns, jnp.inf)
    lowest = jnp.where(values > values.min(0), values, jnp.inf).min(0)
    return RowTable(
        columns=values.T,
        actions=actions.astype(jnp.int32),
        weight=weight.astype(jnp.float32),
        counts=counts.astype(jnp.float32),
        lowest=lowest,
        n=valid.sum(),
        n_first=n_first,
    )


class Sample(NamedTuple):
    """The rows on which the questions of one tree are chosen, S of them."""

    parts: Array  # (S, 2 (K + 1)) weight, then weight times residual, where the answer is yes
    actions: Array  # (S,)
    n_blocks: Array  # () blocks that hold rows
    variance: Array  # () mean of the squared residuals; 1 if all are 0


def draw_sample(
    key: Array, table: RowTable, residuals: Array, *, n_rows: int, n_questions: int
) -> tuple[Questions, Sample]:
    """Return the random questions of one tree, and the rows that choose among them."""
    place_key, questions_key = jax.random.split(key)
    asked = draw_questions(questions_key, table, n_questions)
    size = min(n_rows + -n_rows % BLOCK, len(residuals))
    places = place_blocks(place_key, table, size)
    n_blocks = (jnp.minimum(table.n, size) + BLOCK - 1) // BLOCK

    def answer(i: Array, parts: Array) -> Array:
        columns, weight, rest = (
            jax.lax.dynamic_slice_in_dim(array, places[i], BLOCK, axis=-1)
            for array in (table.columns, table.weight, residuals)
        )
        yes = columns[asked.which] >= asked.cuts[:, None]  # (K, BLOCK)
        mass = jnp.concatenate([yes, jnp.ones((1, BLOCK), dtype=bool)]) * weight
        block = jnp.concatenate([mass, mass * rest]).T
        return jax.lax.dynamic_update_slice_in_dim(parts, block, i * BLOCK, axis=0)

    empty = jnp.zeros((size, 2 * (n_questions + 1)), dtype=jnp.float32)
    parts = jax.lax.fori_loop(0, n_blocks, answer, empty)
    actions = table.actions[(places[:, None] + jnp.arange(BLOCK)).ravel()]
    return asked, Sample(parts, actions, n_blocks, _mean_square(parts))


def place_blocks(key: Array, table: RowTable, size: int) -> Array:
    """Return where the blocks of a sample of `size` rows start in the table, (size / BLOCK,).

    The first blocks are those of the rare rows, if not all rows fit. The others are consecutive
    ones from a random place on, because the table is in random order.
    """
    n_starts = jnp.maximum(table.n - size, 0).astype(jnp.int32) + 1
    first = jax.random.randint(key, (), 0, n_starts, jnp.int32)
    n_rare = jnp.where(table.n > size, -(-table.n_first // BLOCK), 0)
    block = jnp.arange(size // BLOCK, dtype=jnp.int32)
    places: Array = BLOCK * block + jnp.where(block < n_rare, 0, first)
    return places


class Level(NamedTuple):
    """The question of one level."""

    question: Array  # () int32, its number among the K
    gain: Array  # () by how much it reduces the squared error, in units of the error of a row
    chance: Array  # () what the best of K questions would gain of noise at the most


def choose_questions(sample: Sample, *, depth: int, n_actions: int, l2: float) -> Level:
    """Return the questions of one tree, (D,) in each field: on each level that of largest gain."""

    def add_level(d: Array, carry: tuple[Array, Level]) -> tuple[Array, Level]:
        leaf, levels = carry
        cells = leaf * n_actions + sample.actions
        sums = sum_blocks(sample.parts, cells, 2 ** (depth - 1) * n_actions, sample.n_blocks)
        level = _judge_best(sums, jnp.argmax(gains(sums, l2)), sample.variance, l2)
        levels = Level(*(old.at[d].set(new) for old, new in zip(levels, level, strict=True)))
        return 2 * leaf + (sample.parts[:, level.question] > 0.0), levels

    nothing = jnp.zeros(depth, dtype=jnp.float32)
    empty = Level(nothing.astype(jnp.int32), nothing, nothing)
    leaf = jnp.zeros(len(sample.actions), dtype=jnp.int32)
    found: Level = jax.lax.fori_loop(0, depth, add_level, (leaf, empty))[1]
    return found


def _judge_best(sums: Array, best: Array, variance: Array, l2: float) -> Level:
    """Return the level of the best question, from sums (cells, 2 (K + 1)); the last is all."""
    mass, residuals = jnp.split(sums, 2, axis=1)
    K = mass.shape[1] - 1
    parts = mass[:, best], mass[:, K] - mass[:, best], mass[:, K]  # yes, no, all
    gain = gains(sums, l2)[best] - (residuals[:, K] ** 2 / (parts[2] + l2)).sum()
    yes, no, both = ((part / (part + l2)).sum() for part in parts)  # free values, shrunk by l2
    free, x = jnp.maximum(yes + no - both, 0.0), jnp.log(K / CHANCE)
    chance = free + 2.0 * jnp.sqrt(free * x) + 2.0 * x
    return Level(best.astype(jnp.int32), gain / variance, chance)


def _mean_square(parts: Array) -> Array:
    """Return the mean of the squared residuals of the rows in parts (S, 2 (K + 1))."""
    weight, weighted = jnp.split(parts, 2, axis=1)
    weight, weighted = weight[:, -1], weighted[:, -1]
    squares = (weighted**2 / jnp.where(weight > 0.0, weight, 1.0)).sum()
    return jnp.where(squares > 0.0, squares / weight.sum(), 1.0)


def draw_questions(key: Array, table: RowTable, n_questions: int) -> Questions:
    """Return random questions: equally many of each column, at the values of random rows.

    A cut at the least value of a column would not split anything, so it is moved up to the next
    value. This also gives rare flags their chance.
    """
    columns_key, rows_key = jax.random.split(key)
    m = len(table.columns)
    shape = -(-n_questions // m), m
    orders = jnp.argsort(jax.random.uniform(columns_key, shape, jnp.float32), axis=1)
    which = orders.ravel()[:n_questions].astype(jnp.int32)
    n = jnp.maximum(table.n, 1).astype(jnp.int32)
    rows = jax.random.randint(rows_key, (n_questions,), 0, n, jnp.int32)
    return Questions(which, jnp.maximum(table.columns[which, rows], table.lowest[which]))


def sum_blocks(parts: Array, cells: Array, n_cells: int, n_blocks: Array) -> Array:
    """Return the sum of parts (S, k) over the rows of each cell, (n_cells, k), block by block."""

    def add_block(i: Array, sums: Array) -> Array:
        some = jax.lax.dynamic_slice_in_dim(parts, i * BLOCK, BLOCK)
        into = jax.lax.dynamic_slice_in_dim(cells, i * BLOCK, BLOCK)
        return sums.at[into].add(some)

    start = jnp.zeros((n_cells, parts.shape[1]), dtype=parts.dtype)
    sums: Array = jax.lax.fori_loop(0, n_blocks, add_block, start)
    return sums


def gains(sums: Array, l2: float) -> Array:
    """Return the gain of every question, (K,), from sums (cells, 2 (K + 1)); the last is all."""
    mass, residuals = jnp.split(sums, 2, axis=1)  # (cells, K + 1)
    right = residuals[:, :-1] ** 2 / (mass[:, :-1] + l2)
    left = (residuals[:, -1:] - residuals[:, :-1]) ** 2 / (mass[:, -1:] - mass[:, :-1] + l2)
    return (right + left).sum(0)


def read_leaves(columns: Array, which: Array, cuts: Array) -> Array:
    """Return the leaf of each row of columns (m, P) in one tree, (P,)."""

    def add_bit(d: Array, leaf: Array) -> Array:
        return 2 * leaf + (columns[which[d]] >= cuts[d])

    start = jnp.zeros(columns.shape[1], dtype=jnp.int32)
    leaf: Array = jax.lax.fori_loop(0, len(which), add_bit, start)
    return leaf
