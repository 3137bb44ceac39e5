"""One-step environments of Gymnasium become problems; longer ones are refused."""

from typing import Any

import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument, InvalidProblem
from banditsrl.integrations.gymnasium_environment import record_gymnasium_environment

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")


class OneStep(gymnasium.Env):  # type: ignore[misc, name-defined]
    """Pays more the nearer the action is to what the observation asks for."""

    def __init__(self, *, start: int = 0, n_steps: int = 1, forgets_seed: bool = False) -> None:
        self.observation_space = gymnasium.spaces.Dict(
            {
                "level": gymnasium.spaces.Box(-1.0, 1.0, (2,)),
                "kind": gymnasium.spaces.Discrete(3),
            }
        )
        self.action_space = gymnasium.spaces.Discrete(3, start=start)
        self.start, self.n_steps, self.forgets_seed = start, n_steps, forgets_seed
        self.n_played = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=None if self.forgets_seed else seed)
        self.level = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        self.kind = int(self.np_random.integers(3))
        self.n_played = 0
        return {"level": self.level, "kind": self.kind}, {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        self.n_played += 1
        reward = float(self.level[0]) - abs(int(action) - self.start - self.kind)
        seen = {"level": self.level, "kind": self.kind}
        return seen, reward, self.n_played >= self.n_steps, False, {}


@pytest.mark.parametrize("start", [0, 5])
def test_every_round_has_the_reward_of_every_action(start: int) -> None:
    environment = OneStep(start=start)
    problem = record_gymnasium_environment(environment, n_rounds=30, seed=7)
    assert (problem.name, problem.n_contexts, problem.n_actions) == ("OneStep", 30, 3)
    for i in range(30):
        seen, _ = environment.reset(seed=7 + i)
        wanted = [float(seen["level"][0]) - abs(a - seen["kind"]) for a in range(3)]
        np.testing.assert_allclose(problem.means(i), wanted, rtol=1e-12)


def test_observations_become_columns() -> None:
    problem = record_gymnasium_environment(OneStep(), n_rounds=50)
    assert problem.representations[0].n_columns == 5  # a code of three kinds, and two levels


def test_it_can_be_simulated_and_learned() -> None:
    problem = record_gymnasium_environment(OneStep(), n_rounds=60)
    policy = banditsrl.make_policy("linucb-disjoint", problem)
    result = banditsrl.simulate(problem, policy, horizon=600, seeds=2)
    means = np.asarray(problem.rewards)
    uniform = (means.max(axis=1) - means.mean(axis=1)).mean()
    assert result.mean[-1] < 0.4 * 600 * uniform


def test_an_environment_that_goes_on_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="environment must end after one step, got an episode"):
        record_gymnasium_environment(OneStep(n_steps=2), n_rounds=3)


def test_an_environment_that_ignores_its_seed_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="the same observation when it is reset with the same"):
        record_gymnasium_environment(OneStep(forgets_seed=True), n_rounds=3)


def test_other_action_spaces_are_refused() -> None:
    environment = OneStep()
    environment.action_space = gymnasium.spaces.Box(0.0, 1.0, (1,))
    with pytest.raises(InvalidArgument, match="environment must have a Discrete action space, got"):
        record_gymnasium_environment(environment)
