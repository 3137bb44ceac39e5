"""Findings of the paper that take 50,000 steps to see; the others are in `test_findings`."""

import pytest
from halves import half, run

import banditsrl

pytestmark = pytest.mark.optimised


def test_epsilon_greedy_goes_flat_with_the_test_and_not_without(
    problem: banditsrl.FiniteProblem,
) -> None:
    selecting, alone = (run(problem, name, 50_000) for name in ("banditsrl-egreedy", "egreedy"))
    assert half(selecting).max() == 0
    assert half(alone).min() > 100


def test_leader_mixes_representations_and_banditsrl_cannot() -> None:
    problem = banditsrl.make_problem("mixing", seed=0)
    leader, selecting = (run(problem, name, 50_000) for name in ("leader", "banditsrl-linucb"))
    assert half(leader).max() == 0
    assert half(selecting).min() > 0
