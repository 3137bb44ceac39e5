"""How are random numbers drawn for many seeds at once? As `jax.random` draws them, seeds last.

The numbers are those of `jax.random`, to the last bit. Its generator, Threefry-2x32 (Salmon et al.,
*Parallel random numbers: as easy as 1, 2, 3*, 2011), hashes a counter with a key. Mapped over seeds
it is a loop over arrays with the seeds first, and dealing a block of a simulation takes a third
longer than here, where the rounds of the hash are written out and seeds come last from the
beginning. Keys of another generator are left to `jax.random`.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.numerics.seed_axis import seeds_last

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA

JUST_ABOVE_MINUS_ONE = float(np.nextafter(-1.0, 0.0))


@partial(jax.jit, static_argnums=1)
def uniforms(key: Array, n: int) -> Array:
    """Return n uniform numbers in [0, 1), (n,) float64, as `jax.random.uniform` does."""
    if not _is_threefry(key):
        return jax.random.uniform(key, (n,), dtype=jnp.float64)
    drawn: Array = _uniforms(jax.random.key_data(key), _counts(n))
    return drawn


@partial(jax.jit, static_argnums=1)
def normals(key: Array, n: int) -> Array:
    """Return n standard normal numbers, (n,) float64, as `jax.random.normal` does."""
    if not _is_threefry(key):
        return jax.random.normal(key, (n,), dtype=jnp.float64)
    drawn: Array = _normals(jax.random.key_data(key), _counts(n))
    return drawn


@partial(jax.jit, static_argnums=1)
def categories(key: Array, n: int, cumulative: Array) -> Array:
    """Draw n numbers of 0..X-1, (n,) int32, by their cumulative probabilities (X,)."""
    if not _is_threefry(key):
        return _count_reached(jax.random.uniform(key, (n,), dtype=jnp.float64), cumulative)
    drawn: Array = _categories(jax.random.key_data(key), _counts(n), cumulative)
    return drawn


@partial(jax.jit, static_argnums=1)
def keys(key: Array, n: int) -> Array:
    """Return n keys, as `jax.random.split` does."""
    if not _is_threefry(key):
        return jax.random.split(key, n)
    split: Array = jax.random.wrap_key_data(_split_words(jax.random.key_data(key), _counts(n)))
    return split


def is_key(leaf: Any) -> bool:
    """Return whether something is a random key, or an array of them."""
    return isinstance(leaf, Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def key_words(leaf: Any) -> Any:
    """Return the words of a random key, and anything else as it is."""
    return jax.random.key_data(leaf) if is_key(leaf) else leaf


def _is_threefry(key: Array) -> bool:
    return is_key(key) and str(jax.random.key_impl(key)) == "threefry2x32"


def _counts(n: int) -> Array:
    return jnp.arange(n, dtype=jnp.uint32)


# Below, arguments are the words of a key (2, ...) and counters (n, ...); seeds are the last axis.


def _hash_counters(words: Array, counts: Array) -> tuple[Array, Array]:
    """Return two words for each counter, (n, ...) each."""
    first, second = words[0], words[1]
    schedule = (first, second, first ^ second ^ jnp.uint32(PARITY))
    x, y = jnp.zeros_like(counts) + first, counts + second
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = x + y
            y = x ^ ((y << jnp.uint32(rotation)) | (y >> jnp.uint32(32 - rotation)))
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + jnp.uint32(group + 1)
    return x, y


def _unit(words: Array, counts: Array) -> Array:
    """Return the first 52 bits of a hash as a number in [0, 1)."""
    high, low = (word.astype(jnp.uint64) for word in _hash_counters(words, counts))
    bits = (high << jnp.uint64(32)) | low
    from_one = (bits >> jnp.uint64(12)) | jnp.uint64(0x3FF0000000000000)
    return jax.lax.bitcast_convert_type(from_one, jnp.float64) - 1.0


_uniforms = seeds_last(_unit)


@seeds_last
def _normals(words: Array, counts: Array) -> Array:
    low = JUST_ABOVE_MINUS_ONE
    u = jnp.maximum(_unit(words, counts) * (1.0 - low) + low, low)
    return jnp.asarray(np.sqrt(2.0) * jax.lax.erf_inv(u))


@seeds_last
def _categories(words: Array, counts: Array, cumulative: Array) -> Array:
    return _count_reached(_unit(words, counts), cumulative)


def _count_reached(u: Array, cumulative: Array) -> Array:
    """Return how many of the cumulative probabilities (X, ...) each of u (n, ...) has reached."""
    reached = (cumulative[:, None] <= u[None]).sum(0)
    return jnp.minimum(reached, cumulative.shape[0] - 1).astype(jnp.int32)


@seeds_last
def _split_words(words: Array, counts: Array) -> Array:
    return jnp.stack(_hash_counters(words, counts), axis=1)
