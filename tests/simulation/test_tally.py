"""The running totals of a simulation are what a count in plain Python gives."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.policy import Choice
from banditsrl.simulation.tally import Tally


class Played(NamedTuple):
    """One round as plain numbers."""

    regret: float
    reward: float
    certified: bool
    ratio: float  # infinite where there was nothing to decide


def random_rounds(n: int, seed: int) -> list[Played]:
    rng = np.random.default_rng(seed)
    return [
        Played(
            regret=float(rng.choice([0.0, 0.25, 0.5])),
            reward=float(rng.normal()),
            certified=bool(rng.random() < 0.5),
            ratio=float(rng.choice([2.5, np.inf])),
        )
        for _ in range(n)
    ]


def count(rounds: list[Played]) -> dict[str, float]:
    """What the totals mean, round by round, without arrays."""
    total = dict.fromkeys(Tally._fields, 0.0)
    for step, played in enumerate(rounds, start=1):
        nothing_to_decide = played.certified and played.ratio == np.inf
        total["regret"] += played.regret
        if nothing_to_decide:
            total["trivial"] += 1
        elif played.certified:
            total["certified"] += 1
        if played.certified and played.regret > 0:
            total["wrong"] += 1
            total["wrong_regret"] += played.regret
        if played.regret > 0:
            total["last_regret"] = step
        if not played.certified:
            total["last_uncertified"] = step
        total["largest_reward"] = max(total["largest_reward"], abs(played.reward))
    return total


def choice_of(played: Played) -> Choice:
    plain = Choice.without_test(jnp.asarray(0), jnp.asarray([1.0]))
    return plain._replace(certified=jnp.asarray(played.certified), glr=jnp.asarray(played.ratio))


def tally_of(rounds: list[Played]) -> Tally:
    tally = Tally(*[jnp.zeros((), dtype=jnp.float64)] * len(Tally._fields))
    for step, (regret, reward, certified, ratio) in enumerate(rounds, start=1):
        choice = choice_of(Played(regret, reward, certified, ratio))
        tally = tally.add(choice, jnp.asarray(regret), jnp.asarray(reward), jnp.asarray(step))
    return tally


@pytest.mark.parametrize("seed", range(5))
def test_the_totals_are_those_of_a_plain_count(seed: int) -> None:
    rounds = random_rounds(40, seed)
    with jax.enable_x64(True):
        tally = tally_of(rounds)
        found = {name: float(value) for name, value in tally._asdict().items()}
        assert {value.dtype.name for value in tally} == {"float64"}
    assert found == count(rounds)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([Played(0.0, -3.0, True, 2.5)], {"certified": 1, "largest_reward": 3}),
        ([Played(0.0, 0.0, True, np.inf)], {"trivial": 1}),
        (
            [Played(0.5, 0.0, True, np.inf)],
            {"regret": 0.5, "trivial": 1, "wrong": 1, "wrong_regret": 0.5, "last_regret": 1},
        ),
        (
            [Played(0.0, 0.0, False, np.inf)],
            {"last_uncertified": 1},
        ),
    ],
)
def test_single_rounds_count_as_they_should(
    rounds: list[Played], expected: dict[str, float]
) -> None:
    with jax.enable_x64(True):
        found = {name: float(value) for name, value in tally_of(rounds)._asdict().items()}
    assert found == {**dict.fromkeys(Tally._fields, 0.0), **expected}


class ByTheClock:
    """Plays and certifies by a schedule, and remembers the contexts dealt and the rewards paid."""

    def __init__(self, rounds: list[Played]) -> None:
        self.actions = np.arange(len(rounds)) % 5
        self.certified = np.array([played.certified for played in rounds])
        self.ratios = np.array([played.ratio for played in rounds])

    def init(self, key: Any) -> Any:
        n = len(self.actions)
        return {"t": jnp.zeros((), int), "x": jnp.zeros(n, int), "y": jnp.zeros(n)}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> Choice:
        t, action = state["t"], jnp.asarray(self.actions)[state["t"]]
        plain = Choice.without_test(action, 1.0 * (jnp.arange(5) == action))
        certified, ratio = jnp.asarray(self.certified)[t], jnp.asarray(self.ratios)[t]
        return plain._replace(certified=certified, glr=ratio)

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        t = state["t"]
        return {
            "t": t + 1,
            "x": state["x"].at[t].set(context),
            "y": state["y"].at[t].set(reward),
        }


def test_a_simulation_counts_every_seed_as_a_plain_count_does(
    problem: banditsrl.FiniteProblem,
) -> None:
    schedule, recorded = random_rounds(120, 7), [1, 5, 119, 120]
    policy = ByTheClock(schedule)
    result = banditsrl.simulate(problem, policy, horizon=120, seeds=3, steps=recorded)
    contexts, rewards = np.asarray(result.state["x"]), np.asarray(result.state["y"])
    for seed in range(3):
        regrets = problem.gaps[contexts[:, seed], policy.actions]
        rounds = [
            played._replace(regret=float(regret), reward=float(reward))
            for played, regret, reward in zip(schedule, regrets, rewards[:, seed], strict=True)
        ]
        for name in ("regret", "certified", "trivial", "wrong", "wrong_regret"):
            expected = [count(rounds[:step])[name] for step in recorded]
            np.testing.assert_allclose(getattr(result, name)[seed], expected, rtol=1e-12)
        for name in ("last_regret", "last_uncertified", "largest_reward"):
            assert getattr(result, name)[seed] == count(rounds)[name]
