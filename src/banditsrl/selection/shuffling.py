"""How are samples shuffled without storing a permutation? By computing it position by position."""

import jax
import jax.numpy as jnp
from jax import Array


def shuffle(position: Array, size: Array, salt: Array) -> Array:
    """Return the image of each position under a permutation of 0..size-1 (int32).

    Each salt gives another permutation. It is a Feistel network on pairs (l, r) with l < a, r < b
    and a b slightly above `size`. A result of `size` or more is encrypted again until it is
    smaller, so that the whole map is a permutation.
    """
    size = jnp.asarray(size).astype(jnp.uint32)
    a = jnp.ceil(jnp.sqrt(size.astype(jnp.float32))).astype(jnp.uint32)
    b = (size + a - 1) // a
    start = jnp.asarray(position).astype(jnp.uint32)
    salt = jnp.broadcast_to(jnp.asarray(salt).astype(jnp.uint32), start.shape)

    def encrypt(x: Array) -> Array:
        left, right = x // b, x % b
        for k in range(3):
            left = (left + mix_bits(right ^ mix_bits(salt + jnp.uint32(2 * k))) % a) % a
            right = (right + mix_bits(left ^ mix_bits(salt + jnp.uint32(2 * k + 1))) % b) % b
        return left * b + right

    def walk(x: Array) -> Array:
        return jnp.where(x >= size, encrypt(x), x)

    inside = jax.lax.while_loop(lambda x: (x >= size).any(), walk, encrypt(start))
    return inside.astype(jnp.int32)


def mix_bits(x: Array) -> Array:
    """Mix x (uint32) with MurmurHash3's finalizer: each bit affects every bit of the result."""
    x = jnp.asarray(x).astype(jnp.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> shift)) * jnp.uint32(factor)
    return x ^ (x >> 16)
