"""Starting from a log gives the state of a policy that played those rounds."""

from typing import Any

import jax
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument

KEY = jax.random.key(0)


@pytest.fixture
def log(problem: banditsrl.FiniteProblem) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    contexts, actions = rng.integers(20, size=80), rng.integers(5, size=80)
    rewards = problem.mean_rewards[contexts, actions] + 0.3 * rng.normal(size=80)
    return {"contexts": contexts, "actions": actions, "rewards": rewards}


def test_a_warm_start_is_the_ridge_fit_of_the_log(
    problem: banditsrl.FiniteProblem, log: dict[str, Any]
) -> None:
    policy = banditsrl.LinUCB(problem.representations[0], sigma=0.3)
    state, history = banditsrl.warm_start(policy, KEY, capacity=10, **log)
    phi = problem.representations[0].features[log["contexts"], log["actions"]]
    theta = np.linalg.solve(np.eye(6) + phi.T @ phi, phi.T @ log["rewards"])
    assert np.allclose(np.asarray(state.ridge.theta), theta, atol=1e-10)
    assert int(history.n) == 80
    assert history.capacity >= 90


def test_banditsrl_selects_from_a_log(
    problem: banditsrl.FiniteProblem, log: dict[str, Any]
) -> None:
    policy = banditsrl.BanditSRL(problem.representations, base=banditsrl.LinUCB(), sigma=0.3)
    state, _ = banditsrl.warm_start(policy, KEY, **log)
    values = []
    for candidate in problem.representations:
        phi = candidate.features[log["contexts"], log["actions"]]
        L2 = (candidate.features**2).sum(-1).max()
        values.append(np.linalg.eigvalsh(phi.T @ phi)[0] / L2)
    assert int(state.representation) == int(np.argmax(values))
    assert float(state.ridge.n) == 80


def test_a_log_that_does_not_fit_together_is_refused(
    problem: banditsrl.FiniteProblem, log: dict[str, Any]
) -> None:
    policy = banditsrl.LinUCB(problem.representations[0])
    with pytest.raises(InvalidArgument, match="actions must be 80 integers, one per reward"):
        banditsrl.warm_start(policy, KEY, **{**log, "actions": log["actions"][:5]})
    with pytest.raises(InvalidArgument, match=r"contexts must hold 80 rounds, got \[3\]"):
        banditsrl.warm_start(policy, KEY, **{**log, "contexts": log["contexts"][:3]})
    with pytest.raises(InvalidArgument, match="rewards must be finite, got nan"):
        banditsrl.warm_start(policy, KEY, **{**log, "rewards": log["rewards"] * np.nan})
