"""How is an action drawn from a distribution, and which actions are best? Ties are drawn fairly."""

import jax
import jax.numpy as jnp
from jax import Array

ROUNDING = 1e-12
"""Values that differ by less, relative to the largest of them, are equal."""


def uniform_from_key(key: Array) -> Array:
    """Return a uniform number in [0, 1) from the bits of a key that is used for nothing else.

    A full pass of the generator in every step would cost a tenth of the whole loop. The bits of a
    key that came from splitting are random already; the mixing (MurmurHash3's finalizer) makes up
    for keys that were made from small integers.
    """
    mixed = jnp.zeros((), dtype=jnp.uint32)
    for word in jax.random.key_data(key).astype(jnp.uint32).ravel():
        mixed = (mixed ^ word) + jnp.uint32(0x9E3779B9)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            mixed = (mixed ^ (mixed >> shift)) * jnp.uint32(factor)
        mixed = mixed ^ (mixed >> 16)
    return (mixed >> 8).astype(jnp.float64) * 2.0**-24


def draw_action(pmf: Array, u: Array) -> Array:
    """Return the action at quantile u in [0, 1) of pmf (A,), never one of probability zero."""
    n = pmf.shape[0]
    cumulative = (jnp.tri(n, dtype=pmf.dtype) * pmf).sum(1)  # (A,)
    action = (cumulative[:-1] <= u * cumulative[-1]).sum(dtype=jnp.int32)
    last_possible = jnp.where(pmf > 0, jnp.arange(n), 0).max().astype(jnp.int32)
    return jnp.minimum(action, last_possible)


def uniform_over(chosen: Array) -> Array:
    """Return equal probability on every True of chosen (A,)."""
    return chosen / chosen.sum()


def maximisers(values: Array) -> Array:
    """Return which actions attain the maximum of values (A,), up to rounding.

    XLA may compute a value once for the maximum and again for the comparison, and these may differ
    in the last bit. Without slack it could happen that no action attains the maximum.
    """
    size = jnp.where(jnp.isfinite(values), jnp.abs(values), 0.0).max()
    return values >= values.max() - ROUNDING * size


def draw_best(index: Array, key: Array) -> tuple[Array, Array]:
    """Return an action of largest index (A,), drawn among equals, and the distribution."""
    pmf = uniform_over(maximisers(index))
    return draw_action(pmf, uniform_from_key(key)), pmf
