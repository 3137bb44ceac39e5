"""A learner for coba plays as an agent would, gives true probabilities, and can be sent away."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import banditsrl
from banditsrl.core.adapters import as_policy
from banditsrl.errors import InvalidArgument, InvalidType, UnknownName
from banditsrl.integrations.coba_learner import CobaLearner

ACTIONS = ["left", "right", "stay"]
SMALL: dict[str, Any] = {"layers": (6, 3), "n_features": 8, "passes": 1, "batch": 8}


def draw_rounds(n: int, seed: int = 0) -> list[tuple[tuple[float, ...], dict[str, float]]]:
    """Contexts of two numbers, and the rewards of the actions."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n, 2))
    rewards = [{"left": x, "right": y, "stay": 0.2} for x, y in contexts]
    return list(zip(map(tuple, contexts.tolist()), rewards, strict=True))


def play(learner: CobaLearner, rounds: Any, actions: Any = tuple(ACTIONS)) -> list[Any]:
    """Play rounds as coba does, and return the actions."""
    played = []
    for context, rewards in rounds:
        action, probability, extra = learner.predict(context, list(actions))
        learner.learn(context, action, rewards[action], probability, **extra)
        played.append(action)
    return played


def send_away(learner: CobaLearner) -> CobaLearner:
    """What another process would get."""
    copied: CobaLearner = pickle.loads(pickle.dumps(learner))  # noqa: S301 - our own bytes
    return copied


@pytest.mark.parametrize("name", ["linucb-disjoint", "banditsrl-auto"])
def test_it_plays_as_an_agent_does_even_if_it_is_sent_away_at_half_time(name: str) -> None:
    settings = SMALL if name == "banditsrl-auto" else {}
    rounds = draw_rounds(24)
    stream = banditsrl.Stream(n_columns=2, n_actions=3)
    agent = banditsrl.Agent(banditsrl.make_policy(name, stream, **settings), seed=5)
    wanted = []
    for context, rewards in rounds:
        choice = agent.act(context)
        action = ACTIONS[int(choice.action)]
        agent.learn(context, choice, rewards[action])
        wanted.append(action)
    learner = CobaLearner(name, seed=5, **settings)
    first = play(learner, rounds[:12])
    other = send_away(learner)
    assert first + play(other, rounds[12:]) == wanted
    assert len(set(wanted)) > 1
    assert other.n_rounds == agent.n_rounds == 24


def test_it_learns_which_action_is_best() -> None:
    learner = CobaLearner("linucb-disjoint")
    rounds = draw_rounds(600)
    played = play(learner, rounds)
    right = [
        action == max(pay, key=pay.__getitem__)
        for action, (_, pay) in zip(played, rounds, strict=True)
    ]
    assert np.mean(right[300:]) > 0.9
    assert np.mean(right[300:]) > np.mean(right[:50])


@pytest.mark.parametrize("name", ["linucb-disjoint", "egreedy", "igw"])
def test_probabilities_are_those_with_which_actions_are_drawn(name: str) -> None:
    """Among many draws at one state, every action is as frequent as `score` says."""
    learner = CobaLearner(name, seed=3)
    play(learner, draw_rounds(20))
    context, n = (0.3, 0.4), 600
    scores = {action: learner.score(context, ACTIONS, action) for action in ACTIONS}
    assert sum(scores.values()) == pytest.approx(1.0)
    drawn = []
    for _ in range(n):
        action, probability, _ = learner.predict(context, ACTIONS)
        assert probability == pytest.approx(scores[action], abs=1e-12)
        drawn.append(action)
    for action, share in scores.items():
        deviation = np.sqrt(share * (1 - share) / n)
        assert abs(drawn.count(action) / n - share) <= 4.5 * deviation + 1e-12


def test_asking_for_a_score_changes_nothing() -> None:
    rounds = draw_rounds(25)
    plain, asked = (CobaLearner("egreedy", seed=2) for _ in range(2))
    played = []
    for context, rewards in rounds:
        asked.score(context, ACTIONS, "left")
        played += play(asked, [(context, rewards)])
    assert played == play(plain, rounds)


