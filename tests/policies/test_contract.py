"""Every registered policy keeps the contract, and each way to break it is caught by name."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import ContractViolation
from banditsrl.policies import POLICIES, untested
from banditsrl.representations import Network


@pytest.mark.parametrize("name", list(POLICIES))
def test_every_registered_policy_keeps_the_contract(
    name: str, three: banditsrl.FiniteProblem
) -> None:
    small = {"layers": (6, 3)} if isinstance(_network_of(name, three), Network) else {}
    policy = banditsrl.make_policy(name, three, **small)
    assert len(banditsrl.check_policy(policy, three)) == 8


def _network_of(name: str, problem: banditsrl.FiniteProblem) -> object:
    policy = banditsrl.make_policy(name, problem)
    return getattr(getattr(policy, "certifier", policy), "network", None)


class Good:
    """Uniform play and a count: keeps the contract."""

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros(())}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        action = jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))
        return untested(action, mask / mask.sum())

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return {"n": state["n"] + 1}


class Forgetful(Good):
    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        self.calls = getattr(self, "calls", 0) + 1
        choice = super().act(state, context, mask, key)
        return choice._replace(action=jnp.asarray(self.calls % 5))


class Unnormalised(Good):
    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return super().act(state, context, mask, key)._replace(pmf=mask * 1.0)


class Blind(Good):
    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return super().act(state, context, jnp.ones_like(mask), key)


class Mutating(Good):
    def init(self, key: Any) -> Any:
        return {"n": np.zeros(())}

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        if isinstance(state["n"], np.ndarray):
            state["n"] += 1
        return state


class Growing(Good):
    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return {"n": jnp.append(state["n"], 1.0)}


class Uncompilable(Good):
    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        if float(state["n"]) < 0:
            raise AssertionError
        return super().act(state, context, mask, key)


class TwoFaced(Good):
    """Plays one thing when asked by hand and another when compiled."""

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        ends = jnp.argmax(mask), len(mask) - 1 - jnp.argmax(mask[::-1])
        return super().act(state, context, mask, key)._replace(action=ends[_is_traced(key)])


def _is_traced(key: Any) -> bool:
    return isinstance(key, jax.core.Tracer)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Forgetful(), "Forgetful must make the same choice with the same key"),
        (Unnormalised(), "Unnormalised must return a non-negative pmf that sums to one"),
        (Blind(), "Blind must give unavailable actions no mass"),
        (Mutating(), r"Mutating must not change the state it is given"),
        (Growing(), "Growing must return from learn a state of the same structure"),
        (Uncompilable(), "Uncompilable fails the check 'compiles': ConcretizationTypeError"),
        (TwoFaced(), "TwoFaced must choose alike compiled for many seeds and one by one"),
        (object(), "object must have a method init"),
    ],
)
def test_each_way_to_break_it_is_named(
    policy: Any, message: str, problem: banditsrl.FiniteProblem
) -> None:
    with pytest.raises(ContractViolation, match=message):
        banditsrl.check_policy(policy, problem)


def test_an_outside_policy_that_keeps_it_passes_alone_and_embedded(
    problem: banditsrl.FiniteProblem,
) -> None:
    assert banditsrl.check_policy(Good(), problem)
    assert banditsrl.check_policy(Good(), problem, representation=2)
