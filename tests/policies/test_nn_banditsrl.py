"""NN-BanditSRL: statistics after a phase, certificates, and settings."""

import importlib.util
import math
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import History, empty_history
from banditsrl.errors import InvalidArgument

KEY = jax.random.key(3)
X, A, M, D, N = 9, 3, 4, 3, 40
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(X, A, M))
LAYERS = (5, D)
CONTEXTS, ACTIONS = RNG.integers(X, size=N), RNG.integers(A, size=N)
REWARDS = RNG.normal(size=N)
CERTIFIED = RNG.random(N) < 0.3
EXAMPLES = Path(__file__).parents[2] / "examples"


def neural(**settings: Any) -> banditsrl.NNBanditSRL:
    network = settings.pop("network", None) or banditsrl.Network(FEATURES, layers=LAYERS)
    training = settings.pop("training", banditsrl.Training(batch=8, passes=2, learning_rate=0.01))
    base = settings.pop("base", banditsrl.EpsilonGreedy())
    return banditsrl.NNBanditSRL(
        network, **{"base": base, "training": training, "sigma": 0.2, **settings}
    )


@pytest.fixture(scope="module")
def fresh() -> Any:
    """One first state, also for the policies that differ in the last layer only."""
    return eqx.filter_jit(neural().init)(KEY)


@pytest.fixture(scope="module")
def history() -> History:
    empty = empty_history(np.int32(0), N)
    with jax.enable_x64(True):
        return History(
            *(
                jnp.asarray(np.pad(column, (0, empty.capacity - N)), dtype=like.dtype)
                for column, like in zip(
                    (CONTEXTS, ACTIONS, REWARDS, CERTIFIED), empty[:4], strict=True
                )
            ),
            n=jnp.asarray(N, dtype=jnp.int32),
        )


def embedded(weights: Any, policy: Any = None) -> Any:
    """The embeddings of all samples, in float64."""
    network = (policy or neural()).network
    rows = network.embed_rows(weights.body, jnp.asarray(CONTEXTS), jnp.asarray(ACTIONS))
    return np.asarray(rows, dtype=float)


@pytest.fixture(scope="module")
def refreshed(fresh: Any, history: History) -> Any:
    return banditsrl.compiled(neural()).refresh(fresh, history, KEY)


# After a phase.


def test_the_statistics_are_rebuilt_from_all_rounds_in_the_new_embedding(
    fresh: Any, refreshed: Any
) -> None:
    before, after = fresh.learned.weights, refreshed.learned.weights
    assert not np.allclose(before.body[0].matrix, after.body[0].matrix)
    phi = embedded(after)
    V, b = np.eye(D), np.zeros(D)
    for row, reward in zip(phi, REWARDS, strict=True):
        V += np.outer(row, row)
        b += row * reward
    theta = np.linalg.solve(V, b)
    ridge = refreshed.ridge
    np.testing.assert_allclose(ridge.V, V, rtol=1e-6)
    np.testing.assert_allclose(ridge.b, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ridge.theta, theta, rtol=1e-5, atol=1e-6)
    root = np.asarray(ridge.root)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(V), rtol=1e-5, atol=1e-7)
    assert float(ridge.log_det) == pytest.approx(np.linalg.slogdet(V)[1], rel=1e-6)
    assert float(ridge.n) == N
    assert float(ridge.yy) == pytest.approx(REWARDS @ REWARDS)
    smallest = np.linalg.eigvalsh(V - np.eye(D))[0]
    assert float(refreshed.lambda_min) == pytest.approx(smallest, rel=1e-4, abs=1e-6)


def test_the_largest_norm_and_the_bound_on_theta_are_estimated_anew(refreshed: Any) -> None:
    phi = embedded(refreshed.learned.weights)
    with jax.enable_x64(True):
        facts = neural().facts(refreshed)
    assert float(facts.L) == pytest.approx(np.linalg.norm(phi, axis=1).max(), rel=1e-6)
    assert float(facts.B) == pytest.approx(np.linalg.norm(refreshed.ridge.theta))
    assert float(facts.dim) == D


