"""Numbers drawn for one seed or for many are those of `jax.random`, to the last bit."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from banditsrl.numerics import draws
from banditsrl.numerics.precision import in_float64

N = 300
CUMULATIVE = np.cumsum([0.1, 0.0, 0.4, 0.2, 0.3])


def categories(key: Array, n: int) -> Array:
    return draws.categories(key, n, jnp.asarray(CUMULATIVE))


def their_categories(key: Array, n: int) -> Array:
    u = jax.random.uniform(key, (n,), dtype=jnp.float64)
    found = jnp.searchsorted(jnp.asarray(CUMULATIVE), u, side="right")
    return jnp.minimum(found, len(CUMULATIVE) - 1)


Draw = Callable[[Array, int], Array]
PAIRS: dict[str, tuple[Draw, Draw]] = {
    "uniforms": (
        draws.uniforms,
        lambda key, n: jax.random.uniform(key, (n,), dtype=jnp.float64),
    ),
    "normals": (draws.normals, lambda key, n: jax.random.normal(key, (n,), dtype=jnp.float64)),
    "keys": (
        lambda key, n: jax.random.key_data(draws.keys(key, n)),
        lambda key, n: jax.random.key_data(jax.random.split(key, n)),
    ),
    "categories": (categories, their_categories),
}


def run_draw(draw: Draw, key: Any, *, mapped: bool) -> Any:
    function = jax.vmap(draw, in_axes=(0, None)) if mapped else draw
    return np.asarray(in_float64(function)(key, N))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_one_key_gives_what_jax_gives(name: str, impl: str) -> None:
    for seed in (0, 7, 2**31 - 1):
        key = jax.random.fold_in(jax.random.key(seed, impl=impl), 3)
        ours, theirs = (run_draw(draw, key, mapped=False) for draw in PAIRS[name])
        assert len(ours) == N
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", PAIRS)
def test_many_keys_give_what_each_gives_alone(name: str) -> None:
    ours, theirs = PAIRS[name]
    keys = jax.random.split(jax.random.key(5), 6)
    alone = [run_draw(theirs, key, mapped=False) for key in keys]
    np.testing.assert_array_equal(run_draw(ours, keys, mapped=True), alone)


def test_keys_of_the_old_kind_are_left_to_jax() -> None:
    key = jax.random.PRNGKey(3)
    ours, theirs = (run_draw(draw, key, mapped=False) for draw in PAIRS["normals"])
    np.testing.assert_array_equal(ours, theirs)


def test_a_category_of_no_probability_is_never_drawn() -> None:
    found = np.asarray(in_float64(categories)(jax.random.key(0), 20_000))
    shares = np.bincount(found, minlength=5) / len(found)
    assert shares[1] == 0
    np.testing.assert_allclose(shares, [0.1, 0.0, 0.4, 0.2, 0.3], atol=0.02)
