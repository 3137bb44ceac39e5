"""Every problem keeps the contract, and each way of breaking it is named."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import ContractViolation
from banditsrl.problems import TableProblem


def make_own(**changes: Any) -> Any:
    """Return an outside problem with two actions that keeps the contract, but for the changes."""
    members: dict[str, Any] = {
        "name": "own",
        "n_actions": 2,
        "contexts": lambda key, n: jax.random.normal(key, (n, 3)),
        "noises": lambda key, n: jax.random.normal(key, (n,)),
        "means": lambda context: context[:2],
        "mask": lambda _: jnp.ones(2, dtype=bool),
        "reward": lambda mean, noise: mean + noise,
    }
    return SimpleNamespace(**{**members, **changes})


def test_problems_of_every_kind_keep_the_contract() -> None:
    rng = np.random.default_rng(0)
    problems = [
        banditsrl.make_problem("vardim-misspecified"),
        banditsrl.make_problem("wheel"),
        TableProblem(rng.normal(size=(50, 2)), np.arange(50) % 3),
        banditsrl.FiniteProblem([[1.0, 0.0]]),  # one context
        make_own(),
    ]
    for problem in problems:
        assert len(banditsrl.check_problem(problem)) == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contexts": lambda key, n: jnp.zeros((3, n))}, r"own must deal 64 contexts along the"),
        ({"contexts": lambda key, n: jnp.full((n, 3), jnp.nan)}, "must deal finite contexts, got"),
        ({"contexts": lambda key, n: jnp.ones((n, 3))}, "different contexts for different keys"),
        (
            {"contexts": lambda key, n: np.random.default_rng().normal(size=(n, 3))},
            "must deal the same contexts for the same key",
        ),
        (
            {"contexts": lambda key, n: jax.random.randint(key, (n,), 0, 9), "n_contexts": 5,
             "means": lambda _: jnp.zeros(2)},
            "must deal contexts below its n_contexts, 5",
        ),
        ({"means": lambda context: context}, r"means of shape \(2,\) for a context, got \(3,\)"),
        ({"means": lambda context: context[:2] * jnp.nan}, "own must return finite means, got NaN"),
        ({"mask": lambda _: jnp.zeros(2, dtype=bool)}, "must offer at least one action in every"),
        ({"mask": lambda _: jnp.ones(2)}, "must return a mask of 2 booleans .* got float"),
        ({"noises": lambda key, n: jnp.zeros((n, 2))}, r"must draw 64 noises .* shape \(64, 2\)"),
        ({"reward": lambda mean, noise: jnp.log(-mean * mean)}, "must return finite rewards"),
        ({"reward": lambda mean, noise: jnp.ones(2)}, r"one number as a reward, got shape \(2,\)"),
        ({"means": lambda context: context.nothing}, "own fails at .*: AttributeError"),
    ],
)  # fmt: skip
def test_a_broken_problem_is_named_with_the_rule(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ContractViolation, match=message):
        banditsrl.check_problem(make_own(**changes))


def test_an_object_without_a_member_is_refused() -> None:
    incomplete = make_own()
    del incomplete.mask
    with pytest.raises(ContractViolation, match="SimpleNamespace must have a member mask"):
        banditsrl.check_problem(incomplete)


def test_an_embedding_that_is_not_finite_is_refused() -> None:
    given = banditsrl.representations.Mapped(
        lambda context: jnp.full((2, 1), jnp.inf) * context[0], n_actions=2, dim=1
    )
    message = "finite embeddings, got NaN or infinity from representation 0"
    with pytest.raises(ContractViolation, match=message):
        banditsrl.check_problem(make_own(representations=(given,)))


def test_a_simulation_blames_the_problem_for_its_own_nan() -> None:
    problem = make_own(means=lambda context: jnp.where(context[0] > 0, jnp.nan, context[:2]))
    policy = SimpleNamespace(
        init=lambda key: jnp.zeros(()),
        act=lambda state, context, mask, key: banditsrl.Choice.without_test(
            jnp.zeros((), jnp.int32), jnp.asarray([1.0, 0.0])
        ),
        learn=lambda state, context, action, reward: state,
    )
    with pytest.raises(ContractViolation, match="own must return finite means, got NaN; see check"):
        banditsrl.simulate(problem, policy, horizon=20, seeds=2)
