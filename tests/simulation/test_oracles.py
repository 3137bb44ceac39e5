"""The package plays as two plain NumPy programs do, on the same contexts and noise."""

from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import plain, vectorised

import banditsrl
from banditsrl.core.history import BLOCK
from banditsrl.numerics.partition import partition
from banditsrl.problems import Claim
from banditsrl.simulation.dealing import deal_block, name_keys

HORIZON = 600
SEEDS = range(12)
"""Enough for one phase counted wrongly to show; none of them meets equal losses."""

TOLERANCE = 1e-6
"""Both accumulate rounding for 600 steps; one different action costs at least the gap, 0.14."""

LOUDER = 8.0
"""Rewards this many times larger make misspecified candidates fail within the horizon."""

oracles = pytest.mark.parametrize("oracle", [plain, vectorised], ids=["plain", "vectorised"])


class Played(NamedTuple):
    """A simulation and what it was dealt."""

    problem: banditsrl.FiniteProblem
    result: banditsrl.Result
    contexts: NDArray[np.int64]  # (T, S)
    noises: NDArray[np.float64]  # (T, S)


def played(problem: banditsrl.FiniteProblem, policy: Any) -> Played:
    result = banditsrl.simulate(problem, policy, horizon=HORIZON, seeds=SEEDS)
    with jax.enable_x64(True):
        keys = name_keys(jnp.asarray(np.asarray(SEEDS)))
        blocks = [
            deal_block(partition(problem), keys, jnp.asarray(i))
            for i in range(-(-HORIZON // BLOCK))
        ]
    contexts = np.concatenate([np.asarray(block.contexts) for block in blocks])
    noises = np.concatenate([np.asarray(block.noises) for block in blocks])
    scaled = problem.noise_std * noises[:HORIZON]
    return Played(problem, result, contexts[:HORIZON].astype(np.int64), scaled)


def louder(problem: banditsrl.FiniteProblem) -> banditsrl.FiniteProblem:
    claims = [Claim(LOUDER * c.theta, c.realizable, c.name) for c in problem.claims]
    return banditsrl.FiniteProblem(
        LOUDER * problem.mean_rewards,
        [candidate.features for candidate in problem.representations],
        claims=claims,
        name="louder",
        noise_std=problem.noise_std,
    )


def banditsrl_outcome(oracle: ModuleType, run: Played) -> Any:
    candidates = run.problem.representations
    return oracle.banditsrl_linucb(
        [candidate.features for candidate in candidates],
        run.problem.mean_rewards,
        run.contexts,
        run.noises,
        bounds=[float(np.linalg.norm(claim.theta)) for claim in run.problem.claims],
        first=run.result.reports["representation"][:, 0],
        sigma=run.problem.sigma,
    )


def assert_same(outcome: Any, result: banditsrl.Result) -> None:
    np.testing.assert_allclose(outcome.regret, result.regret[:, -1], rtol=0.0, atol=TOLERANCE)
    np.testing.assert_array_equal(outcome.certified, result.certified[:, -1])


@pytest.fixture(scope="module")
def linucb() -> Played:
    problem = banditsrl.make_problem("vardim-realizable")
    base = banditsrl.LinUCB(problem.representations[0], sigma=problem.sigma)
    return played(problem, banditsrl.GLRT(base))


@pytest.fixture(scope="module")
def realizable() -> Played:
    problem = banditsrl.make_problem("vardim-realizable")
    policy = banditsrl.BanditSRL(
        problem.representations, base=banditsrl.LinUCB(), sigma=problem.sigma, offset="paper"
    )
    return played(problem, policy)


@pytest.fixture(scope="module")
def misspecified() -> Played:
    problem = louder(banditsrl.make_problem("vardim-misspecified"))
    policy = banditsrl.BanditSRL(
        problem.representations, base=banditsrl.LinUCB(), sigma=problem.sigma, offset="paper"
    )
    return played(problem, policy)


@oracles
def test_linucb_under_the_test_is_the_oracle(oracle: ModuleType, linucb: Played) -> None:
    problem = linucb.problem
    candidate = problem.representations[0]
    outcome = oracle.linucb_glrt(
        candidate.features,
        problem.mean_rewards,
        linucb.contexts,
        linucb.noises,
        B=float(np.linalg.norm(problem.claims[0].theta)),
        sigma=problem.sigma,
    )
    assert_same(outcome, linucb.result)
    assert (outcome.certified > 0).all()
    assert (outcome.certified < HORIZON).all()


@oracles
def test_banditsrl_is_the_oracle_when_all_candidates_are_realizable(
    oracle: ModuleType, realizable: Played
) -> None:
    outcome = banditsrl_outcome(oracle, realizable)
    assert_same(outcome, realizable.result)
    reports = realizable.result.reports
    np.testing.assert_array_equal(outcome.representations.T, reports["representation"])
    assert len(set(outcome.representations[-1])) > 1


@oracles
def test_banditsrl_is_the_oracle_when_candidates_are_eliminated(
    oracle: ModuleType, misspecified: Played
) -> None:
    outcome = banditsrl_outcome(oracle, misspecified)
    assert_same(outcome, misspecified.result)
    reports = misspecified.result.reports
    np.testing.assert_array_equal(outcome.representations.T, reports["representation"])
    np.testing.assert_array_equal(outcome.active.transpose(2, 0, 1), reports["active"][:, 1:])
    n_realizable = sum(claim.realizable for claim in misspecified.problem.claims)
    assert (outcome.active[0].sum(axis=0) == len(misspecified.problem.representations)).all()
    assert (outcome.active[-1].sum(axis=0) == n_realizable).all()


def test_the_ball_of_the_plain_oracle_holds_the_best_parameter_it_allows() -> None:
    """By projected gradient descent, which knows nothing of multipliers."""
    rng = np.random.default_rng(0)
    features, rewards, B = rng.standard_normal((40, 3)), rng.standard_normal(40) + 2.0, 0.4
    features[:, 0] += 1.0
    theta = np.zeros(3)
    for _ in range(5000):
        theta = theta - 1e-3 * features.T @ (features @ theta - rewards)
        theta = theta * min(1.0, B / np.linalg.norm(theta))
    found = plain.fit_in_ball(features, rewards, B)
    np.testing.assert_allclose(found, theta, atol=1e-9)
    assert np.linalg.norm(np.linalg.lstsq(features, rewards, rcond=None)[0]) > B