def test_a_phase_is_counted_and_keeps_what_was_explored(fresh: Any, refreshed: Any) -> None:
    assert (int(fresh.phase), int(refreshed.phase)) == (0, 1)
    assert refreshed.base == ()
    assert int(refreshed.learned.n_explored) == int(fresh.learned.n_explored) == 0
    report = neural().report(refreshed)
    assert float(report["lambda_min"]) == float(refreshed.lambda_min)
    assert np.isfinite(report["loss"])


def test_within_a_phase_the_statistics_are_those_of_ridge_regression(refreshed: Any) -> None:
    _, learn, _ = banditsrl.compiled(neural())
    state, phi = refreshed, embedded(refreshed.learned.weights)
    V, b = np.array(refreshed.ridge.V), np.array(refreshed.ridge.b)
    for i in range(5):
        state = learn(state, CONTEXTS[i], ACTIONS[i], 3.0, CERTIFIED[i])
        V += np.outer(phi[i], phi[i])
        b += 3.0 * phi[i]
    np.testing.assert_allclose(state.ridge.V, V, rtol=1e-6)
    np.testing.assert_allclose(state.ridge.theta, np.linalg.solve(V, b), rtol=1e-5, atol=1e-6)
    assert int(state.learned.n_explored) == 5 - int(CERTIFIED[:5].sum())
    assert 0 < CERTIFIED[:5].sum() < 5
    every = np.asarray([
        neural().network.embed(refreshed.learned.weights.body, int(x)) for x in CONTEXTS[:5]
    ])  # fmt: skip
    seen = max(float(refreshed.largest_norm[0]), np.linalg.norm(every, axis=-1).max())
    assert float(state.largest_norm[0]) == pytest.approx(seen, rel=1e-6)


def test_without_a_refit_theta_is_the_output_layer_and_stays(fresh: Any, history: History) -> None:
    policy = neural(refit="none")
    compiled = banditsrl.compiled(policy)
    after = compiled.refresh(fresh, history, KEY)
    assert np.array_equal(after.ridge.theta, after.learned.weights.omega)
    assert not np.allclose(after.learned.weights.omega, fresh.learned.weights.omega)
    phi = embedded(after.learned.weights)
    np.testing.assert_allclose(after.ridge.V, np.eye(D) + phi.T @ phi, rtol=1e-6)
    later = compiled.learn(after, CONTEXTS[0], ACTIONS[0], 5.0)
    assert np.array_equal(later.ridge.theta, after.ridge.theta)
    np.testing.assert_allclose(later.ridge.b, np.array(after.ridge.b) + 5.0 * phi[0], rtol=1e-6)


def test_refitting_by_sgd_moves_theta_one_step_per_round(fresh: Any) -> None:
    policy = neural(refit="sgd", refit_rate=0.05)
    _, learn, _ = banditsrl.compiled(policy)
    weights = fresh.learned.weights
    theta = np.asarray(weights.omega, dtype=float)
    phi = embedded(weights)
    with jax.enable_x64(True):
        state = fresh._replace(ridge=fresh.ridge._replace(theta=jnp.asarray(theta)))
    for i in range(4):
        state = learn(state, CONTEXTS[i], ACTIONS[i], REWARDS[i], CERTIFIED[i])
        theta = theta + 2 * 0.05 * (REWARDS[i] - phi[i] @ theta) * phi[i]
    np.testing.assert_allclose(state.ridge.theta, theta, rtol=1e-6, atol=1e-8)


def test_a_phase_keeps_the_shapes_and_types_of_the_state() -> None:
    policy = neural()
    with jax.enable_x64(True):
        first = jax.eval_shape(policy.init, KEY)
        empty = empty_history(jnp.zeros((), dtype=jnp.int32), N)
        later = jax.eval_shape(policy.refresh, first, empty, KEY)
    assert jax.tree.structure(first) == jax.tree.structure(later)
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(later), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)


def test_a_phase_keeps_weak_types_too_so_that_a_run_compiles_once() -> None:
    policy = neural()
    with jax.enable_x64(True):
        first = jax.eval_shape(policy.init, KEY)
        empty = empty_history(jnp.zeros((), dtype=jnp.int32), N)
        later = jax.eval_shape(policy.refresh, first, empty, KEY)
    weak = [
        [leaf.weak_type for leaf in jax.tree.leaves(state)] for state in (first, later)
    ]  # fmt: skip
    assert weak[0] == weak[1]


# Certificates. A network that copies its inputs shows the test alone.


