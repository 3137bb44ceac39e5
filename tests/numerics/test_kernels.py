"""One machine function: which programs become one, and do they compute the same?"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.policy import keeps_history
from banditsrl.numerics.kernels import is_plain, one_function
from banditsrl.numerics.partition import hold
from banditsrl.simulation import loop as rounds

pytestmark = pytest.mark.optimised

MARKED = 'xla_cpu_small_call = "true"'
X = np.linspace(0.1, 1.0, 12).reshape(3, 4)


def repeated(body: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`body`, three times over."""
    return lambda x: jax.lax.fori_loop(0, 3, lambda _, carry: body(carry), x)


def in_one(function: Callable[..., Any]) -> Any:
    """Both parts of what `one_function` gives, compiled."""
    return jax.jit(one_function(function))


BODIES: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "arithmetic": (lambda x: jnp.sqrt(x * x + 1.0) / 2.0, True),
    "reductions": (lambda x: x - x.max(0) + x.sum(1, keepdims=True), True),
    "look-ups": (lambda x: x[jnp.argmax(x, axis=0)[:3]], True),
    "random numbers": (lambda x: x + jax.random.normal(jax.random.key(0), x.shape), True),
    "a product": (lambda x: x @ x.T @ x / 10.0, False),
    "a decomposition": (lambda x: x + jnp.linalg.cholesky(x @ x.T + jnp.eye(3))[:, :1], False),
    "sorting": (lambda x: jnp.sort(x, axis=0)[::-1], False),
    "a call back": (lambda x: jax.pure_callback(lambda v: v + 1, x, x), False),
}


@pytest.mark.parametrize(("body", "plain"), BODIES.values(), ids=BODIES)
def test_plain_programs_are_marked_and_all_compute_what_they_did(
    body: Callable[[Any], Any], plain: bool
) -> None:
    with jax.enable_x64(True):
        x = jnp.asarray(X)
        program = in_one(repeated(body))
        assert (MARKED in program.lower(x).as_text()) == plain
        expected = x
        for _ in range(3):
            expected = body(expected)
        np.testing.assert_allclose(program(x)[0], expected, rtol=1e-13)


def test_an_empty_array_is_not_plain() -> None:
    with jax.enable_x64(True):
        program = jax.make_jaxpr(repeated(lambda x: (x[0] + 1.0, x[1])))
        assert is_plain(program((jnp.ones(2), jnp.ones(1))).jaxpr)
        assert not is_plain(program((jnp.ones(2), jnp.ones(0))).jaxpr)


def test_an_input_that_the_compiler_finds_needless_is_kept() -> None:
    """Without a witness of it, XLA ends the process."""

    def needless(x: Any, y: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda i, c: c + 0 * y[i].astype(jnp.int32), x)

    with jax.enable_x64(True):
        program = in_one(needless)
        assert MARKED in program.lower(jnp.ones(4), jnp.arange(7.0)).as_text()
        result, witness = program(jnp.ones(4), 3.0 + jnp.arange(7.0))
    np.testing.assert_array_equal(result, np.ones(4))
    assert float(witness) == 1.0 + 3.0


def test_keys_pass_through() -> None:
    key = jax.random.key(5)

    def moved(key: Any, x: Any) -> Any:
        return jax.lax.fori_loop(
            0, 2, lambda _, c: (jax.random.split(c[0])[0], c[1] + 1.0), (key, x)
        )

    (after, x), _ = in_one(moved)(key, jnp.zeros(2))
    expected = jax.random.split(jax.random.split(key)[0])[0]
    np.testing.assert_array_equal(jax.random.key_data(after), jax.random.key_data(expected))
    np.testing.assert_array_equal(x, [2.0, 2.0])


@pytest.mark.parametrize("name", ["linucb", "glrt-lints", "banditsrl-igw", "leader"])
def test_the_rounds_of_linear_policies_are_one_function(
    three: banditsrl.FiniteProblem, name: str
) -> None:
    """Nothing in them may cost the speed without being noticed."""
    with jax.enable_x64(True):
        policy = banditsrl.make_policy(name, three)
        game = rounds.Game(hold(policy), hold(three))
        keys = rounds.named_keys(jnp.arange(2))
        carry = rounds.start(game, keys, 100 * keeps_history(policy), 10)
        slots = np.zeros(rounds.BLOCK, dtype=np.int32)
        fixed = (game, rounds.deal(game.problem, keys, 0), slots, np.asarray(0), np.asarray(100))
        assert MARKED in rounds.steps_of_a_block.lower(fixed, carry).as_text()


def test_the_environment_can_switch_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDITSRL_ONE_FUNCTION", "off")
    program = in_one(repeated(lambda x: x + 1.0))
    assert MARKED not in program.lower(jnp.ones(2)).as_text()
    np.testing.assert_array_equal(program(jnp.ones(2))[0], [4.0, 4.0])
