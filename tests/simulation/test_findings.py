"""Do the paper's linear findings hold? Tested at a small size; docs/findings.md has the full size.

Problems are generated from seeds 0, 1, ..., which were fixed beforehand and not selected.
"""

import numpy as np
import pytest
from second_half import second_half_regret, simulate_seeds

import banditsrl


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_an_hls_candidate_banditsrl_stops_exploring(seed: int) -> None:
    problem = banditsrl.make_problem("vardim-realizable", seed=seed)
    linucb = simulate_seeds(problem, "banditsrl-linucb", 10_000, offset="paper")
    assert (second_half_regret(linucb) == 0).sum() >= 38
    assert linucb.wrong.max() == 0


def test_without_an_hls_candidate_regret_keeps_growing() -> None:
    problem = banditsrl.make_problem("vardim-no-hls", seed=0)
    for name in ("banditsrl-linucb", "banditsrl-egreedy"):
        added = second_half_regret(simulate_seeds(problem, name, 10_000, offset="paper"))
        assert added.mean() > 2 * added.std(ddof=1) / np.sqrt(40)


def test_the_eig_loss_is_blind_on_redundant_features() -> None:
    problem = banditsrl.make_problem("vardim-weak-hls", seed=0)
    eig = simulate_seeds(problem, "banditsrl-linucb", 5_000, loss="eig", offset="paper")
    span = simulate_seeds(problem, "banditsrl-linucb", 5_000, loss="span", offset="paper")
    hits = [(result.final_representation == 0).sum() for result in (eig, span)]
    assert hits[0] <= 40 / 6 + 3 * np.sqrt(40 * 5 / 36)  # chance plus three standard deviations
    assert hits[1] >= 34


def test_misspecified_candidates_are_eliminated_and_realizable_ones_are_not() -> None:
    problem = banditsrl.make_problem("vardim-misspecified", seed=0)
    result = simulate_seeds(problem, "banditsrl-linucb", 10_000, offset="tight")
    realizable = np.array([claim.realizable for claim in problem.claims])
    active = result.reports["active"]
    assert active[:, :, realizable].all()
    assert not active[:, -1][:, ~realizable].any()


@pytest.mark.parametrize("name", ["banditsrl-linucb", "banditsrl-egreedy"])
def test_certificates_are_sound(problem: banditsrl.FiniteProblem, name: str) -> None:
    policy, n = banditsrl.make_policy(name, problem, offset="paper"), 200
    delta = policy.effective.delta
    result = banditsrl.simulate(problem, policy, horizon=3_000, seeds=n, steps=[3_000])
    wrong = int((result.wrong[:, -1] > 0).sum())
    assert (result.certified[:, -1] > 0).all()
    assert wrong <= 4 * delta * n + 2 * np.sqrt(4 * delta * (1 - 4 * delta) * n)
