"""Does the computed shuffle visit every sample once, in an order that looks random?"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.selection.shuffling import mix_bits, shuffle

SIZES = (1, 2, 3, 7, 100, 1000, 12345)
SALTS = (0, 1, 2, 3, 77, 2**31, 2**32 - 1)
shuffle_quickly = jax.jit(shuffle)


def order(size: int, salt: int) -> Any:
    """Where the positions go; all sizes share one program."""
    positions = np.arange(max(SIZES)) % size
    found = shuffle_quickly(positions.astype(np.uint32), jnp.uint32(size), jnp.uint32(salt))
    return np.asarray(found)[:size]


@pytest.mark.parametrize("size", SIZES)
def test_a_shuffle_is_a_permutation_for_every_salt(size: int) -> None:
    for salt in SALTS:
        found = order(size, salt)
        assert found.dtype == np.int32
        assert np.array_equal(np.sort(found), np.arange(size))


@pytest.mark.parametrize("salt", [23972, 333008])
def test_a_shuffle_is_a_permutation_for_rare_salts_too(salt: int) -> None:
    assert np.array_equal(np.sort(order(12345, salt)), np.arange(12345))


def test_shuffles_of_different_salts_differ() -> None:
    for size in (100, 12345):
        orders = [order(size, salt) for salt in SALTS]
        for i, one in enumerate(orders):
            assert (one == np.arange(size)).mean() < 0.1
            for other in orders[:i]:
                assert (one == other).mean() < 0.1  # one in `size` by chance


def test_every_position_is_moved_to_every_place_about_equally_often() -> None:
    n, size = 7000, 7
    salts = np.random.default_rng(0).integers(2**32, size=n, dtype=np.uint32)
    positions = np.broadcast_to(np.arange(size, dtype=np.uint32), (n, size))
    each = jax.jit(jax.vmap(shuffle, in_axes=(0, None, 0)))
    found = np.asarray(each(positions, jnp.uint32(size), salts))
    deviation = math.sqrt(n * (1 / size) * (1 - 1 / size))
    for place in range(size):
        counts = np.bincount(found[:, place], minlength=size)
        assert np.abs(counts - n / size).max() < 4 * deviation
    rising = (np.diff(found, axis=1) > 0).mean()
    assert rising == pytest.approx(0.5, abs=0.02)  # a shift or a reversal would show


def murmur(h: int) -> int:
    """The finalizer of MurmurHash3 in Python's integers, cut to 32 bits by hand."""
    h ^= h >> 16
    h = h * 0x85EBCA6B % 2**32
    h ^= h >> 13
    h = h * 0xC2B2AE35 % 2**32
    return h ^ (h >> 16)


def test_bits_are_mixed_by_the_finalizer_of_murmurhash3() -> None:
    numbers = [0, 1, 2, 12345, 2**31, 2**32 - 1]
    found = mix_bits(jnp.asarray(np.array(numbers, dtype=np.uint32)))
    assert found.dtype == np.uint32
    assert found.tolist() == [murmur(number) for number in numbers]
