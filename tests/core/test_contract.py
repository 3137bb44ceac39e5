"""Every registered policy keeps the contract, and every way to break it is reported by name."""

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import ContractViolation, InvalidArgument
from banditsrl.policies import POLICIES, LinearPolicy, View
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
        (TwoFaced(), "TwoFaced must make the same choices compiled for many seeds as for one seed"),
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


class Softmax:
    """A base in plain `jax.numpy`, for one seed, by somebody who never heard of an axis of seeds.

    It sees embeddings (n_actions, dim), or indices into a table of them.
    """

    def __init__(self, dim: int, table: Any = None) -> None:
        self.dim, self.table = dim, table

    def init(self, key: Any) -> Any:
        return {"V": jnp.eye(self.dim), "b": jnp.zeros(self.dim), "largest": jnp.zeros(())}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        phi = context if self.table is None else jnp.asarray(self.table)[context]
        values = phi @ jnp.linalg.solve(state["V"], state["b"])
        widths = jnp.sqrt(jnp.diag(phi @ jnp.linalg.inv(state["V"]) @ phi.T))
        optimistic = jnp.where(mask, values + state["largest"] * widths, -jnp.inf)
        weights = jnp.where(optimistic > optimistic.max() - 1.0, jax.nn.softmax(optimistic), 0.0)
        pmf = weights / weights.sum()
        return banditsrl.Choice.without_test(jax.random.choice(key, len(pmf), p=pmf), pmf)

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        phi = (context if self.table is None else jnp.asarray(self.table)[context])[action]
        largest = jnp.maximum(state["largest"], jnp.sqrt((phi**2).sum()))
        V, b = state["V"] + jnp.outer(phi, phi), state["b"] + reward * phi
        return {"V": V, "b": b, "largest": largest}


class Boltzmann(LinearPolicy):
    """A rule on ridge statistics that reduces without naming an axis."""

    def pmf(self, view: View) -> jax.Array:
        values = view.available(view.values + view.norms)
        weights = jnp.exp(5.0 * (values - values.max()))
        return weights / weights.sum()


OUTSIDE = (
    "outside base under BanditSRL",
    "outside base under GLRT",
    "linear rule alone",
    "linear rule under GLRT",
    "linear rule under BanditSRL",
    "linear rule with its own statistics",
)


def policy_around_outside_code(name: str, problem: banditsrl.FiniteProblem) -> Any:
    candidates = problem.representations
    table, dim = candidates[0].features, max(candidate.dim for candidate in candidates)
    alone = Boltzmann(candidates[0], sigma=0.3)
    on_table = Softmax(table.shape[2], table)
    select = partial(banditsrl.BanditSRL, candidates, sigma=0.3)
    policies = (
        select(base=Softmax(dim)),
        banditsrl.GLRT(on_table, representation=candidates[0], sigma=0.3),
        alone,
        banditsrl.GLRT(alone),
        select(base=Boltzmann()),
        select(base=Boltzmann(), warm_start=False),
    )
    return policies[OUTSIDE.index(name)]


def test_an_outside_base_in_plain_code_keeps_the_contract(three: banditsrl.FiniteProblem) -> None:
    dim = max(candidate.dim for candidate in three.representations)
    assert len(banditsrl.check_policy(Softmax(dim), three, representation=0)) == 9
    table = three.representations[0].features
    assert len(banditsrl.check_policy(Softmax(table.shape[2], table), three)) == 9


def test_a_linear_rule_that_names_no_axis_keeps_the_contract(
    three: banditsrl.FiniteProblem,
) -> None:
    policy = Boltzmann(three.representations[0], sigma=0.3)
    assert len(banditsrl.check_policy(policy, three)) == 9


@pytest.mark.parametrize("name", OUTSIDE)
def test_plain_code_gives_each_of_forty_seeds_what_it_gives_that_seed_alone(
    name: str, three: banditsrl.FiniteProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, steps = policy_around_outside_code(name, three), [1, 2, 64, 100, 200]
    settings: dict[str, Any] = {"horizon": 200, "steps": steps}
    together = banditsrl.simulate(three, policy, seeds=40, **settings)
    assert len(np.unique(together.regret[:, -1])) > 20
    among_copies = banditsrl.simulate(three, policy, seeds=[17], **settings)
    np.testing.assert_array_equal(among_copies.regret, together.regret[[17]])
    monkeypatch.setattr("banditsrl.simulation.run_plan.SEEDS_AT_ONCE", 1)
    alone = banditsrl.simulate(three, policy, seeds=40, **settings)
    np.testing.assert_array_equal(alone.regret, together.regret)
    np.testing.assert_array_equal(alone.certified, together.certified)


def test_defects_of_act_and_learn_are_reported_together() -> None:
    class Wrong:
        def init(self, key: Any) -> Any:
            return {"count": jnp.zeros(())}

        def act(self, *_: Any) -> Any:
            return 1

        def learn(self, *_: Any) -> Any:
            return "nothing"

    with pytest.raises(ContractViolation) as caught:
        banditsrl.check_policy(Wrong(), "vardim-realizable")
    act, learn = caught.value.defects
    assert act == "Wrong.act must return a banditsrl.Choice, got int."
    assert learn.endswith("that init gave, got str.")
    assert "check_policy" not in str(caught.value)
