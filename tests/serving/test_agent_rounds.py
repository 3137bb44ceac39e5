"""Does an agent show the rounds that it learned from?"""

import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument

REWARDS = [0.0, 1.0, 1.0, 0.0, 1.0]


def play(agent: banditsrl.Agent) -> list[int]:
    """Play a few rounds, and return the actions."""
    actions = []
    for reward in REWARDS:
        choice = agent.act(0)
        agent.learn(0, choice, reward=reward)
        actions.append(int(choice.action))
    return actions


def test_an_agent_that_keeps_rounds_tabulates_and_draws_them(
    three: banditsrl.FiniteProblem,
) -> None:
    policy = banditsrl.BanditSRL(three.representations, base=banditsrl.LinUCB(), sigma=0.3)
    agent = banditsrl.Agent(policy)
    actions = play(agent)
    frame = agent.to_polars()
    assert frame["reward"].to_list() == REWARDS
    assert frame["action"].to_list() == actions
    assert frame["round"].to_list() == [1, 2, 3, 4, 5]
    chart = agent.chart()
    assert chart is not None
    assert np.allclose(chart.lines[0].y, REWARDS)  # one bin per round while there are few
    assert dict(agent.summary().rows)["mean reward"] == "0.600"
    assert repr(agent) == "Agent(BanditSRL, 5 rounds learned)"
    assert "<polyline" in agent._repr_html_()


def test_an_agent_that_keeps_none_says_so(three: banditsrl.FiniteProblem) -> None:
    agent = banditsrl.Agent(banditsrl.LinUCB(three.representations[0]))
    assert str(agent) == "Agent with LinUCB\n  rounds learned  0\n  choices made    0"
    assert "<svg" not in agent._repr_html_()
    with pytest.raises(InvalidArgument, match="policy must keep its rounds for a table of them"):
        agent.to_polars()
    with pytest.raises(InvalidArgument, match="Agent must have rounds to plot, got none"):
        agent.plot()


@pytest.mark.parametrize(
    ("name", "settings", "notes"),
    [
        ("linucb-disjoint", {}, ()),
        ("linucb-disjoint", {"drift": 1e5}, ()),
        ("glrt-linucb", {"audit": 0.1}, ("No round has been certified so far.",)),
    ],
)
def test_nothing_is_said_about_audits_of_certificates_that_do_not_exist(
    name: str, settings: dict[str, float], notes: tuple[str, ...]
) -> None:
    stream = banditsrl.Stream(n_columns=2, n_actions=2)
    agent = banditsrl.Agent(banditsrl.make_policy(name, stream, **settings))
    agent.learn([0.5, 1.0], agent.act([0.5, 1.0]), reward=1.0)
    assert agent.summary().notes == notes
