"""Do the findings hold that take 50,000 steps to see? The others are in `test_findings`."""

import pytest
from second_half import second_half_regret, simulate_seeds

import banditsrl

pytestmark = pytest.mark.optimised


def test_epsilon_greedy_goes_flat_with_the_test_and_not_without(
    problem: banditsrl.FiniteProblem,
) -> None:
    selecting = simulate_seeds(problem, "banditsrl-egreedy", 50_000, offset="paper")
    alone = simulate_seeds(problem, "egreedy", 50_000)
    assert second_half_regret(selecting).max() == 0
    assert second_half_regret(alone).min() > 100


def test_leader_mixes_representations_and_banditsrl_cannot() -> None:
    problem = banditsrl.make_problem("mixing", seed=0)
    leader, selecting = (
        simulate_seeds(problem, name, 50_000, offset="paper")
        for name in ("leader", "banditsrl-linucb")
    )
    assert second_half_regret(leader).max() == 0
    assert second_half_regret(selecting).min() > 0
