"""The paper's linear findings, at a size that keeps the tests fast; the full size is in docs/.

Generated problems, seeds fixed beforehand (0, 1, ...), none selected.
"""

from typing import Any

import numpy as np
import pytest

import banditsrl

pytestmark = pytest.mark.usefixtures("optimised")


def run(problem: Any, name: str, horizon: int, **settings: Any) -> banditsrl.Result:
    policy = banditsrl.make_policy(name, problem, **settings)
    steps = [horizon // 2, horizon]
    return banditsrl.simulate(problem, policy, horizon=horizon, seeds=40, steps=steps)


def half(result: banditsrl.Result) -> Any:
    return result.regret[:, -1] - result.regret[:, 0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_an_hls_candidate_banditsrl_stops_exploring(seed: int) -> None:
    problem = banditsrl.make_problem("vardim-realizable", seed=seed)
    linucb = run(problem, "banditsrl-linucb", 10_000)
    assert (half(linucb) == 0).sum() >= 38
    assert linucb.wrong.max() == 0


def test_epsilon_greedy_goes_flat_with_the_test_and_not_without(
    problem: banditsrl.FiniteProblem,
) -> None:
    selecting, alone = (run(problem, name, 50_000) for name in ("banditsrl-egreedy", "egreedy"))
    assert half(selecting).max() == 0
    assert half(alone).min() > 100


def test_without_an_hls_candidate_regret_goes_on() -> None:
    problem = banditsrl.make_problem("vardim-no-hls", seed=0)
    for name in ("banditsrl-linucb", "banditsrl-egreedy"):
        added = half(run(problem, name, 10_000))
        assert added.mean() > 2 * added.std(ddof=1) / np.sqrt(40)


def test_the_eig_loss_is_blind_on_redundant_features() -> None:
    problem = banditsrl.make_problem("vardim-weak-hls", seed=0)
    eig = run(problem, "banditsrl-linucb", 5_000, loss="eig")
    span = run(problem, "banditsrl-linucb", 5_000, loss="span")
    hits = [(result.final_representation == 0).sum() for result in (eig, span)]
    assert hits[0] <= 40 / 6 + 3 * np.sqrt(40 * 5 / 36)  # chance, and three deviations
    assert hits[1] >= 34


def test_misspecified_candidates_leave_and_realizable_ones_stay() -> None:
    problem = banditsrl.make_problem("vardim-misspecified", seed=0)
    result = run(problem, "banditsrl-linucb", 10_000, offset="tight")
    realizable = np.array([c.realizable for c in problem.representations])
    active = result.reports["active"]
    assert active[:, :, realizable].all()
    assert not active[:, -1][:, ~realizable].any()


def test_leader_mixes_representations_and_banditsrl_cannot() -> None:
    problem = banditsrl.make_problem("mixing", seed=0)
    leader, selecting = (run(problem, name, 50_000) for name in ("leader", "banditsrl-linucb"))
    assert (half(selecting) == 0).sum() == 0
    assert half(leader).mean() < 0.5 * half(selecting).mean()


@pytest.mark.parametrize("name", ["banditsrl-linucb", "banditsrl-egreedy"])
def test_certificates_are_sound(problem: banditsrl.FiniteProblem, name: str) -> None:
    delta, n = 0.01, 200
    policy = banditsrl.make_policy(name, problem, delta=delta)
    result = banditsrl.simulate(problem, policy, horizon=3_000, seeds=n, steps=[3_000])
    wrong = int((result.wrong[:, -1] > 0).sum())
    assert (result.certified[:, -1] > 0).all()
    assert wrong <= 4 * delta * n + 2 * np.sqrt(4 * delta * (1 - 4 * delta) * n)
