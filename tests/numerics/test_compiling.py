"""Programs that compile quickly give the same numbers, and run where XLA lacks the options."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.numerics import compiling

pytestmark = pytest.mark.optimised


@pytest.fixture(autouse=True)
def forget_known_options() -> Iterator[None]:
    compiling._knows_options.cache_clear()
    yield
    compiling._knows_options.cache_clear()


def record_options(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that grows by the compiler options of every program that is called."""
    seen: list[Any] = []
    usual = jax.jit

    def jit_and_record(function: Any, **options: Any) -> Any:
        compiled, given = usual(function, **options), options.get("compiler_options")

        def call(*args: Any) -> Any:
            seen.append(given)
            return compiled(*args)

        return call

    monkeypatch.setattr(jax, "jit", jit_and_record)
    return seen


def powers(x: jax.Array, n: int) -> jax.Array:
    return jnp.stack([x**k for k in range(n)])


def test_the_numbers_are_those_of_the_usual_program() -> None:
    x = np.linspace(0.5, 2.0, 7)
    expected = np.stack([x**k for k in range(4)])
    found = partial(compiling.jit_quickly, static_argnums=1)(powers)(x, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_quick_options_are_used_unless_jax_is_told_to_optimise_even_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = record_options(monkeypatch)
    program = compiling.jit_quickly(lambda x: x + 1.0)
    assert float(program(1.0)) == 2.0
    # A trial shows whether XLA knows the options, then the program runs.
    assert seen == [compiling.QUICK, compiling.QUICK]
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        assert float(program(1.0)) == 2.0
    finally:
        jax.config.update("jax_disable_most_optimizations", False)
    assert seen[2:] == [None]


def test_options_that_xla_does_not_have_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "QUICK", {"xla_cpu_no_such_option": True})
    seen = record_options(monkeypatch)
    assert float(compiling.jit_quickly(lambda x: x + 1.0)(1.0)) == 2.0
    assert seen == [compiling.QUICK, None]
