"""Phases are played without padding: the numbers are those of phases with all of the padding."""

from typing import Any

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.core.policy import Policy
from banditsrl.policies.watched import Watched
from banditsrl.representations import Table
from banditsrl.simulation import batches, loop
from banditsrl.simulation.run_plan import make_run_plan

HORIZON, SEEDS = 400, 3

# A linear base with statistics shared or of its own, one that draws as many numbers as there are
# entries, and a policy around the policy.
POLICIES: dict[str, dict[str, Any]] = {
    "shared": {"base": banditsrl.EpsilonGreedy()},
    "own statistics": {"base": banditsrl.EpsilonGreedy(), "warm_start": False},
    "drawing": {"base": banditsrl.LinTS(draws=4)},
    "watched": {"base": banditsrl.EpsilonGreedy()},
}


@pytest.fixture(scope="module")
def problem() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("vardim-realizable")


def make(kind: str, problem: banditsrl.FiniteProblem) -> Policy[Any]:
    """The first candidate is HLS and has 6 entries, the last has 18 that are not as good."""
    first, small = problem.representations[:2]
    other = problem.representations[-1].features
    large = Table(np.concatenate([other, other**2, other**3], axis=-1))
    policy = banditsrl.BanditSRL((first, small, large), sigma=0.3, **POLICIES[kind])
    return Watched(policy, audit=0.1) if kind == "watched" else policy


@pytest.mark.parametrize("kind", POLICIES)
def test_a_run_without_padding_gives_the_same_numbers(
    kind: str, problem: banditsrl.FiniteProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, found = make(kind, problem), []

    def find_size(*args: Any) -> int | None:
        found.append(loop_find_size(*args))
        return found[-1]

    loop_find_size = loop.find_size
    monkeypatch.setattr(loop, "find_size", find_size)
    whole = banditsrl.simulate(problem, policy, horizon=HORIZON, seeds=SEEDS)
    assert found == []
    monkeypatch.setattr(batches, "LONG_RUN", HORIZON)
    monkeypatch.setattr(batches, "LONG_PHASE", 2)
    cut = banditsrl.simulate(problem, policy, horizon=HORIZON, seeds=SEEDS)
    assert any(size is not None for size in found)
    np.testing.assert_array_equal(cut.regret, whole.regret)
    np.testing.assert_array_equal(cut.certified, whole.certified)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9), cut.state, whole.state
    )


def test_without_padding_there_is_nothing_to_cut(problem: banditsrl.FiniteProblem) -> None:
    for policy in (
        banditsrl.GLRT(banditsrl.LinUCB(), representation=problem.representations[0]),
        banditsrl.BanditSRL(problem.representations[:1], base="linucb"),
    ):
        run = make_run_plan(problem, policy, horizon=10, steps=None)
        assert loop.find_size(run.game.policy, None) is None


def test_a_policy_that_may_start_afresh_within_a_phase_is_not_cut(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = make("shared", problem)
    assert Watched(policy, audit=0.1).padding is not None
    assert Watched(policy, drift=1000.0).padding is None
