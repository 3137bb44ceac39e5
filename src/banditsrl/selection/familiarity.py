"""Has a policy seen contexts like this one? It counts how often values and pairs of values occur.

A predictor gives a prediction for every context, also for one with a value that it has never seen,
and predictors that were fitted to halves of the same rounds agree there although none of them has
data. So a context is certified only if it is familiar. Columns are divided into
coarse and into fine bins, and pairs of columns into cells. A context is familiar if

- of every column, the rounds of the last fit had a value in the same coarse bin at least `FEWEST`
  times, and
- none of its fine bins and cells has become much more frequent since: in the rounds since the fit
  each came at most `MORE_OFTEN` times as often as before, plus `SLACK` times.

The first condition notices values that are far from all others at once. The second one notices what
is new in other ways after a few rounds: a code among known codes, familiar values that come
together for the first time, a rare kind of context that becomes common. With many columns, a random
choice of `MOST_PAIRS` pairs stands for all of them.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

N_FINE, N_COARSE = 128, 16
"""Fine and coarse bins of a standardised column; a cell of a pair is a pair of coarse bins."""

RANGE = 5.0
"""Standardised columns lie between minus this and this."""

FEWEST = 3
"""Rounds that the last fit must have had in every coarse bin of a context."""

MORE_OFTEN, SLACK = 3.0, 5.0
"""How much more often a bin or cell may come than before while it counts as equally frequent."""

MOST_PAIRS = 120
"""All pairs of up to 16 columns."""


class ValueCounts(NamedTuple):
    """Numbers of rounds: in the coarse bins of all columns, their fine bins, the cells of pairs."""

    fitted: Array  # (C,) int32, of the rounds that the predictors were fitted to
    since: Array  # the same of the rounds since then
    n_fitted: Array  # () number of fitted rounds
    n_since: Array  # () number of rounds since then
    grown: Array  # (C,) which bins and cells once became much more frequent after a fit


def empty_counts(n_columns: int) -> ValueCounts:
    """Return the counts before the first round."""
    size = n_columns * (N_COARSE + N_FINE) + len(choose_pairs(n_columns)) * N_COARSE**2
    nothing, none = jnp.zeros(size, dtype=jnp.int32), jnp.zeros((), dtype=jnp.int32)
    return ValueCounts(nothing, nothing, none, none, nothing.astype(bool))


def add_fitted(counts: ValueCounts, values: Array, valid: Array) -> ValueCounts:
    """Return the counts after a fit to more rounds with values (n, m), of which some are valid."""
    places = _places(values)
    more = jnp.broadcast_to(valid[:, None], places.shape).astype(jnp.int32)
    n_fitted = counts.n_fitted + valid.sum(dtype=jnp.int32)
    return counts._replace(fitted=counts.fitted.at[places].add(more), n_fitted=n_fitted)


def add_values(counts: ValueCounts, values: Array) -> ValueCounts:
    """Return the counts after one more round with the given values (m,)."""
    since = counts.since.at[_places(values)].add(1)
    return counts._replace(since=since, n_since=counts.n_since + 1)


def is_familiar(counts: ValueCounts, values: Array) -> Array:
    """Return whether a context with the given values (m,) is familiar, ()."""
    places, m = _places(values), len(values)
    more = _has_grown(counts, counts.fitted[places], counts.since[places])
    return (counts.fitted[places[:m]] >= FEWEST).all() & ~more[m:].any()


def is_late(counts: ValueCounts, values: Array) -> Array:
    """Return whether values (m,), or pairs of them, once became much more frequent, ()."""
    return counts.grown[_places(values)[len(values) :]].any()


def count_anew(counts: ValueCounts) -> ValueCounts:
    """Return counts of no rounds that remember what has become more frequent until now."""
    more = _has_grown(counts, counts.fitted, counts.since) & (counts.n_fitted > 0)
    nothing, none = jnp.zeros_like(counts.fitted), jnp.zeros_like(counts.n_fitted)
    return ValueCounts(nothing, nothing, none, none, counts.grown | more)


def _has_grown(counts: ValueCounts, fitted: Array, since: Array) -> Array:
    """Return which bins and cells came much more often since the fit than before."""
    expected = fitted * (counts.n_since / jnp.maximum(counts.n_fitted, 1))
    return since > MORE_OFTEN * expected + SLACK


def choose_pairs(n_columns: int) -> NDArray[np.int64]:
    """Return the pairs of columns that are counted, (pairs, 2)."""
    pairs = np.column_stack(np.triu_indices(n_columns, 1))
    if len(pairs) <= MOST_PAIRS:
        return pairs
    chosen = np.random.default_rng(0).choice(len(pairs), MOST_PAIRS, replace=False)
    return pairs[np.sort(chosen)]


def _places(values: Array) -> Array:
    """Return where values (..., m) and their pairs are counted: m coarse, m fine bins, cells."""
    m = values.shape[-1]
    pairs = choose_pairs(m)
    coarse, fine = _bins(values, N_COARSE), _bins(values, N_FINE)
    cells = coarse[..., pairs[:, 0]] * N_COARSE + coarse[..., pairs[:, 1]]
    sizes = [N_COARSE] * m + [N_FINE] * m + [N_COARSE**2] * len(pairs)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    return jnp.concatenate([coarse, fine, cells], axis=-1) + first


def _bins(values: Array, n_bins: int) -> Array:
    """Return the bin of every value."""
    share = (values + RANGE) / (2.0 * RANGE)
    return jnp.clip((share * n_bins).astype(jnp.int32), 0, n_bins - 1)
