"""Do units matter? Rewards a y + b and rescaled columns must give the same certificates.

Equality is exact here although a y + b and rescaled columns are rounded: rewards are measured from
the first one and in their deviation, and standardised columns are rounded to 24 bits. What is left
of the rounding is about 1e-10 of a reward's deviation with b = 1e6 a, which moves an action or a
certificate only where it is a tie to so many digits.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest

import banditsrl

N, A = 250, 3
SETTINGS: dict[str, dict[str, Any]] = {
    "linucb-disjoint": {},
    "banditsrl-auto": {
        "layers": (8, 4),
        "n_features": 10,
        "passes": 2,
        "n_trees": 5,
        "depth": 3,
        "gamma": 1.5,
    },
}


class Data(NamedTuple):
    """Contexts and the rewards of all actions."""

    x: Any  # (N, 4)
    y: Any  # (N, A)


class Trace(NamedTuple):
    """What an agent did."""

    actions: Any
    certified: Any


def draw() -> Data:
    """Two numbers, the code of a category, and a column that means nothing."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 4))
    x[:, 2] = rng.integers(0, 3, N)
    means = np.stack([x[:, 0], -x[:, 0], 0.5 * x[:, 1] * (x[:, 2] == 1)], axis=1)
    return Data(x, means + 0.3 * rng.normal(size=(N, A)))


def live(policy: Any, data: Data) -> Trace:
    agent, actions, certified = banditsrl.Agent(policy, seed=3), [], []
    for x, y in zip(*data, strict=True):
        choice = agent.act(x)
        actions.append(int(choice.action))
        certified.append(bool(choice.certified))
        agent.learn(x, choice, float(y[choice.action]))
    return Trace(np.array(actions), np.array(certified))


@pytest.fixture(scope="module", params=list(SETTINGS))
def subject(request: pytest.FixtureRequest) -> tuple[Any, Trace]:
    """A policy, and what it does with the data as they are."""
    name = request.param
    policy = banditsrl.make_policy(name, banditsrl.Stream(4, A), **SETTINGS[name])
    trace = live(policy, draw())
    counts = np.sort(np.bincount(trace.actions, minlength=A))
    assert counts[-2] > N / 5  # a policy that always plays one action would be invariant too
    if name == "banditsrl-auto":
        assert 5 < trace.certified.sum() < N - 5
    return policy, trace


def compare(found: Trace, expected: Trace) -> None:
    np.testing.assert_array_equal(found.actions, expected.actions)
    np.testing.assert_array_equal(found.certified, expected.certified)


UNITS = [(a, b) for a in (1e-6, 1.0, 1e6) for b in (0.0, -1e3, 1e6) if (a, b) != (1.0, 0.0)]


@pytest.mark.parametrize(("a", "b"), UNITS)
def test_the_unit_and_the_zero_of_the_rewards_do_not_matter(
    subject: tuple[Any, Trace], a: float, b: float
) -> None:
    policy, expected = subject
    data = draw()
    compare(live(policy, data._replace(y=a * data.y + a * b)), expected)


@pytest.mark.parametrize("offsets", [(0.0, 0.0, 0.0, 0.0), (3.0, -100.0, 7.0, 1e3)])
@pytest.mark.parametrize("unit", [1e-7, 1e7])
def test_the_unit_and_the_zero_of_a_column_do_not_matter(
    subject: tuple[Any, Trace], unit: float, offsets: tuple[float, ...]
) -> None:
    policy, expected = subject
    data = draw()
    units = np.array([unit, 1.0, 1.0 / unit, unit])
    compare(live(policy, data._replace(x=units * (data.x + np.array(offsets)))), expected)
