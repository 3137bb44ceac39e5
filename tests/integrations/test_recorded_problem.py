"""Recorded rounds are a problem: every reward is one that was recorded."""

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.integrations.recorded_problem import RecordedProblem

N, M, A = 40, 3, 4


def make_rounds(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    available = rng.random((N, A)) < 0.6
    available[:, 1] = True
    return rng.normal(size=(N, M)), rng.normal(size=(N, A)), available


def test_it_keeps_the_contract() -> None:
    contexts, rewards, available = make_rounds()
    problem = RecordedProblem(contexts, rewards, available=available, name="some rounds")
    assert "rewards are finite" in banditsrl.check_problem(problem)
    assert problem.name == "some rounds"


def test_means_masks_and_columns_are_what_was_recorded() -> None:
    contexts, rewards, available = make_rounds()
    problem = RecordedProblem(contexts, rewards, available=available)
    scaled = (contexts - contexts.mean(0)) / contexts.std(0)
    for i in range(N):
        np.testing.assert_array_equal(problem.mask(i), available[i])
        np.testing.assert_array_equal(problem.means(i)[available[i]], rewards[i][available[i]])
        vector = problem.representations[0].vector(i)
        np.testing.assert_allclose(vector, scaled[i], atol=1e-6)
    offered = rewards[available]
    assert problem.sigma == pytest.approx((offered.max() - offered.min()) / 2)


def test_regret_is_against_the_best_recorded_reward() -> None:
    contexts, rewards, available = make_rounds()
    problem = RecordedProblem(contexts, rewards, available=available)
    policy = banditsrl.Uniform(problem.representations[0])
    result = banditsrl.simulate(problem, policy, horizon=4000, seeds=4)
    masked = np.where(available, rewards, np.nan)
    wanted = (np.nanmax(masked, axis=1) - np.nanmean(masked, axis=1)).mean()
    # About 5 standard errors of 16,000 rounds whose regret has a deviation below 1.
    assert result.mean[-1] / 4000 == pytest.approx(wanted, abs=0.04)


def test_a_problem_without_columns_that_vary_can_be_learned() -> None:
    problem = RecordedProblem(np.ones((20, 2)), np.tile([0.1, 0.9, 0.5], (20, 1)))
    assert problem.representations[0].vector(7).tolist() == [1.0]
    policy = banditsrl.make_policy("linucb", problem)
    result = banditsrl.simulate(problem, policy, horizon=1000, seeds=2)
    state = jax.tree.map(lambda leaf: leaf[..., 0], result.state)
    choice = policy.act(state, np.asarray(3), None, jax.random.key(0))
    assert int(choice.action) == 1


def test_rewards_that_are_all_equal_leave_the_noise_level_open() -> None:
    assert RecordedProblem([[0.0], [1.0]], [[1.0, 1.0]] * 2).sigma is None


def test_rows_that_do_not_match_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="rewards must have one row per context, 2, got 1"):
        RecordedProblem([[0.0], [1.0]], [[1.0, 0.0]])


def test_a_round_without_actions_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="available must offer an action in every row, got"):
        RecordedProblem([[0.0]], [[1.0, 0.0]], available=[[False, False]])
