"""At which rate are rows accepted? At a fixed one, or at a quantile of the ratios seen so far.

The acceptance probability is min(1, rate * pi / p). A rate of at most the smallest p / pi never
reaches 1, and accepts few rows if one ratio is tiny. A quantile q of the values p / pi seen so far
accepts more rows, and about a share q of them with too small a probability (Dudik, Erhan, Langford
and Li, *Sample-efficient nonstationary policy evaluation for contextual bandits*, 2012).

The quantile comes from counts in bins that are one percent wide, and is rounded down to the end of
its bin, so that the memory does not grow with the log.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from banditsrl.numerics.precision import in_float64

BINS_PER_OCTAVE = 64
N_OCTAVES = 20
"""Values of p / pi below 2^-20 count as 2^-20, and values above 1 (or infinite ones) as 1."""

N_BINS = BINS_PER_OCTAVE * N_OCTAVES + 1

SLACK = 1e-9
"""Share of a bin by which a value at its end may be off by rounding."""


class AcceptanceRate(NamedTuple):
    """The rate, and what decides the next one; a fixed rate has no quantile."""

    rate: Array  # ()
    largest: Array  # ()
    quantile: Array | None  # ()
    counts: Array | None  # (N_BINS,) of the values p / pi


@in_float64
def fixed_rate(rate: float) -> AcceptanceRate:
    """Return a rate that does not change."""
    value = jnp.asarray(rate, dtype=jnp.float64)
    return AcceptanceRate(value, value, None, None)


@in_float64
def rate_by_quantile(quantile: float, largest: float) -> AcceptanceRate:
    """Return a rate that follows a quantile of p / pi; it starts with the largest one."""
    value = jnp.asarray(largest, dtype=jnp.float64)
    counts = jnp.zeros(N_BINS, dtype=jnp.int32)
    return AcceptanceRate(value, value, jnp.asarray(quantile, dtype=jnp.float64), counts)


def note_ratio(rate: AcceptanceRate, ratio: Array) -> AcceptanceRate:
    """Return the counts after one more row, with pi / p as its ratio; the rate stays."""
    if rate.counts is None:
        return rate
    octave = N_OCTAVES - jnp.log2(jnp.where(ratio > 0, ratio, 1.0))
    place = jnp.floor(octave * BINS_PER_OCTAVE + SLACK).astype(jnp.int32)
    place = jnp.where(ratio > 0, jnp.clip(place, 0, N_BINS - 1), N_BINS - 1)
    return rate._replace(counts=rate.counts.at[place].add(1))


def update_rate(rate: AcceptanceRate) -> AcceptanceRate:
    """Return the rate after an accepted row: the quantile of all values seen, or as it was."""
    if rate.counts is None or rate.quantile is None:
        return rate
    total = jnp.cumsum(rate.counts)
    place = jnp.argmax(total > rate.quantile * total[-1])
    edge = 2.0 ** (place / BINS_PER_OCTAVE - N_OCTAVES)
    return rate._replace(rate=jnp.minimum(rate.largest, edge))
