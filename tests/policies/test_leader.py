"""Does LEADER play the tightest optimism of its formula, with and without elimination?"""

import math
from typing import Any

import jax
import numpy as np
import pytest

import banditsrl


def slow_bounds(problem: Any, rounds: list[tuple[int, int, float]], x: int) -> Any:
    """UCB of every candidate and action, (M, A)."""
    bounds = []
    for candidate, claim in zip(problem.representations, problem.claims, strict=True):
        phi = np.array([candidate.features[c, a] for c, a, _ in rounds])
        V = np.eye(candidate.dim) + phi.T @ phi
        theta = np.linalg.solve(V, phi.T @ np.array([y for _, _, y in rounds]))
        log_det = np.linalg.slogdet(V)[1]
        level = 0.01 / len(problem.representations)
        width = 0.3 * math.sqrt(log_det - 2 * math.log(level)) + np.linalg.norm(claim.theta)
        rows = candidate.features[x]
        norms = np.sqrt(np.einsum("ai,ij,aj->a", rows, np.linalg.inv(V), rows))
        bounds.append(rows @ theta + width * norms)
    return np.array(bounds)


@pytest.fixture(scope="module")
def taught(problem: banditsrl.FiniteProblem) -> tuple[Any, Any, list[Any]]:
    policy = banditsrl.Leader(problem.representations, sigma=0.3)
    rng = np.random.default_rng(1)
    rounds = [(int(rng.integers(20)), int(rng.integers(5)), float(rng.normal())) for _ in range(40)]
    learn = banditsrl.compiled(policy).learn
    state = policy.init(jax.random.key(0))
    for x, a, y in rounds:
        state = learn(state, x, a, y)
    return policy, state, rounds


def test_leader_plays_the_tightest_optimism(
    problem: banditsrl.FiniteProblem, taught: tuple[Any, Any, list[Any]]
) -> None:
    policy, state, rounds = taught
    act = banditsrl.compiled(policy).act
    for x in range(20):
        bounds = slow_bounds(problem, rounds, x)
        best = int(bounds.min(axis=0).argmax())
        choice = act(state, x, None, jax.random.key(x))
        assert int(choice.action) == best
        assert int(choice.representation) == int(bounds[:, best].argmin())
        assert not choice.certified


def test_leader_respects_masks_and_eliminated_candidates(
    problem: banditsrl.FiniteProblem, taught: tuple[Any, Any, list[Any]]
) -> None:
    policy, state, rounds = taught
    kept, mask = np.array([0, 0, 1, 0, 1, 0], dtype=bool), np.array([1, 0, 1, 1, 0], dtype=bool)
    bounds = slow_bounds(problem, rounds, 4)
    expected = int(np.where(mask, bounds[kept].min(axis=0), -np.inf).argmax())
    choice = policy.act(state._replace(active=kept), 4, mask, jax.random.key(0))
    assert int(choice.action) == expected


def test_the_plain_variant_never_eliminates() -> None:
    problem = banditsrl.make_problem("vardim-misspecified", seed=0)
    chosen = (0, 2, 6, 8)
    candidates = [problem.representations[k] for k in chosen]
    results = [
        banditsrl.simulate(
            problem,
            banditsrl.Leader(candidates, sigma=0.3, offset="tight", eliminate=eliminate),
            horizon=5000,
            seeds=3,
            steps=[5000],
        )
        for eliminate in (True, False)
    ]
    realizable = np.array([problem.claims[k].realizable for k in chosen])
    assert results[0].reports["active"][:, -1, ~realizable].mean() < 0.5
    assert results[0].reports["active"][:, -1, realizable].all()
    assert results[1].reports["active"].all()
