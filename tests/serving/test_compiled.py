"""A compiled policy refuses what does not fit, and runs BanditSRL in a loop by hand."""

from typing import Any

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import append_round, empty_history
from banditsrl.core.phases import phase_ends
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.problems import TableProblem

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def problem(three: banditsrl.FiniteProblem) -> banditsrl.FiniteProblem:
    """Three candidates will do here."""
    return three


@pytest.fixture(scope="module")
def app(problem: banditsrl.FiniteProblem) -> tuple[Any, Any]:
    policy = banditsrl.GLRT(banditsrl.LinUCB(problem.representations[0], sigma=0.3))
    return banditsrl.compiled(policy), policy.init(KEY)


@pytest.mark.parametrize(
    ("context", "mask", "error", "message"),
    [
        (20, None, InvalidArgument, "context must be an index below 20, got 20"),
        (np.int64(-1), None, InvalidArgument, "context must be an index below 20, got -1"),
        (1.5, None, InvalidType, "context must be an integer index, got 1.5"),
        (0, [True], InvalidArgument, r"mask must have shape \(5,\), got shape \(1,\)"),
        (0, [True] * 6, InvalidArgument, r"mask must have shape \(5,\), got shape \(6,\)"),
        (0, [False] * 5, InvalidArgument, "mask must leave at least one available action"),
    ],
)
def test_a_round_that_does_not_fit_is_refused(
    app: tuple[Any, Any], context: Any, mask: Any, error: Any, message: str
) -> None:
    methods, state = app
    with pytest.raises(error, match=message):
        methods.act(state, context, mask, KEY)


@pytest.mark.parametrize(
    ("action", "reward", "error", "message"),
    [
        (5, 0.0, InvalidArgument, "action must be an index below 5, got 5"),
        (-1, 0.0, InvalidArgument, "action must be an index below 5, got -1"),
        (0, np.ones(6), InvalidArgument, r"reward must be one number, got shape \(6,\)"),
        (0, "one", InvalidType, "reward must be a number, got 'one'"),
        (0, float("nan"), InvalidArgument, "reward must be finite, got nan"),
    ],
)
def test_a_reward_or_action_that_does_not_fit_is_refused(
    app: tuple[Any, Any], action: Any, reward: Any, error: Any, message: str
) -> None:
    methods, state = app
    with pytest.raises(error, match=message):
        methods.learn(state, 0, action, reward)


def test_an_application_can_run_banditsrl_in_its_own_loop(problem: banditsrl.FiniteProblem) -> None:
    policy = banditsrl.BanditSRL(problem.representations, base=banditsrl.LinUCB(), sigma=0.3)
    methods, state = banditsrl.compiled(policy), policy.init(KEY)
    history = empty_history(0, 100)
    rng = np.random.default_rng(0)
    ends = set(phase_ends(policy.gamma, 100))
    for t in range(1, 65):
        x = int(rng.integers(20))
        choice = methods.act(state, x, None, jax.random.key(t))
        reward = problem.mean_rewards[x, int(choice.action)] + 0.3 * rng.normal()
        state = methods.learn(state, x, choice.action, reward, choice.certified)
        history = append_round(history, x, choice.action, reward, choice.certified)
        if t in ends:
            state = methods.refresh(state, history, jax.random.key(t))
    assert int(state.phase) == len([end for end in ends if end <= 64])
    assert float(state.ridge.n) == 64
    assert int(history.n) == 64


def test_representations_of_another_size_are_refused(problem: banditsrl.FiniteProblem) -> None:
    small, narrow = np.ones((5, 5, 3)), np.ones((20, 4, 3))
    with pytest.raises(InvalidArgument, match="must have the problem's n_contexts 20, got 5"):
        banditsrl.simulate(problem, banditsrl.LinUCB(small), horizon=5, seeds=1)
    with pytest.raises(InvalidArgument, match="must have the problem's n_actions 5, got 4"):
        banditsrl.simulate(problem, banditsrl.LinUCB(narrow), horizon=5, seeds=1)
    with pytest.raises(InvalidArgument, match=r"share the number of contexts, got \[5, 20\]"):
        banditsrl.BanditSRL([small, np.ones((20, 5, 3))], base=banditsrl.LinUCB())


def test_with_nothing_but_zero_rewards_no_candidate_is_eliminated() -> None:
    features = np.random.default_rng(0).normal(size=(20, 4, 3))
    silent = banditsrl.FiniteProblem(np.zeros((20, 4)), noise="none")
    for conventions in ("paper", "authors"):
        policy = banditsrl.Leader([features, features], conventions=conventions)
        result = banditsrl.simulate(silent, policy, horizon=20, seeds=1)
        assert result.reports["active"].all()


@pytest.mark.parametrize("name", ["linucb", "igw-nn", "rff-egreedy", "banditsrl-auto"])
def test_an_index_beyond_a_labelled_table_is_refused(name: str) -> None:
    rng = np.random.default_rng(0)
    small = TableProblem(rng.normal(size=(10, 2)), np.arange(10) % 5)
    large = TableProblem(rng.normal(size=(20, 2)), np.arange(20) % 5)
    policy = banditsrl.make_policy(name, small)
    key = jax.random.key(0)
    with pytest.raises(InvalidArgument, match="context must be an index below 10, got 10"):
        banditsrl.compiled(policy).act(policy.init(key), 10, None, key)
    with pytest.raises(InvalidArgument, match="problem's n_contexts 20, got 10"):
        banditsrl.simulate(large, policy, horizon=5, seeds=1)
