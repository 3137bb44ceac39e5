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

LANES = 4
"""Sums are computed in vectors of so many numbers. Rows that end within one take twice as long."""

CHANCE = 0.01
"""Probability with which the best question of a level passes for better than chance under noise."""


class RowTable(NamedTuple):
    """The rows of a fit in random order, P of them; those that do not exist have weight 0."""

    rows: Array  # (P, m) columns of each row
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
        rows=values,
        actions=actions.astype(jnp.int32),
        weight=weight.astype(jnp.float32),
        counts=counts.astype(jnp.float32),
        lowest=lowest,
        n=valid.sum(),
        n_first=n_first,
    )


class Sample(NamedTuple):
    """The rows on which the questions of one tree are chosen, S of them.

    Each has two parts: its weight, and its weight times its residual. Column k < K of a part is
    zero where the answer to question k is no, column K holds all rows, and zeros follow.
    """

    parts: Array  # (S, 2, W)
    actions: Array  # (S,)
    n_blocks: Array  # () blocks that hold rows
    variance: Array  # () mean of the squared residuals; 1 if all are 0


def draw_sample(
    key: Array, table: RowTable, residuals: Array, asked: Questions, buffer: Array
) -> Sample:
    """Return the rows that choose among the questions of one tree.

    Args:
        key: Decides which rows are drawn.
        table: The rows.
        residuals: Their residuals, (P,).
        asked: The K questions.
        buffer: Room for the parts of the sample, zeros or the parts of another sample of the table.
    """
    K, (size, _, width) = len(asked.which), buffer.shape
    places = place_blocks(key, table, size)
    n_blocks = (jnp.minimum(table.n, size) + BLOCK - 1) // BLOCK
    which = jnp.pad(asked.which, (0, width - K))  # (W,)
    cuts = jnp.pad(asked.cuts, (0, width - K), constant_values=jnp.inf).at[K].set(-jnp.inf)

    def answer(i: Array, parts: Array) -> Array:
        columns, weight, rest = (
            jax.lax.dynamic_slice_in_dim(array, places[i], BLOCK)
            for array in (table.rows, table.weight, residuals)
        )
        yes = columns[:, which] >= cuts  # (BLOCK, W)
        mass = jnp.stack([weight, weight * rest], axis=1)  # (BLOCK, 2)
        block = jnp.where(yes[:, None], mass[:, :, None], 0.0)
        return jax.lax.dynamic_update_slice_in_dim(parts, block, i * BLOCK, axis=0)

    parts = jax.lax.fori_loop(0, n_blocks, answer, buffer)
    actions = table.actions[(places[:, None] + jnp.arange(BLOCK)).ravel()]
    return Sample(parts, actions, n_blocks, _mean_square(parts[:, :, K]))


def empty_parts(table: RowTable, *, n_rows: int, n_questions: int) -> Array:
    """Return room for the parts of a sample of at most `n_rows` rows, (S, 2, W)."""
    size = min(n_rows + -n_rows % BLOCK, len(table.weight))
    width = n_questions + 1
    return jnp.zeros((size, 2, width + -width % LANES), dtype=jnp.float32)


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


def choose_questions(
    sample: Sample, *, depth: int, n_actions: int, n_questions: int, l2: float
) -> Level:
    """Return the questions of one tree, (D,) in each field: on each level that of largest gain."""
    n_cells = 2 ** (depth - 1) * n_actions
    parts = sample.parts.reshape(len(sample.parts), -1)

    def add_level(d: Array, carry: tuple[Array, Level]) -> tuple[Array, Level]:
        leaf, levels = carry
        cells = leaf * n_actions + sample.actions
        sums = sum_blocks(parts, cells, n_cells, sample.n_blocks)
        level = _judge_best(_split(sums, n_questions), sample.variance, l2)
        levels = Level(*(old.at[d].set(new) for old, new in zip(levels, level, strict=True)))
        return 2 * leaf + (parts[:, level.question] > 0.0), levels

    nothing = jnp.zeros(depth, dtype=jnp.float32)
    empty = Level(nothing.astype(jnp.int32), nothing, nothing)
    leaf = jnp.zeros(len(sample.actions), dtype=jnp.int32)
    found: Level = jax.lax.fori_loop(0, depth, add_level, (leaf, empty))[1]
    return found


