"""An agent does what a loop by hand would do, phases included, and one file holds all of it."""

import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl import Agent
from banditsrl.core.history import History, append_round, empty_history
from banditsrl.core.phases import phase_ends
from banditsrl.errors import InvalidArgument, StateFileError
from banditsrl.problems import Stream

STREAM = Stream(n_columns=2, n_actions=3)
SMALL: dict[str, Any] = {"layers": (6, 3), "n_features": 8, "passes": 1, "batch": 8}


def small(name: str = "banditsrl-auto") -> Any:
    settings = SMALL if name == "banditsrl-auto" else {}
    return banditsrl.make_policy(name, STREAM, **settings)


def rounds(n: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return zip(rng.normal(size=(n, 2)), rng.normal(size=n), strict=True)


def history_of(agent: Agent) -> History:
    """All rounds that an agent keeps, those included that are not in its history yet."""
    return agent._write(agent._memory, agent._recent).history


def assert_same_rounds(found: History, wanted: History) -> None:
    """Both hold the same rounds; they may have room for different numbers of them."""
    n = int(wanted.n)
    assert int(found.n) == n
    for one, other in zip(found[:4], wanted[:4], strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(np.asarray(one)[:n], np.asarray(other)[:n])


def leaves(agent: Agent) -> list[Any]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(agent.state)]


def test_it_does_what_the_loop_by_hand_does() -> None:
    policy = small()
    agent, methods = Agent(policy, seed=3), banditsrl.compiled(policy)
    key, init_key = jax.random.split(jax.random.key(3))
    state, history = policy.init(init_key), empty_history(np.zeros(2), 40)
    ends = phase_ends(policy.phase_growth, 40)
    for t, (x, noise) in enumerate(rounds(40)):
        choice = agent.act(x)
        expected = methods.act(state, x, None, jax.random.fold_in(key, 2 * t))
        assert int(choice.action) == int(expected.action)
        reward = x[0] * int(choice.action) + noise
        agent.learn(x, choice, reward)
        played = int(expected.action), reward, bool(expected.certified)
        state = methods.learn(state, x, *played)
        history = append_round(history, x, *played)
        if t + 1 in ends:
            state = methods.refresh(state, history, jax.random.fold_in(key, 2 * t + 3))
    for found, wanted in zip(leaves(agent), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(found, np.asarray(wanted))
    assert_same_rounds(history_of(agent), history)
    assert len(ends) > 3


@pytest.mark.parametrize("name", ["banditsrl-auto", "linucb", "banditsrl-egreedy"])
def test_a_saved_agent_continues_as_if_it_had_not_stopped(name: str, tmp_path: Path) -> None:
    policy = small(name)
    agents = [Agent(policy, seed=1), Agent(policy, seed=1)]
    for t, (x, reward) in enumerate(rounds(30)):
        if t == 13:
            agents[1].save(tmp_path / "agent")
            agents[1] = Agent.load(tmp_path / "agent", policy)
        choices = [agent.act(x, [True, t % 2 == 0, True]) for agent in agents]
        assert int(choices[0].action) == int(choices[1].action)
        assert t % 2 == 0 or int(choices[0].action) != 1
        for agent, choice in zip(agents, choices, strict=True):
            agent.learn(x, choice, reward)
    for found, wanted in zip(leaves(agents[1]), leaves(agents[0]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert agents[1].n_rounds == 30


def test_more_rounds_than_a_block_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("banditsrl.serving.agent_memory.BLOCK", 4)
    policy = banditsrl.make_policy("linucb-disjoint", STREAM)
    monkeypatch.setattr("banditsrl.core.history.BLOCK", 4)
    agent, kept = Agent(policy), list(rounds(11))
    for x, reward in kept:
        agent.learn(x, 2, reward)
    agent.save(tmp_path / "agent")
    for one in (agent, Agent.load(tmp_path / "agent", policy)):
        history = history_of(one)
        assert history.capacity == 16
        np.testing.assert_array_equal(history.contexts[:11], [x for x, _ in kept])
        np.testing.assert_array_equal(history.rewards[:11], [y for _, y in kept])
    V = np.asarray(agent.state.learners[0].blocks.V)
    assert V[2].trace() > V[0].trace()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_hundred_rounds_are_kept_as_a_history_built_by_hand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dtype: Any
) -> None:
    """Blocks of sixteen rounds: the room of the history grows to 256 rounds on the way."""
    monkeypatch.setattr("banditsrl.serving.agent_memory.BLOCK", 16)
    monkeypatch.setattr("banditsrl.core.history.BLOCK", 16)
    policy = banditsrl.make_policy("linucb-disjoint", STREAM)
    agent, history = Agent(policy), empty_history(np.zeros(2, dtype), 200)
    capacities, rng = set(), np.random.default_rng(5)
    for t, (columns, noise) in enumerate(rounds(200)):
        x, certified = columns.astype(dtype), bool(rng.random() < 0.3)
        agent.learn(x, t % 3, noise, certified=certified)
        history = append_round(history, x, t % 3, noise, certified)
        capacities.add(agent._memory.history.capacity)
        assert len(agent._recent) < 16
        if t == 77:
            agent.save(tmp_path / "agent")
            agent = Agent.load(tmp_path / "agent", policy)
    assert capacities == {0, 16, 32, 64, 128, 256}
    assert_same_rounds(history_of(agent), history)
    assert not np.asarray(history_of(agent).rewards)[200:].any()


def test_a_context_may_be_reused_by_the_caller_after_it_was_learned() -> None:
    policy = small("linucb-disjoint")
    agent, kept, x = Agent(policy), list(rounds(9)), np.zeros(2)
    for columns, reward in kept:
        x[:] = columns
        agent.learn(x, 1, reward)
    np.testing.assert_array_equal(history_of(agent).contexts[:9], [columns for columns, _ in kept])


class Keeping:
    """Keeps parts of the history that `refresh` was given in its state."""

    phase_growth, n_actions = 2.0, 3

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros((), jnp.int32), "rewards": jnp.zeros(1024)}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return banditsrl.Choice.without_test(jnp.argmax(mask), mask / mask.sum())

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return state

    def refresh(self, state: Any, history: Any, key: Any) -> Any:
        return {"n": history.n, "rewards": history.rewards}


def test_later_rounds_leave_a_state_alone_that_keeps_parts_of_the_history() -> None:
    agent = Agent(Keeping())
    for t in range(8):
        agent.learn(np.zeros(2), 0, float(t))
    before = agent.state
    for t in range(8, 12):
        agent.learn(np.zeros(2), 0, float(t))
    for state in (before, agent.state):
        assert int(state["n"]) == 8
        np.testing.assert_array_equal(state["rewards"][:12], [*range(8), 0, 0, 0, 0])


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    agent = Agent(small("linucb"))
    agent.save(tmp_path / "agent")
    with pytest.raises(StateFileError, match=r"another policy \(policy: LinUCB, not LinTS\)"):
        Agent.load(tmp_path / "agent", small("lints"))
    with pytest.raises(InvalidArgument, match=r"context must have shape \(2,\), got shape \(3,\)"):
        agent.act([1.0, 2.0, 3.0])
    with pytest.raises(InvalidArgument, match="reward must be finite, got nan"):
        agent.learn([1.0, 2.0], 0, float("nan"))
    assert agent.n_rounds == 0
    with pytest.raises(InvalidArgument, match=r"sigma must be greater than 0, got 0\.0"):
        Stream(n_columns=2, n_actions=3, sigma=0.0)


class Failing(Keeping):
    """Ends its phases, or fails to."""

    def __init__(self, *, fails: bool) -> None:
        self.fails = fails

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros((), jnp.int32), "sum": jnp.zeros(())}

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return {"n": state["n"] + 1, "sum": state["sum"] + context.sum()}

    def refresh(self, state: Any, history: Any, key: Any) -> Any:
        if self.fails:
            raise RuntimeError("cannot train")
        return {"n": history.n, "sum": history.contexts.sum()}


def test_a_phase_end_that_fails_leaves_the_agent_as_it_was() -> None:
    agent = Agent(Failing(fails=False))
    kept = [x for x, _ in rounds(5)]
    for x in kept[:3]:
        agent.learn(x, 0, 1.0)
    agent._compiled = banditsrl.compiled(Failing(fails=True))
    with pytest.raises(RuntimeError, match="cannot train"):
        agent.learn(kept[3], 0, 1.0)
    assert agent.n_rounds == 3
    assert int(agent.state["n"]) == 3
    agent._compiled = banditsrl.compiled(agent.policy)
    for x in kept[3:]:
        agent.learn(x, 0, 1.0)
    assert agent.n_rounds == 5
    np.testing.assert_array_equal(history_of(agent).contexts[:5], kept)


def test_a_context_of_another_shape_is_refused_and_not_learned() -> None:
    agent = Agent(Keeping())
    for n_learned in (1, 2, 3):  # before the first phase end, at it, and behind it
        agent.learn(np.zeros(2), 0, 1.0)
        with pytest.raises(InvalidArgument, match=r"shape \(2,\) as before, got \(3,\)"):
            agent.learn(np.zeros(3), 0, 1.0)
        assert agent.n_rounds == n_learned


def test_whole_numbers_first_do_not_cut_fractions_later() -> None:
    given = banditsrl.representations.Given(n_actions=2, dim=2, B=2.0)
    twice = banditsrl.representations.Mapped(lambda x: 2.0 * x, n_actions=2, dim=2, B=2.0)
    policy = banditsrl.BanditSRL([given, twice], base=banditsrl.LinUCB(), sigma=0.1)
    contexts = [[[1, 0], [0, 1]], [[0.7, 0.3], [0.2, 0.9]], [[0.5, 0.25], [0.1, 0.3]]]
    thetas = []
    for first in (contexts[0], np.asarray(contexts[0], dtype=float)):
        agent = Agent(policy)
        for context in (first, *contexts[1:]):
            agent.learn(context, 0, 0.5)
        agent.learn(contexts[1], 1, 0.2)
        thetas.append(np.asarray(agent.state.ridge.theta))
    np.testing.assert_array_equal(*thetas)


def test_an_agent_saved_before_its_first_reward_can_learn(tmp_path: Path) -> None:
    policy = small("banditsrl-egreedy")
    agent = Agent(policy)
    agent.act(np.zeros(2))
    agent.save(tmp_path / "agent.state")
    loaded = Agent.load(tmp_path / "agent.state", policy)
    for x, reward in rounds(3):
        loaded.learn(x, 0, reward)
    assert loaded.n_rounds == 3


class Outside:
    """Has phases, and no other optional member than `refresh`."""

    phase_growth = 2.0

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros(())}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return banditsrl.Choice.without_test(jnp.argmax(mask), mask / mask.sum())

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return state

    def refresh(self, state: Any, history: Any, key: Any) -> Any:
        return {"n": 1.0 * history.n}


