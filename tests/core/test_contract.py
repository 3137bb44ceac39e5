"""Every registered policy keeps the contract, and each way to break it is caught by name."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import ContractViolation, InvalidArgument
from banditsrl.policies import POLICIES
from banditsrl.representations import Network


@pytest.mark.parametrize("name", list(POLICIES))
def test_every_registered_policy_keeps_the_contract(
    name: str, three: banditsrl.FiniteProblem
) -> None:
    small = {"layers": (6, 3)} if isinstance(_network_of(name, three), Network) else {}
    policy = banditsrl.make_policy(name, three, **small)
    assert len(banditsrl.check_policy(policy, three)) == 9


def _network_of(name: str, problem: banditsrl.FiniteProblem) -> object:
    policy = banditsrl.make_policy(name, problem)
    return getattr(getattr(policy, "learner", policy), "network", None)


class Good:
    """Uniform play and a count: keeps the contract."""

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros(())}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        action = jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))
        return banditsrl.Choice.without_test(action, mask / mask.sum())

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
        (Growing(), "Growing must return from learn a state of the structure"),
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


class Counting(Good):
    """Keeps the step in itself: compiled, it would stay what it was at the first round."""

    t = 1

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        pmf = jnp.where(jnp.arange(5) == 0, 1 - 0.1 / self.t, 0.1 / self.t / 4)
        return banditsrl.Choice.without_test(jnp.zeros((), dtype=int), pmf)

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        self.t += 1
        return state


class Noisy(Good):
    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return {"n": state["n"] + np.random.default_rng().random()}


class Widening(Good):
    """The first `learn` turns integers into floats."""

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros((), dtype=jnp.int32)}

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return {"n": state["n"] + 1.0}


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Counting(), "Counting must keep nothing outside its state"),
        (Noisy(), "Noisy must learn the same from the same round"),
        (Widening(), "Widening must return from learn a state of the structure, shapes and dtypes"),
    ],
)
def test_what_would_be_another_algorithm_once_compiled_is_caught(
    policy: Any, message: str, problem: banditsrl.FiniteProblem
) -> None:
    with pytest.raises(ContractViolation, match=message):
        banditsrl.check_policy(policy, problem)


def test_it_works_where_there_is_one_action() -> None:
    problem = banditsrl.FiniteProblem([[1.0], [0.0]])
    assert banditsrl.check_policy(banditsrl.LinUCB(np.ones((2, 1, 1))), problem)


def test_a_candidate_is_named_by_its_index(problem: banditsrl.FiniteProblem) -> None:
    assert banditsrl.check_policy(Good(), problem, representation=np.int64(1))
    with pytest.raises(InvalidArgument, match="representation must be an index below 6, got 9"):
        banditsrl.check_policy(Good(), problem, representation=9)


@dataclasses.dataclass
class Plain(Good):
    """A dataclass has no hash."""

    rate: float = 0.5


def test_a_base_without_a_hash_runs_compiled(problem: banditsrl.FiniteProblem) -> None:
    policy = banditsrl.BanditSRL(problem.representations[:2], base=Plain(), sigma=0.3)
    result = banditsrl.simulate(problem, policy, horizon=10, seeds=2)
    assert result.regret.shape == (2, 10)
    agent = banditsrl.Agent(policy)
    agent.learn(3, agent.act(3), 0.5)