class CellSums(NamedTuple):
    """Sums over the rows of each cell."""

    mass: Array  # (cells, K) weight where the answer is yes
    residuals: Array  # (cells, K) weight times residual where the answer is yes
    all_mass: Array  # (cells,)
    all_residuals: Array  # (cells,)


def _split(sums: Array, n_questions: int) -> CellSums:
    """Return the sums (cells, 2 W) of both parts, question by question and of all rows."""
    mass, residuals = jnp.split(sums, 2, axis=1)  # (cells, W)
    K = n_questions
    return CellSums(mass[:, :K], residuals[:, :K], mass[:, K], residuals[:, K])


def _judge_best(sums: CellSums, variance: Array, l2: float) -> Level:
    """Return the level of the question of largest gain."""
    found = gains(sums, l2)
    best, K = jnp.argmax(found), len(found)
    parts = sums.mass[:, best], sums.all_mass - sums.mass[:, best], sums.all_mass  # yes, no, all
    gain = found[best] - (sums.all_residuals**2 / (parts[2] + l2)).sum()
    yes, no, both = ((part / (part + l2)).sum() for part in parts)  # free values, shrunk by l2
    free, x = jnp.maximum(yes + no - both, 0.0), jnp.log(K / CHANCE)
    chance = free + 2.0 * jnp.sqrt(free * x) + 2.0 * x
    return Level(best.astype(jnp.int32), gain / variance, chance)


def _mean_square(parts: Array) -> Array:
    """Return the mean of the squared residuals of rows from their two parts (S, 2)."""
    weight, weighted = parts[:, 0], parts[:, 1]
    squares = (weighted**2 / jnp.where(weight > 0.0, weight, 1.0)).sum()
    return jnp.where(squares > 0.0, squares / weight.sum(), 1.0)


def draw_questions(key: Array, table: RowTable, n_questions: int) -> Questions:
    """Return random questions: equally many of each column, at the values of random rows.

    A cut at the least value of a column would not split anything, so it is moved up to the next
    value. This also gives rare flags their chance.
    """
    columns_key, rows_key = jax.random.split(key)
    m = table.rows.shape[1]
    shape = -(-n_questions // m), m
    orders = jnp.argsort(jax.random.uniform(columns_key, shape, jnp.float32), axis=1)
    which = orders.ravel()[:n_questions].astype(jnp.int32)
    n = jnp.maximum(table.n, 1).astype(jnp.int32)
    rows = jax.random.randint(rows_key, (n_questions,), 0, n, jnp.int32)
    return Questions(which, jnp.maximum(table.rows[rows, which], table.lowest[which]))


def sum_blocks(parts: Array, cells: Array, n_cells: int, n_blocks: Array) -> Array:
    """Return the sum of parts (S, k) over the rows of each cell, (n_cells, k), block by block."""

    def add_block(i: Array, sums: Array) -> Array:
        some = jax.lax.dynamic_slice_in_dim(parts, i * BLOCK, BLOCK)
        into = jax.lax.dynamic_slice_in_dim(cells, i * BLOCK, BLOCK)
        return sums.at[into].add(some)

    start = jnp.zeros((n_cells, parts.shape[1]), dtype=parts.dtype)
    sums: Array = jax.lax.fori_loop(0, n_blocks, add_block, start)
    return sums


def gains(sums: CellSums, l2: float) -> Array:
    """Return the gain of every question, (K,)."""
    no, no_mass = sums.all_residuals[:, None] - sums.residuals, sums.all_mass[:, None] - sums.mass
    right = sums.residuals**2 / (sums.mass + l2)
    left = no**2 / (no_mass + l2)
    return (right + left).sum(0)


def read_leaves(rows: Array, which: Array, cuts: Array) -> Array:
    """Return the leaf of each row (P, m) in one tree, (P,)."""

    def add_bit(d: Array, leaf: Array) -> Array:
        return 2 * leaf + (rows[:, which[d]] >= cuts[d])

    start = jnp.zeros(len(rows), dtype=jnp.int32)
    leaf: Array = jax.lax.fori_loop(0, len(which), add_bit, start)
    return leaf