def test_an_outside_policy_gets_its_history_and_is_asked_for_a_mask() -> None:
    agent = Agent(Outside())
    with pytest.raises(InvalidArgument, match="mask must be given, since Outside has no n_actions"):
        agent.act(np.zeros(2))
    for x, reward in rounds(5):
        choice = agent.act(x, mask=[False, True, True])
        assert int(choice.action) == 1
        agent.learn(x, choice, reward)
    assert float(agent.state["n"]) == 4.0
    agent.policy.n_actions = 3
    assert int(Agent(agent.policy).act(np.zeros(2)).action) == 0


@pytest.mark.parametrize(
    "name", ["linucb-disjoint", "linucb", "banditsrl-egreedy", "leader", "igw-nn", "banditsrl-auto"]
)
@pytest.mark.parametrize("action", [-1, 3])
def test_a_log_with_an_action_that_does_not_exist_is_refused(name: str, action: int) -> None:
    log = {"contexts": np.ones((4, 2)), "actions": [0, 2, action, 1], "rewards": np.ones(4)}
    message = rf"^actions must be an index below 3, got {action}\.$"
    with pytest.raises(InvalidArgument, match=message):
        Agent.from_log(small(name), **log)


@pytest.mark.parametrize("name", ["banditsrl-egreedy", "linucb", "banditsrl-auto"])
def test_an_agent_can_start_from_a_log(name: str) -> None:
    policy = small(name)
    rng = np.random.default_rng(4)
    log = {"contexts": rng.normal(size=(30, 2)), "actions": rng.integers(3, size=30)}
    agent = Agent.from_log(policy, **log, rewards=rng.normal(size=30), seed=2)
    assert agent.n_rounds == 30
    for x, reward in rounds(40):
        agent.learn(x, agent.act(x), reward)  # past the end of a phase
    if name != "banditsrl-auto":  # one candidate: no history is kept
        assert float(agent.state.ridge.n) == 70.0
    else:
        history = history_of(agent)
        np.testing.assert_array_equal(history.contexts[:30], log["contexts"])
        np.testing.assert_array_equal(history.actions[:30], log["actions"])
        assert int(history.n) == 70


@pytest.mark.parametrize("n_threads", [2, 8])
def test_rounds_of_several_threads_are_all_learned(n_threads: int) -> None:
    agent = Agent(small("linucb-disjoint"), capacity=10_000)
    rows = np.random.default_rng(0).normal(size=(n_threads, 1000, 2))

    def play(mine: np.ndarray) -> None:
        for row in mine:
            agent.learn(row, agent.act(row), float(row[0]))

    threads = [threading.Thread(target=play, args=(mine,)) for mine in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agent.n_rounds == n_threads * 1000
    learned = agent.state.rewards  # their number and mean, as the policy has learned them
    assert float(learned.n) == n_threads * 1000
    assert float(learned.anchor + learned.mean) == pytest.approx(rows[..., 0].mean())


def test_acting_does_not_wait_for_another_threads_learning() -> None:
    agent = Agent(small("linucb-disjoint"))
    agent.act([0.0, 1.0])
    with agent._learning:  # as while another thread trains
        chosen: list[int] = []
        thread = threading.Thread(target=lambda: chosen.append(int(agent.act([0.0, 1.0]).action)))
        thread.start()
        thread.join(60.0)
        assert len(chosen) == 1
