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


def make_uneven_log(n: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Return logged rounds whose columns have very different scales, and their mean rewards."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(n, 4))
    weights = np.array([[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.0, 0.5], [-0.5, -0.5, 0.5, 0.5]])
    means = plain @ weights.T  # (n, 3)
    actions = rng.integers(3, size=n)
    rewards = means[np.arange(n), actions] + 0.3 * rng.normal(size=n)
    contexts = 50.0 + plain * [100.0, 1.0, 0.01, 10.0]
    return {"contexts": contexts, "actions": actions, "rewards": rewards}, means


def share_of_best(agent: banditsrl.Agent, seed: int) -> float:
    log, means = make_uneven_log(300, seed)
    actions = [int(agent.act(context).action) for context in log["contexts"]]
    return float((np.array(actions) == means.argmax(axis=1)).mean())


@pytest.mark.parametrize("n", [300, 600, 1100])
def test_a_log_is_worth_as_much_as_having_lived_through_it(n: int) -> None:
    log, _ = make_uneven_log(n, seed=0)
    policy = banditsrl.make_policy("linucb-disjoint", banditsrl.Stream(4, 3))
    lived = banditsrl.Agent(policy)
    for context, action, reward in zip(*log.values(), strict=True):
        lived.learn(context, int(action), float(reward))
    shares = [share_of_best(one, 1) for one in (lived, banditsrl.Agent.from_log(policy, **log))]
    assert shares[1] >= shares[0] - 0.02
    assert shares[1] >= 0.9


def test_phases_end_in_a_log_where_they_end_in_life(
    problem: banditsrl.FiniteProblem, log: dict[str, Any]
) -> None:
    policy = banditsrl.BanditSRL(problem.representations, base=banditsrl.LinUCB(), sigma=0.3)
    state, _ = banditsrl.warm_start(policy, KEY, **log)
    assert int(state.phase) == 7  # after 2, 4, ..., 64 rounds, and after all 80
    short = {name: values[:64] for name, values in log.items()}
    state, _ = banditsrl.warm_start(policy, KEY, **short)
    assert int(state.phase) == 6  # the last round ends a phase, which does not end twice


def test_a_log_gives_the_same_agent_as_its_arrays() -> None:
    rng = np.random.default_rng(4)
    actions = rng.integers(2, size=60)
    arrays = {
        "contexts": rng.normal(size=(60, 3)),
        "actions": actions,
        "rewards": rng.random(60) + actions,
        "propensities": rng.uniform(0.2, 0.9, size=60),
    }
    log, policy = banditsrl.Log.from_arrays(**arrays), make_policy_of_columns()
    for weighting in ("none", "thinned"):
        read = banditsrl.Agent.from_log(policy, log, weighting=weighting)
        given = banditsrl.Agent.from_log(policy, **arrays, weighting=weighting)
        assert (read.log_note, read.n_rounds) == (given.log_note, given.n_rounds)
        for one, other in zip(
            jax.tree.leaves(read.state), jax.tree.leaves(given.state), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_a_log_without_all_propensities_is_learned_without_weights_only() -> None:
    known = np.full(20, 0.5)
    known[3] = np.nan
    rounds = {"contexts": np.ones((20, 3)), "actions": np.arange(20) % 2, "rewards": np.ones(20)}
    log, policy = banditsrl.Log.from_arrays(**rounds, propensities=known), make_policy_of_columns()
    assert banditsrl.Agent.from_log(policy, log).n_rounds == 20
    with pytest.raises(InvalidArgument, match="propensities must be finite"):
        banditsrl.Agent.from_log(policy, log, weighting="ips")
    with pytest.raises(InvalidArgument, match="rewards must not be given with a log"):
        banditsrl.Agent.from_log(policy, log, rewards=rounds["rewards"])
    with pytest.raises(InvalidArgument, match="contexts and actions must be given without a log"):
        banditsrl.Agent.from_log(policy, rewards=rounds["rewards"])


def make_policy_of_columns() -> banditsrl.Policy:
    return banditsrl.make_policy("linucb-disjoint", banditsrl.Stream(n_columns=3, n_actions=2))