def test_only_offered_actions_are_played_and_their_probabilities_sum_to_one() -> None:
    learner = CobaLearner("egreedy", n_actions=4)
    rng = np.random.default_rng(6)
    for _ in range(40):
        offered = list(rng.permutation(["a", "b", "c", "d"])[: rng.integers(1, 5)])
        context = tuple(rng.normal(size=2))
        action, probability, extra = learner.predict(context, offered)
        assert any(action is one for one in offered)
        total = sum(learner.score(context, offered, one) for one in offered)
        assert total == pytest.approx(1.0)
        assert 0 < probability <= 1
        learner.learn(context, action, float(rng.normal()), probability, **extra)


@pytest.mark.parametrize("context", [None, 1.5, (1, (2, 3)), {"a": 1.0, "b": "red"}, "hot"])
@pytest.mark.parametrize("actions", [[1, 2], [(1, 0), (0, 1)], ["x", "y"], [[1, 0], [0, 1]]])
def test_contexts_and_actions_of_many_kinds_are_learned(context: Any, actions: Any) -> None:
    learner = CobaLearner("linucb-disjoint", n_columns=3)
    for _ in range(15):
        action, probability, extra = learner.predict(context, actions)
        learner.learn(context, action, float(action == actions[1]), probability, **extra)
    assert learner.predict(context, actions)[0] == actions[1]


@pytest.mark.parametrize("clone", [copy.deepcopy, send_away])
@pytest.mark.parametrize("n_before", [0, 20])
def test_a_copy_continues_where_the_original_is(clone: Any, n_before: int) -> None:
    rounds = draw_rounds(40)
    whole, half = (CobaLearner("egreedy", seed=8) for _ in range(2))
    wanted = play(whole, rounds)
    first = play(half, rounds[:n_before])
    other = clone(half)
    rest = rounds[n_before:]
    assert first + play(other, rest) == first + play(half, rest) == wanted
    assert other.n_rounds == 40


def test_it_learns_from_what_somebody_else_chose() -> None:
    learner = CobaLearner("linucb-disjoint", actions=ACTIONS)
    rng = np.random.default_rng(9)
    for context, rewards in draw_rounds(200):
        action = str(rng.choice(ACTIONS))
        learner.learn(context, action, rewards[action], 1 / 3)
    assert learner.score((3.0, 0.0), ACTIONS, "left") == 1.0
    assert learner.score((0.0, 3.0), ACTIONS, "right") == 1.0


def test_a_choice_that_was_overruled_is_not_learned_as_its_own() -> None:
    learner = CobaLearner("linucb-disjoint")
    rng = np.random.default_rng(1)
    for context, _ in draw_rounds(200):
        overruling = str(rng.choice(ACTIONS))
        _, probability, extra = learner.predict(context, ACTIONS)
        learner.learn(context, overruling, float(overruling == "left"), probability, **extra)
    agent = learner._agent
    assert agent is not None
    means = as_policy(agent.policy).predict(agent.state, np.zeros(2))
    np.testing.assert_allclose(means, [1.0, 0.0, 0.0], atol=0.05)


def test_its_parameters_name_the_policy_and_its_settings() -> None:
    learner = CobaLearner("linucb-disjoint", seed=4, ucb_scale=0.2)
    assert learner.params == {"family": "linucb-disjoint", "seed": 4, "ucb_scale": 0.2}


def test_what_is_wrong_is_said_in_one_sentence() -> None:
    with pytest.raises(UnknownName, match="did you mean 'linucb-disjoint'"):
        CobaLearner("linucb-disjont")
    with pytest.raises(InvalidArgument, match="n_actions must be given where an action is learned"):
        CobaLearner("linucb-disjoint").learn((1.0,), "a", 1.0, 0.5)
    learner = CobaLearner("linucb-disjoint")
    with pytest.raises(InvalidType, match="actions must be a list of actions, got None"):
        learner.score(None, None, None)  # type: ignore[arg-type]
    learner.predict((1.0, 2.0), ["a", "b"])  # the call before has not decided the columns
    with pytest.raises(InvalidArgument, match="described anew in every round cannot be learned"):
        learner.predict((1.0, 2.0), [(0.1, 0.2), (0.3, 0.4)])
