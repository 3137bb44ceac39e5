"""Held things: put together again they are what they were, and a program is compiled once."""

import jax
import jax.numpy as jnp
import numpy as np

import banditsrl
from banditsrl.experiments.held import Held, hold
from banditsrl.policies.policy import Policy


def policy(problem: banditsrl.FiniteProblem, scale: float = 1.0) -> Policy:
    return banditsrl.LinUCB(problem.representations[0], sigma=0.3, ucb_scale=scale)


def test_the_whole_is_what_was_held(problem: banditsrl.FiniteProblem) -> None:
    with jax.enable_x64(True):
        whole = hold(policy(problem)).whole()
    assert whole.ucb_scale == 1.0
    assert whole.sigma == 0.3
    np.testing.assert_array_equal(
        whole.representation.features, problem.representations[0].features
    )


def test_equal_settings_share_a_program_and_others_do_not(problem: banditsrl.FiniteProblem) -> None:
    traced: list[float] = []

    @jax.jit
    def doubled(held: Held, x: jax.Array) -> jax.Array:
        traced.append(held.whole().ucb_scale)
        return x * held.whole().ucb_scale

    for scale in (2.0, 2.0, 3.0):
        with jax.enable_x64(True):
            assert float(doubled(hold(policy(problem, scale)), jnp.ones(()))) == scale
    assert traced == [2.0, 3.0]


def test_arrays_are_inputs_and_not_part_of_the_program() -> None:
    traced: list[int] = []

    @jax.jit
    def total(held: Held) -> jax.Array:
        traced.append(1)
        return held.whole()["table"].sum()

    sums = [float(total(hold({"table": np.full(3, k), "name": "ones"}))) for k in (1.0, 2.0)]
    assert sums == [3.0, 6.0]
    assert traced == [1]


def test_settings_differ_from_anything_else() -> None:
    assert hold({"a": 1}).settings != hold({"a": 2}).settings
    assert hold({"a": 1}).settings != hold({"b": 1}).settings
    assert hold({"a": 1}).settings != "settings"
