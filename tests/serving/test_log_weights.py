"""Rows of a log count as if actions had been played evenly, and a sentence says what is left."""

from typing import Any

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.serving.log_weights import weigh_log
from banditsrl.serving.warm_start import learn_log

KEY = jax.random.key(0)
ACTIONS = np.array([0, 0, 0, 0, 1, 2])
PROPENSITIES = np.array([0.8, 0.8, 0.8, 0.8, 0.1, 0.02])


def weigh(weighting: str, seed: int = 0, **settings: Any) -> Any:
    rng = np.random.default_rng(seed)
    settings = {"n_actions": 4, "largest_weight": 5.0, **settings}
    return weigh_log(ACTIONS, PROPENSITIES, weighting=weighting, rng=rng, **settings)


def test_rows_are_drawn_in_proportion_to_their_weights() -> None:
    """Weights are 1 / (A p), at most 5; drawn rows are as many as the effective sample size."""
    weights = np.array([1 / 3.2] * 4 + [2.5, 5.0])
    size = int(weights.sum() ** 2 / (weights**2).sum())
    counts = np.zeros(6)
    for seed in range(4000):
        places = weigh("ips", seed).places
        assert len(places) == size
        assert (np.diff(places) >= 0).all()  # in the order of the log
        counts += np.bincount(places, minlength=6)
    assert np.allclose(counts / 4000, size * weights / weights.sum(), atol=0.03)


def test_a_thinned_log_keeps_each_row_with_a_probability_in_proportion_to_its_weight() -> None:
    counts = np.zeros(6)
    for seed in range(4000):
        places = weigh("thinned", seed).places
        assert len(np.unique(places)) == len(places)
        counts += np.bincount(places, minlength=6)
    assert np.allclose(counts / 4000, [0.0625] * 4 + [0.5, 1.0], atol=0.03)


def test_sentences_say_what_bias_remains() -> None:
    assert weigh("none").note == (
        "All 6 logged rounds count once: predictions are biased if the logging policy used what "
        "the contexts do not contain, and fit best where it preferred the action. Actions that "
        "were never played, about which nothing was learned: 3."
    )
    thinned = weigh("thinned")
    assert thinned.note == (
        f"Of 6 logged rounds {len(thinned.places)} were kept, as if actions had been played "
        "evenly. The weights of 1 of 6 rounds (16.7%) were cut to 5: there the bias of the logging "
        "policy remains in part. Actions that were never played, about which nothing was learned: "
        "3."
    )
    assert "were drawn 2 times, as if actions had been played evenly; cert" in weigh("ips").note
    uncut = weigh("thinned", largest_weight=20.0, n_actions=3).note
    assert "No weight was cut" in uncut
    assert "never played" not in uncut
    even = weigh_log(
        ACTIONS, np.full(6, 0.25), weighting="none", n_actions=9, rng=np.random.default_rng(0)
    )
    assert even.note == (
        "All 6 logged rounds count once; all actions were played evenly. Actions that were never "
        "played, about which nothing was learned: 3, 4, 5, 6, 7 and 1 more."
    )


def test_propensities_that_cannot_be_are_refused() -> None:
    rng = np.random.default_rng(0)
    ways: dict[str, Any] = {"n_actions": 4, "rng": rng}
    with pytest.raises(InvalidArgument, match="must be given for weighting 'ips', got None"):
        weigh_log(ACTIONS, None, weighting="ips", **ways)
    with pytest.raises(InvalidArgument, match="weighting must be one of none, ips, thinned, got"):
        weigh_log(ACTIONS, PROPENSITIES, weighting="snips", **ways)
    with pytest.raises(InvalidArgument, match="above 0 and at most 1, got 0 at index 2"):
        weigh_log(ACTIONS, [0.5, 0.5, 0.0, 1.0, 1.0, 1.0], weighting="none", **ways)
    with pytest.raises(InvalidArgument, match="must be 6 numbers, one per reward, got 3"):
        weigh_log(ACTIONS, [0.5, 0.5, 0.5], weighting="none", **ways)


def draw_confounded(n: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Return rounds of a logging policy that saw a second cause of rewards, which contexts lack.

    Action 1 pays less than action 0 on average, but it was played where it pays well.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.random(n) < 0.5
    actions = (rng.random(n) < np.where(hidden, 0.9, 0.1)).astype(int)
    means = np.stack([np.full(n, 0.5), np.where(hidden, 0.7, 0.1)], axis=1)
    rewards = means[np.arange(n), actions] + 0.1 * rng.normal(size=n)
    propensities = np.where(actions == hidden, 0.9, 0.1)
    rounds = {"contexts": np.ones((n, 1)), "actions": actions, "rewards": rewards}
    return rounds, propensities


@pytest.mark.parametrize("weighting", ["ips", "thinned"])
def test_weights_remove_the_bias_of_a_logging_policy_that_knew_more(weighting: str) -> None:
    policy = banditsrl.make_policy("linucb-disjoint", banditsrl.Stream(1, 2))
    rounds, propensities = draw_confounded(4000, seed=1)
    plain, _ = banditsrl.warm_start(policy, KEY, **rounds)
    fooled = np.asarray(policy.predict(plain, np.ones(1)))
    assert fooled.argmax() == 1  # 0.64 against 0.5
    weighed, history = banditsrl.warm_start(
        policy, KEY, **rounds, propensities=propensities, weighting=weighting
    )
    right = np.asarray(policy.predict(weighed, np.ones(1)))
    assert np.allclose(right, [0.5, 0.4], atol=0.03)
    assert int(history.n) < 4000


def test_an_agent_learns_the_rows_that_were_chosen_and_says_so() -> None:
    policy = banditsrl.make_policy("linucb-disjoint", banditsrl.Stream(1, 2))
    rounds, propensities = draw_confounded(400, seed=2)
    agent = banditsrl.Agent.from_log(
        policy, **rounds, propensities=propensities, weighting="thinned"
    )
    state, history, note = learn_log(
        policy, agent._memory.key, **rounds, propensities=propensities, weighting="thinned"
    )
    assert agent.n_rounds == int(history.n) < 400
    assert agent.log_note == note
    assert note.startswith(f"Of 400 logged rounds {agent.n_rounds} were kept")
    assert banditsrl.Agent(policy).log_note == ""
    agent.learn([1.0], agent.act([1.0]), 0.5)  # it goes on
    assert agent.n_rounds == int(history.n) + 1
    del state


def test_phases_are_as_short_in_a_log_as_in_life() -> None:
    """After a change in the log, a policy that watches for changes must be trained again soon."""
    policy = banditsrl.make_policy("linucb-disjoint", banditsrl.Stream(1, 2), drift=1000.0)
    rng = np.random.default_rng(0)
    actions = rng.integers(2, size=900)
    means = np.where(np.arange(900) < 500, actions, 1 - actions)
    rewards = means + 0.1 * rng.normal(size=900)
    state, _ = banditsrl.warm_start(
        policy, KEY, contexts=np.ones((900, 1)), actions=actions, rewards=rewards
    )
    assert int(state.n_alarms) == 1
    # Phases ended after 256, 506 and 756 rounds; at 900 it was too soon for the next one.
    assert int(state.n_refreshed) == 756 - int(state.since)
    assert np.allclose(policy.predict(state, np.ones(1)), [1.0, 0.0], atol=0.1)
