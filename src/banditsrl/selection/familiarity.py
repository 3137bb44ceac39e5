"""Has a policy met contexts like this one? It counts how often values and pairs of values came.

A predictor says something about every context, also about one with a value that it has never met,
and predictors that were fitted to halves of the same rounds agree there although none of them knows
anything. So a certificate asks first whether the context is familiar. Each column is divided into
bins. Its value is familiar if

- the rounds of the last fit had a value in the same bin at least `FEWEST` times, and
- it has not become much more frequent since: in the rounds since the fit, values in this bin came
  at most `MORE_OFTEN` times as often as before, and `SLACK` times more.

Pairs of columns are divided into cells, and the second condition holds for them, too. Otherwise
values that are familiar, each for itself, could come together for the first time. A context is
familiar if all of its values and pairs are. With many columns, a random choice of `MOST_PAIRS`
pairs stands for all of them.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

N_BINS = 128
"""Bins of a standardised column."""

N_COARSE = 16
"""Bins of each of the two columns of a pair, which has the square of this many cells."""

RANGE = 5.0
"""Standardised columns lie between minus this and this."""

FEWEST = 3
"""A value of which the last fit had fewer rounds is not familiar."""

MORE_OFTEN, SLACK = 3.0, 5.0
"""How much more often a value may come than before while it counts as equally frequent."""

MOST_PAIRS = 120
"""All pairs of up to 16 columns."""


class ValueCounts(NamedTuple):
    """In how many rounds there was a value in each bin of m columns, and in each cell of pairs."""

    fitted: Array  # (m bins + pairs cells,) int32, of the rounds that the predictors were fitted to
    since: Array  # the same of the rounds since then
    n_fitted: Array  # () number of the former
    n_since: Array  # () number of the latter


def empty_counts(n_columns: int) -> ValueCounts:
    """Return the counts before the first round."""
    size = n_columns * N_BINS + len(choose_pairs(n_columns)) * N_COARSE**2
    nothing, none = jnp.zeros(size, dtype=jnp.int32), jnp.zeros((), dtype=jnp.int32)
    return ValueCounts(nothing, nothing, none, none)


def add_fitted(counts: ValueCounts, values: Array, valid: Array) -> ValueCounts:
    """Return the counts after a fit to more rounds with values (n, m); others are not valid."""
    more = jnp.broadcast_to(valid[:, None], (len(values), _n_places(values))).astype(jnp.int32)
    fitted = counts.fitted.at[_places(values)].add(more)
    return counts._replace(fitted=fitted, n_fitted=counts.n_fitted + valid.sum(dtype=jnp.int32))


def add_values(counts: ValueCounts, values: Array) -> ValueCounts:
    """Return the counts after one more round with the given values (m,)."""
    since = counts.since.at[_places(values)].add(1)
    return counts._replace(since=since, n_since=counts.n_since + 1)


def is_familiar(counts: ValueCounts, values: Array) -> Array:
    """Return whether a context with the given values (m,) is familiar, ()."""
    places = _places(values)
    fitted, since = counts.fitted[places], counts.since[places]
    expected = fitted * (counts.n_since / jnp.maximum(counts.n_fitted, 1))
    as_often = since <= MORE_OFTEN * expected + SLACK
    return as_often.all() & (fitted[: len(values)] >= FEWEST).all()


def choose_pairs(n_columns: int) -> NDArray[np.int64]:
    """Return the pairs of columns that are counted, (pairs, 2)."""
    pairs = np.column_stack(np.triu_indices(n_columns, 1))
    if len(pairs) <= MOST_PAIRS:
        return pairs
    chosen = np.random.default_rng(0).choice(len(pairs), MOST_PAIRS, replace=False)
    return pairs[np.sort(chosen)]


def _n_places(values: Array) -> int:
    """Return the number of columns and pairs."""
    return values.shape[-1] + len(choose_pairs(values.shape[-1]))


def _places(values: Array) -> Array:
    """Return where the values (..., m) and their pairs are counted, (..., m + pairs)."""
    m = values.shape[-1]
    pairs = choose_pairs(m)
    single = _bins(values, N_BINS) + jnp.arange(m) * N_BINS
    coarse = _bins(values, N_COARSE)
    cells = coarse[..., pairs[:, 0]] * N_COARSE + coarse[..., pairs[:, 1]]
    first = m * N_BINS + jnp.arange(len(pairs)) * N_COARSE**2
    return jnp.concatenate([single, cells + first], axis=-1)


def _bins(values: Array, n_bins: int) -> Array:
    """Return the bin of every value."""
    share = (values + RANGE) / (2.0 * RANGE)
    return jnp.clip((share * n_bins).astype(jnp.int32), 0, n_bins - 1)