def copying(features: Any, *, sure: float = 1e-6, n_explored: int = 10, **settings: Any) -> Any:
    """A policy whose embedding is `features`, and a state that is sure of theta = (1, 0)."""
    network = banditsrl.Network(np.asarray(features)[None], module=eqx.nn.Identity())
    policy = neural(network=network, **settings)
    state = eqx.filter_jit(policy.init)(KEY)
    with jax.enable_x64(True):
        ridge = state.ridge._replace(
            root=sure * jnp.eye(2, dtype=jnp.float64),
            theta=jnp.asarray([1.0, 0.0], dtype=jnp.float64),
            n=jnp.asarray(100.0, dtype=jnp.float64),
        )
        known = state.learned._replace(n_explored=jnp.asarray(n_explored, dtype=jnp.int32))
        norm = jnp.asarray([1.0], dtype=jnp.float64)
    return policy, state._replace(ridge=ridge, learned=known, largest_norm=norm)


def test_ratio_and_threshold_are_those_of_the_paper() -> None:
    features = [[1.0, 0.0], [0.5, 0.5], [0.2, -0.3]]
    policy, state = copying(features, sure=0.1, glrt_scale=2.0)
    choice = policy.act(state, 0, None, KEY)
    expected = banditsrl.glr(features, [1.0, 0.0], V=100.0 * np.eye(2))
    beta = 0.2 * math.sqrt(2 * math.log(100) + 2 * math.log1p(100 / 2)) + 1.0
    assert float(choice.glr) == pytest.approx(expected, rel=1e-6)
    assert float(choice.threshold) == pytest.approx(2.0 * beta)
    assert bool(choice.certified) == (expected > 2.0 * beta)


def test_equal_embeddings_are_not_certified_but_a_single_action_is() -> None:
    policy, state = copying([[1.0, 0.0]] * 3)
    choice = policy.act(state, 0, None, KEY)
    assert np.isinf(choice.glr)
    assert not choice.certified
    assert np.asarray(choice.pmf).min() > 0.0  # the base explores
    alone = policy.act(state, 0, np.arange(3) == 1, KEY)
    assert bool(alone.certified)
    assert int(alone.action) == 1


def test_a_network_of_zeros_certifies_nothing(refreshed: Any) -> None:
    policy, weights = neural(glrt_scale=1e-9), refreshed.learned.weights
    body = jax.tree.map(jnp.zeros_like, weights.body)
    state = refreshed._replace(
        learned=refreshed.learned._replace(weights=weights._replace(body=body))
    )
    act, _, _ = banditsrl.compiled(policy)
    choices = [act(state, x, None, KEY) for x in range(X)]
    assert not any(choice.certified for choice in choices)
    assert all(np.isinf(choice.glr) for choice in choices)
    assert act(state, 0, np.arange(A) == 2, KEY).certified


