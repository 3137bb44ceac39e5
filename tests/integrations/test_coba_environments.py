"""Learners of this package play in coba, and environments of coba are problems here."""

from typing import Any

import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument, InvalidProblem, InvalidType
from banditsrl.integrations.coba_environments import record_coba_environment
from banditsrl.integrations.coba_learner import CobaLearner

coba = pytest.importorskip("coba", reason="coba is not installed")


class Listed:
    """An environment of interactions that are given."""

    def __init__(self, *interactions: dict[str, Any]) -> None:
        self.interactions = interactions

    def read(self) -> Any:
        return iter([dict(one) for one in self.interactions])

    def __str__(self) -> str:
        return "listed"


def make_environments(n: int, **settings: Any) -> Any:
    return coba.Environments.from_linear_synthetic(
        n, n_actions=3, n_context_features=2, n_action_features=0, **settings
    )


def run(environments: Any, learners: Any, **settings: Any) -> list[list[float]]:
    """The rewards of every learner in every round of an experiment."""
    evaluator = coba.SequentialCB(record=["reward", "probability"])
    result = coba.Experiment(environments, learners, evaluator).run(quiet=True, **settings)
    rows = list(result.interactions.to_dicts())
    assert all(0 < row["probability"] <= 1 for row in rows)
    ids = sorted({row["learner_id"] for row in rows})
    return [[row["reward"] for row in rows if row["learner_id"] == i] for i in ids]


def test_a_learner_plays_in_an_experiment_and_beats_chance() -> None:
    learners = [CobaLearner("linucb-disjoint"), coba.RandomLearner()]
    ours, chance = run(make_environments(300), learners)
    assert len(ours) == len(chance) == 300
    assert np.mean(ours[100:]) > np.mean(chance[100:]) + 0.1


def test_an_experiment_plays_what_a_plain_loop_plays() -> None:
    environments = make_environments(60)
    learner, wanted = CobaLearner("egreedy", seed=6), []
    for interaction in environments[0].read():
        context, actions, rewards = (interaction[k] for k in ("context", "actions", "rewards"))
        action, probability, extra = learner.predict(context, actions)
        reward = rewards(action)
        learner.learn(context, action, reward, probability, **extra)
        wanted.append(reward)
    (found,) = run(environments, [CobaLearner("egreedy", seed=6)])
    assert found == pytest.approx(wanted, abs=1e-4)  # coba rounds what it records


def test_batches_are_taken_one_round_at_a_time() -> None:
    learners = [CobaLearner("egreedy", seed=6)]
    rows = run(make_environments(60).batch(4), learners)
    assert len(np.ravel(rows)) == 60
    assert np.isfinite(np.ravel(rows)).all()


def test_an_experiment_may_use_several_processes() -> None:
    environments = make_environments(40, seed=[1, 2])
    alone = run(environments, [CobaLearner("egreedy", seed=6)])
    spread = run(environments, [CobaLearner("egreedy", seed=6)], processes=2)
    assert sorted(spread[0]) == sorted(alone[0])


def test_categorical_words_show_their_levels() -> None:
    levels = ["red", "green", "blue"]
    learner = CobaLearner("linucb-disjoint")
    for i in range(60):
        word = coba.primitives.Categorical(levels[i % 3], levels)
        action, probability, extra = learner.predict((word,), levels)
        learner.learn((word,), action, float(action == word), probability, **extra)
    for name in levels:
        context = (coba.primitives.Categorical(name, levels),)
        assert learner.score(context, levels, name) == 1.0


def test_a_recorded_environment_has_its_contexts_and_rewards() -> None:
    (environment,) = make_environments(50)
    problem = record_coba_environment(environment)
    interactions = list(environment.read())
    contexts = np.array([one["context"] for one in interactions])
    scaled = (contexts - contexts.mean(0)) / contexts.std(0)
    assert (problem.n_contexts, problem.n_actions) == (50, 3)
    for i, interaction in enumerate(interactions):
        wanted = [interaction["rewards"](action) for action in interaction["actions"]]
        np.testing.assert_allclose(problem.means(i), wanted, rtol=1e-12)
        np.testing.assert_allclose(problem.representations[0].vector(i), scaled[i], atol=1e-6)
    assert problem.name == str(environment)
    assert record_coba_environment(environment, n_rounds=20).n_contexts == 20


def test_a_recorded_environment_can_be_simulated() -> None:
    problem = record_coba_environment(make_environments(400)[0])
    assert banditsrl.check_problem(problem)
    policy = banditsrl.make_policy("linucb-disjoint", problem)
    result = banditsrl.simulate(problem, policy, horizon=800, seeds=2)
    means = np.asarray(problem.rewards)
    chance = (means.max(axis=1) - means.mean(axis=1)).mean()
    assert result.mean[-1] < 0.3 * 800 * chance


def test_supervised_data_and_actions_that_come_and_go_are_recorded() -> None:
    supervised = coba.Environments.from_supervised([[1, 2], [3, 4], [5, 6]], ["a", "b", "a"])
    problem = record_coba_environment(supervised[0])
    assert [problem.means(i).tolist() for i in range(3)] == [[1, 0], [0, 1], [1, 0]]
    changing = Listed(
        {"context": 1.0, "actions": ["a", "b"], "rewards": [0.5, 0.25]},
        {"context": 2.0, "actions": ["c", "a"], "rewards": [0.75, 0.125]},
    )
    problem = record_coba_environment(changing, n_actions=3)
    assert problem.mask(0).tolist() == [True, True, False]
    assert problem.mask(1).tolist() == [True, False, True]
    assert problem.means(1).tolist() == [0.125, 0.0, 0.75]


def test_features_of_actions_that_change_are_refused() -> None:
    (environment,) = coba.Environments.from_linear_synthetic(20, n_actions=3)
    with pytest.raises(InvalidArgument, match="described anew in every round cannot be learned"):
        record_coba_environment(environment)


@pytest.mark.parametrize(
    ("interaction", "sentence"),
    [
        ({"context": 1, "action": "a", "reward": 1.0}, "got no actions in interaction 0"),
        ({"context": 1, "actions": ["a", "b"]}, "got no rewards in interaction 0"),
        ({"context": 1, "actions": [], "rewards": []}, r"got \[\] in interaction 0"),
    ],
)
def test_interactions_without_all_rewards_are_refused(interaction: Any, sentence: str) -> None:
    with pytest.raises(InvalidProblem, match=sentence):
        record_coba_environment(Listed(interaction))


def test_several_environments_and_none_are_refused() -> None:
    with pytest.raises(InvalidType, match=r"such as environments\[0\], got 2 together"):
        record_coba_environment(make_environments(5, seed=[1, 2]))
    with pytest.raises(InvalidProblem, match="environment must have at least one interaction"):
        record_coba_environment(Listed())
