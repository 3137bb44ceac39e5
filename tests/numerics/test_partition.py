"""A partitioned object combines to what it was, and equal settings share one compiled program."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import banditsrl
from banditsrl.numerics.partition import Partitioned, partition


def policy(problem: banditsrl.FiniteProblem, scale: float = 1.0) -> banditsrl.LinUCB:
    return banditsrl.LinUCB(problem.representations[0], sigma=0.3, ucb_scale=scale)


def test_combining_gives_back_what_was_partitioned(problem: banditsrl.FiniteProblem) -> None:
    with jax.enable_x64(True):
        whole = partition(policy(problem)).combine()
    assert whole.ucb_scale == 1.0
    assert whole.sigma == 0.3
    np.testing.assert_array_equal(
        whole.representation.features, problem.representations[0].features
    )


def test_equal_settings_share_a_program_and_others_do_not(problem: banditsrl.FiniteProblem) -> None:
    traced: list[float] = []

    @jax.jit
    def scale_by_policy(parts: Partitioned, x: jax.Array) -> jax.Array:
        traced.append(parts.combine().ucb_scale)
        return x * parts.combine().ucb_scale

    for scale in (2.0, 2.0, 3.0):
        with jax.enable_x64(True):
            assert float(scale_by_policy(partition(policy(problem, scale)), jnp.ones(()))) == scale
    assert traced == [2.0, 3.0]


def test_arrays_are_inputs_and_not_part_of_the_program() -> None:
    traced: list[int] = []

    @jax.jit
    def total(parts: Partitioned) -> jax.Array:
        traced.append(1)
        return parts.combine()["table"].sum()

    with jax.enable_x64(True):
        sums = [
            float(total(partition({"table": np.full(3, k), "name": "ones"}))) for k in (1.0, 2.0)
        ]
    assert sums == [3.0, 6.0]
    assert traced == [1]


def test_settings_differ_from_anything_else() -> None:
    assert partition({"a": 1}).static != partition({"a": 2}).static
    assert partition({"a": 1}).static != partition({"b": 1}).static
    assert partition({"a": 1}).static != "settings"


def test_instances_of_one_size_share_every_program() -> None:
    compiled: list[str] = []

    def listen(event: str, _: float, **what: Any) -> None:
        if event.endswith("backend_compile_duration"):
            compiled.append(str(what.get("fun_name")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    regrets = []
    for seed in (0, 1):
        compiled.clear()
        whole = banditsrl.make_problem("vardim-realizable", seed=seed)
        few = banditsrl.FiniteProblem(
            whole.mean_rewards,
            whole.representations[:2],
            claims=whole.claims[:2],
            name=f"instance {seed}",
        )
        policy = banditsrl.make_policy("banditsrl-linucb", few)
        regrets.append(banditsrl.simulate(few, policy, horizon=20, seeds=2).mean[-1])
    jax.monitoring.unregister_event_duration_listener(listen)
    assert compiled == []  # for the second instance
    assert regrets[0] != regrets[1]


def test_an_anonymous_problem_deals_and_pays_as_the_named_one() -> None:
    whole = banditsrl.make_problem("mixing", seed=3)
    anonymous, key = whole.anonymous(), jax.random.key(1)
    assert (anonymous.name, anonymous.representations, anonymous.claims) == ("", (), ())
    assert whole.name == "mixing"
    assert len(whole.representations) > 1
    assert np.array_equal(anonymous.contexts(key, 50), whole.contexts(key, 50))
    assert np.array_equal(anonymous.noises(key, 50), whole.noises(key, 50))
    assert np.array_equal(anonymous.means(7), whole.means(7))
