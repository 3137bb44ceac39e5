"""How is one oblivious tree grown? Random questions are drawn, and the best is asked on each level.

Rows are kept in random order, so that a random part of them is a slice. Sums over the rows of each
leaf and action are scattered block by block: the cost depends on the number of rows that exist and
not on the number of actions, nor on the capacity of the buffers.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

BLOCK = 128
"""Rows per step of a pass over rows; the number of steps depends on how many rows there are."""


class RowTable(NamedTuple):
    """The rows of a fit in random order, P of them; those that do not exist have weight 0."""

    columns: Array  # (m, P)
    actions: Array  # (P,) int32
    weight: Array  # (P,) float32
    lowest: Array  # (m,) smallest cut that splits each column; infinite if it is constant
    n: Array  # () number of rows with a weight


class Questions(NamedTuple):
    """K questions that one tree may ask."""

    which: Array  # (K,)
    cuts: Array  # (K,)


def random_order(key: Array, valid: Array) -> Array:
    """Return a permutation of the rows, random among the valid ones, which come first."""
    return jnp.argsort(jnp.where(valid, jax.random.uniform(key, valid.shape, jnp.float32), 2.0))


def pad_rows(rows: Array) -> Array:
    """Return rows (P, ...) with zeros appended until they fill whole blocks."""
    return jnp.pad(rows, [(0, -len(rows) % BLOCK), *[(0, 0)] * (rows.ndim - 1)])


def make_table(columns: Array, actions: Array, weight: Array) -> RowTable:
    """Return the table of rows whose valid ones come first; they fill whole blocks."""
    valid = weight > 0.0
    values = jnp.where(valid[:, None], columns, jnp.inf)
    lowest = jnp.where(values > values.min(0), values, jnp.inf).min(0)
    return RowTable(
        columns=values.T,
        actions=actions.astype(jnp.int32),
        weight=weight.astype(jnp.float32),
        lowest=lowest,
        n=valid.sum(),
    )


class Sample(NamedTuple):
    """The rows on which the questions of one tree are chosen, S of them."""

    parts: Array  # (S, 2 (K + 1)) weight, then weight times residual, where the answer is yes
    actions: Array  # (S,)
    n_blocks: Array  # () blocks that hold rows


def draw_sample(
    key: Array, table: RowTable, residuals: Array, *, n_rows: int, n_questions: int
) -> tuple[Questions, Sample]:
    """Return the random questions of one tree, and the rows that choose among them.

    The rows are consecutive ones from a random place on, because the table is in random order.
    """
    first_key, questions_key = jax.random.split(key)
    asked = draw_questions(questions_key, table, n_questions)
    size = min(n_rows + -n_rows % BLOCK, len(residuals))
    n_starts = jnp.maximum(table.n - size, 0).astype(jnp.int32) + 1
    first = jax.random.randint(first_key, (), 0, n_starts, jnp.int32)
    n_blocks = (jnp.minimum(table.n, size) + BLOCK - 1) // BLOCK

    def answer(i: Array, parts: Array) -> Array:
        columns, weight, rest = (
            jax.lax.dynamic_slice_in_dim(array, first + i * BLOCK, BLOCK, axis=-1)
            for array in (table.columns, table.weight, residuals)
        )
        yes = columns[asked.which] >= asked.cuts[:, None]  # (K, BLOCK)
        mass = jnp.concatenate([yes, jnp.ones((1, BLOCK), dtype=bool)]) * weight
        block = jnp.concatenate([mass, mass * rest]).T
        return jax.lax.dynamic_update_slice_in_dim(parts, block, i * BLOCK, axis=0)

    empty = jnp.zeros((size, 2 * (n_questions + 1)), dtype=jnp.float32)
    parts = jax.lax.fori_loop(0, n_blocks, answer, empty)
    actions = jax.lax.dynamic_slice_in_dim(table.actions, first, size)
    return asked, Sample(parts, actions, n_blocks)


def choose_questions(sample: Sample, *, depth: int, n_actions: int, l2: float) -> Array:
    """Return which question is asked on each level, (D,): the one of largest gain."""

    def add_level(d: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        leaf, chosen = carry
        cells = leaf * n_actions + sample.actions
        sums = sum_blocks(sample.parts, cells, 2 ** (depth - 1) * n_actions, sample.n_blocks)
        best = jnp.argmax(gains(sums, l2)).astype(jnp.int32)
        return 2 * leaf + (sample.parts[:, best] > 0.0), chosen.at[d].set(best)

    start = jnp.zeros(len(sample.actions), dtype=jnp.int32), jnp.zeros(depth, dtype=jnp.int32)
    chosen: Array = jax.lax.fori_loop(0, depth, add_level, start)[1]
    return chosen


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
