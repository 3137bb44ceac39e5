"""`in_float64` computes in float64 and leaves the caller's numeric settings alone."""

import jax
import jax.numpy as jnp
import pytest

from banditsrl.numerics.precision import in_float64


@in_float64
def third(x: float, *, scale: float = 1.0) -> jax.Array:
    """A third of x."""
    return scale * jnp.asarray(x) / 3.0


@in_float64
def failing() -> None:
    raise ValueError("on purpose")


def test_in_float64_computes_in_float64_while_the_caller_stays_in_float32() -> None:
    before = jax.config.jax_enable_x64
    result = third(1.0, scale=2.0)
    assert result.dtype == jnp.float64
    assert float(result) == 2.0 / 3.0
    assert jax.config.jax_enable_x64 == before
    assert jnp.asarray(1.0).dtype == jnp.float32


def test_in_float64_leaves_the_setting_alone_when_the_function_fails() -> None:
    with pytest.raises(ValueError, match="on purpose"):
        failing()
    assert jnp.asarray(1.0).dtype == jnp.float32


def test_in_float64_leaves_a_caller_that_chose_float64_in_float64() -> None:
    with jax.enable_x64(True):
        third(1.0)
        assert jnp.asarray(1.0).dtype == jnp.float64


def test_in_float64_keeps_the_name_and_the_docstring() -> None:
    assert third.__name__ == "third"
    assert third.__doc__ == "A third of x."
