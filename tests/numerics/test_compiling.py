"""Programs compiled in a hurry: the same numbers, and XLAs without the options do without."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.numerics import compiling as brief

pytestmark = pytest.mark.optimised


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    brief._is_known.cache_clear()
    yield
    brief._is_known.cache_clear()


def options_of(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The options of programs from here on, as they are asked for."""
    seen: list[Any] = []
    usual = jax.jit

    def listening(function: Any, **options: Any) -> Any:
        compiled, given = usual(function, **options), options.get("compiler_options")

        def called(*args: Any) -> Any:
            seen.append(given)
            return compiled(*args)

        return called

    monkeypatch.setattr(jax, "jit", listening)
    return seen


def powers(x: jax.Array, n: int) -> jax.Array:
    return jnp.stack([x**k for k in range(n)])


def test_the_numbers_are_those_of_the_usual_program() -> None:
    x = np.linspace(0.5, 2.0, 7)
    expected = np.stack([x**k for k in range(4)])
    found = partial(brief.briefly, static_argnums=1)(powers)(x, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_it_is_in_a_hurry_unless_jax_is_told_to_optimise_even_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = options_of(monkeypatch)
    program = brief.briefly(lambda x: x + 1.0)
    assert float(program(1.0)) == 2.0
    assert seen == [brief.QUICK, brief.QUICK]  # to see whether they are known, and the program
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        assert float(program(1.0)) == 2.0
    finally:
        jax.config.update("jax_disable_most_optimizations", False)
    assert seen[2:] == [None]


def test_options_that_xla_does_not_have_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brief, "QUICK", {"xla_cpu_no_such_option": True})
    seen = options_of(monkeypatch)
    assert float(brief.briefly(lambda x: x + 1.0)(1.0)) == 2.0
    assert seen == [brief.QUICK, None]
