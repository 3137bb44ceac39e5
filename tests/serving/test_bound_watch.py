"""An application is warned of broken bounds, and nothing that it says can poison the state."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl import Agent
from banditsrl.core.policy import Choice, Policy
from banditsrl.errors import BoundExceeded, InvalidArgument
from banditsrl.problems import Stream
from banditsrl.representations import Coded

STREAM = Stream(n_columns=2, n_actions=3)
SMALL: dict[str, Any] = {"layers": (6, 3), "n_features": 8, "passes": 1, "batch": 8}


def is_finite(agent: Agent) -> bool:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(agent.state)]
    return all(np.isfinite(leaf).all() for leaf in leaves if leaf.dtype.kind == "f")


@pytest.mark.parametrize("name", ["linucb-disjoint", "banditsrl-auto", "linucb"])
@pytest.mark.parametrize(
    ("context", "reward", "message"),
    [
        ([0.1, 1e39], 1.0, r"context must be at most 1e\+19 in size, .* got 1e\+39"),
        ([0.1, -1e39], 1.0, r"context must be at most 1e\+19 in size"),
        ([0.1, 0.2], 1e200, r"reward must be at most 1e\+19 in size, .* got 1e\+200"),
        ([0.1, 0.2], -1e20, r"reward must be at most 1e\+19 in size"),
        ([0.1, float("nan")], 1.0, "context must be finite, got nan"),
    ],
)
def test_numbers_that_would_overflow_are_refused_and_change_nothing(
    name: str, context: list[float], reward: float, message: str
) -> None:
    policy = banditsrl.make_policy(name, STREAM, **(SMALL if name == "banditsrl-auto" else {}))
    agent = Agent(policy)
    agent.learn([0.3, -0.2], 1, 0.5)
    before = [np.asarray(leaf) for leaf in jax.tree.leaves(agent.state)]
    with pytest.raises(InvalidArgument, match=message):
        agent.learn(context, 0, reward)
    after = [np.asarray(leaf) for leaf in jax.tree.leaves(agent.state)]
    assert agent.n_rounds == 1
    assert all(
        np.array_equal(one, two, equal_nan=True) for one, two in zip(before, after, strict=True)
    )
    assert float(agent.act([0.1, 0.2]).pmf.sum()) == pytest.approx(1.0)


def test_enormous_numbers_in_a_log_are_refused() -> None:
    policy = banditsrl.make_policy("linucb-disjoint", STREAM)
    log: dict[str, Any] = {"contexts": np.ones((4, 2)), "actions": [0, 1, 2, 0]}
    with pytest.raises(InvalidArgument, match=r"rewards must be at most 1e\+19 in size"):
        Agent.from_log(policy, **log, rewards=[0.0, 1.0, 1e200, 0.0])
    with pytest.raises(InvalidArgument, match=r"contexts must be at most 1e\+19 in size"):
        Agent.from_log(policy, **{**log, "contexts": np.full((4, 2), 1e39)}, rewards=[0.0] * 4)


def test_the_largest_numbers_that_are_allowed_keep_a_linear_state_finite() -> None:
    agent = Agent(banditsrl.make_policy("linucb", STREAM))
    for size in (1.0, 1e19, -1e19, 1e-19):
        agent.learn([size, 1.0], 0, size)
    assert is_finite(agent)


def test_a_reward_beyond_its_bound_warns_once() -> None:
    agent = Agent(banditsrl.make_policy("linucb", STREAM), reward_bound=1.0)
    agent.learn([0.1, 0.2], 0, -1.0)  # the bound itself is allowed
    with pytest.warns(BoundExceeded, match="reward_bound = 1 was given but a reward of 2 was") as w:
        agent.learn([0.1, 0.2], 0, -2.0)
    assert w[0].filename == __file__
    agent.learn([0.1, 0.2], 0, 3.0)  # a second warning would be an error here
    with pytest.raises(InvalidArgument, match="reward_bound must be greater than 0, got -1"):
        Agent(agent.policy, reward_bound=-1.0)


def test_an_embedding_beyond_its_bound_warns_once() -> None:
    embedding = Coded(n_actions=3, code="blocks", n_columns=2, L=1.0)
    agent = Agent(banditsrl.LinUCB(embedding, sigma=0.5))
    agent.learn([0.6, 0.8], 0, 1.0)
    with pytest.warns(BoundExceeded, match="L = 1 was given but an embedding of norm 5 was") as w:
        agent.learn([3.0, 4.0], 0, 1.0)
    assert w[0].filename == __file__
    agent.learn([30.0, 40.0], 0, 1.0)


def test_a_state_that_is_not_finite_is_not_saved(tmp_path: Path) -> None:
    policy = banditsrl.make_policy("linucb", STREAM)
    agent = Agent(policy)
    agent.learn([0.1, 0.2], 0, 1.0)
    agent.save(tmp_path / "good")
    state = agent.state
    theta = np.array(state.ridge.theta)
    theta[2] = np.nan
    agent._memory = agent._memory._replace(
        state=state._replace(ridge=state.ridge._replace(theta=theta))
    )
    with pytest.raises(InvalidArgument, match=r"state must be finite .* got NaN .*\.ridge\.theta"):
        agent.save(tmp_path / "bad")
    assert not (tmp_path / "bad").exists()
    with pytest.raises(InvalidArgument, match=r"infinity in \.ridge\.theta"):
        banditsrl.save_state(tmp_path / "bad", policy, agent.state)


def test_nan_that_a_state_has_from_the_start_is_saved(tmp_path: Path) -> None:
    problem = banditsrl.make_problem("vardim-realizable")
    policy = banditsrl.make_policy("banditsrl-linucb", problem)
    state = policy.init(jax.random.key(1))
    assert np.isnan(state.loss)
    banditsrl.save_state(tmp_path / "new", policy, state)
    assert np.isnan(banditsrl.load_state(tmp_path / "new", policy).loss)


def test_a_constant_column_whose_deviation_is_infinite_is_saved(tmp_path: Path) -> None:
    policy = banditsrl.make_policy("linucb-disjoint", STREAM)
    agent = Agent(policy)
    for value in (0.1, 0.2, 0.3, 0.4):
        agent.learn([value, 1.0], 0, value)
    agent.save(tmp_path / "agent")
    assert Agent.load(tmp_path / "agent", policy).n_rounds == 4


class Diverging(Policy[Any]):
    """Each phase doubles the exponent of a number, as training with too large steps does."""

    def init(self, key: Any) -> Any:
        return {"weight": jnp.full((), 1e10, dtype=jnp.float32), "n": jnp.zeros((), jnp.int32)}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> Choice:
        return Choice.without_test(jnp.zeros((), jnp.int32), jnp.asarray([1.0, 0.0]))

    def learn(
        self, state: Any, context: Any, action: Any, reward: Any, certified: Any = False
    ) -> Any:
        return {**state, "n": state["n"] + 1}

    def refresh(self, state: Any, history: Any, key: Any) -> Any:
        return {**state, "weight": state["weight"] ** 2}

    @property
    def phase_growth(self) -> float:
        return 2.0

    @property
    def n_actions(self) -> int:
        return 2


def test_a_phase_that_diverges_keeps_the_state_before_it() -> None:
    agent = Agent(Diverging())
    agent.learn([0.0], 0, 1.0)
    agent.learn([0.0], 0, 1.0)  # the first phase ends: 1e20
    agent.learn([0.0], 0, 1.0)
    with pytest.warns(RuntimeWarning, match="Diverging: the end of a phase gave numbers that are"):
        agent.learn([0.0], 0, 1.0)
    assert float(agent.state["weight"]) == pytest.approx(1e20, rel=1e-5)
    assert int(agent.state["n"]) == agent.n_rounds == 4
    agent.learn([0.0], 0, 1.0)