def test_an_action_with_the_greedy_one_s_embedding_prevents_a_certificate() -> None:
    """The next phase may tell them apart, so nothing is proved."""
    policy, state = copying([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert not policy.act(state, 0, None, KEY).certified
    assert policy.act(state, 0, [True, False, True], KEY).certified


def test_the_authors_wait_for_one_batch_of_explored_rounds() -> None:
    features = [[1.0, 0.0], [0.5, 0.5], [0.2, -0.3]]
    for n_explored, waits in [(7, True), (8, False)]:
        policy, state = copying(features, n_explored=n_explored, conventions="authors")
        assert bool(policy.act(state, 0, None, KEY).certified) == (not waits)
        assert bool(policy.act(state, 0, [True, False, False], KEY).certified) == (not waits)
        plain, _ = copying(features, n_explored=n_explored)
        assert plain.act(state, 0, None, KEY).certified


@pytest.mark.parametrize(("gap", "tied"), [(0.0009, True), (0.0011, False)])
def test_gaps_below_a_thousandth_are_ties_for_the_authors_only(gap: float, tied: bool) -> None:
    features = [[1.0, 0.0], [1.0 - gap, 0.0], [0.0, 1.0]]
    policy, state = copying(features, conventions="authors")
    assert bool(policy.act(state, 0, None, KEY).certified) == (not tied)
    plain, _ = copying(features)
    assert plain.act(state, 0, None, KEY).certified


def test_the_threshold_of_the_authors_is_theirs() -> None:
    policy, state = copying([[1.0, 0.0], [0.0, 1.0]], conventions="authors", glrt_scale=5.0)
    beta = 0.2 * math.sqrt(2 * math.log(100) + 2 * math.log1p(2 * 100 / 2)) + 1.0
    found = float(policy.act(state, 0, None, KEY).threshold)
    assert found == pytest.approx(math.sqrt(2 * 5.0) * beta)


@pytest.mark.parametrize("scale", [0, None])
def test_a_scale_of_zero_switches_the_test_off(scale: float | None) -> None:
    policy, state = copying([[1.0, 0.0], [0.0, 1.0]], glrt_scale=scale)
    assert not policy.act(state, 0, None, KEY).certified
    assert not policy.act(state, 0, [True, False], KEY).certified


def test_plain_igw_weighs_the_gaps_of_the_network_s_own_output() -> None:
    features = [[1.0, 0.0], [0.4, 0.5], [0.2, -0.3]]
    base = banditsrl.IGW(gamma1=3.0, gamma2=0.5)
    policy, state = copying(features, base=base, refit="none", glrt_scale=None)
    first = policy.init(KEY)
    assert np.array_equal(first.ridge.theta, first.learned.weights.omega)
    inverse = [1 / (3 + 3.0 * math.sqrt(101) * gap) for gap in (0.6, 0.8)]
    found = np.asarray(policy.act(state, 0, None, KEY).pmf)
    np.testing.assert_allclose(found, [1 - sum(inverse), *inverse], rtol=1e-6)


def test_an_unknown_noise_level_is_that_of_the_residuals_of_the_output_layer() -> None:
    policy, state = copying([[1.0, 0.0], [0.0, 1.0]], refit="none", sigma=None)
    with jax.enable_x64(True):
        state = state._replace(ridge=state.ridge._replace(n=jnp.zeros((), dtype=jnp.float64)))
    rewards = [1.0, -1.0] * 10
    for reward in rewards:  # theta = (1, 0) predicts one, always
        state = policy.learn(state, 0, 0, reward)
    with jax.enable_x64(True):
        found = float(policy.noise(state.ridge, policy.facts(state)))
    residual = sum((reward - 1.0) ** 2 for reward in rewards)
    assert found == pytest.approx(math.sqrt((residual + 2 * 20 / 20) / 20))


# A base of one's own, and what is refused.


def test_the_base_of_the_example_sees_the_embedding_of_its_own_rounds(refreshed: Any) -> None:
    spec = importlib.util.spec_from_file_location("own_base", EXAMPLES / "own_base.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    policy = neural(base=example.Boltzmann(dim=D))
    act, learn, _ = banditsrl.compiled(policy)
    with jax.enable_x64(True):
        state = refreshed._replace(base=policy.base.init(KEY))
    V, phi = np.eye(D), embedded(refreshed.learned.weights)
    for i in range(6):
        choice = act(state, CONTEXTS[i], None, jax.random.key(i))
        assert choice.pmf.sum() == pytest.approx(1.0)
        state = learn(state, CONTEXTS[i], ACTIONS[i], REWARDS[i], CERTIFIED[i])
        V += 0.0 if CERTIFIED[i] else np.outer(phi[i], phi[i])
    np.testing.assert_allclose(state.base["V"], V, rtol=1e-6, atol=1e-9)


def test_a_context_beyond_the_table_is_refused(fresh: Any) -> None:
    act, _, _ = banditsrl.compiled(neural())
    with pytest.raises(InvalidArgument, match=f"context must be an index below {X}, got {X}"):
        act(fresh, X, None, KEY)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 1.0}, r"gamma must be greater than 1, got 1\.0"),
        ({"refit": "lasso"}, "refit must be one of ridge, sgd, none, got 'lasso'"),
        ({"glrt_scale": -1.0}, r"glrt_scale must be at least 0, got -1\.0"),
        ({"sigma": 0.0}, r"sigma must be greater than 0, got 0\.0"),
    ],
)
def test_settings_outside_their_range_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        neural(**settings)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan])
def test_a_bad_refit_rate_is_refused(rate: float) -> None:
    with pytest.raises(InvalidArgument, match="refit_rate must be"):
        neural(refit_rate=rate)
