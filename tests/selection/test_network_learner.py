"""What does a network learn within a phase and at its end? Sums and steps written out in NumPy."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from histories import history_of

import banditsrl
from banditsrl.core.history import History
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.network import Network
from banditsrl.selection import network_learner
from banditsrl.selection.network_learner import NetworkLearner, NetworkState
from banditsrl.selection.training import Training, TrainingLosses

KEY = jax.random.key(3)
X, A, M, D, N, LAM = 9, 3, 4, 3, 40, 0.8
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(X, A, M))
CONTEXTS, ACTIONS = RNG.integers(X, size=N), RNG.integers(A, size=N)
REWARDS = RNG.normal(size=N)
CERTIFIED = RNG.random(N) < 0.3
NETWORK = Network(FEATURES, layers=(5, D))
TRAINING = Training(batch=8, passes=2, learning_rate=0.01)


def learner(**settings: Any) -> NetworkLearner:
    return NetworkLearner(NETWORK, TRAINING, lam=LAM, **settings)


_init = in_float64(eqx.filter_jit(NetworkLearner.init))
_learn = in_float64(eqx.filter_jit(NetworkLearner.learn))
_train = in_float64(eqx.filter_jit(NetworkLearner.train))
_embed = in_float64(eqx.filter_jit(NetworkLearner.embed))


def learn_round(who: NetworkLearner, state: NetworkState, i: int, reward: float) -> NetworkState:
    with jax.enable_x64(True):
        phi = _embed(who, state, jnp.asarray(CONTEXTS[i]))
        action, certified = jnp.asarray(ACTIONS[i]), jnp.asarray(CERTIFIED[i])
        return _learn(who, state, phi, action, jnp.asarray(reward), certified)


@pytest.fixture(scope="module")
def history() -> History:
    whole = history_of((CONTEXTS, ACTIONS, REWARDS), capacity=N)
    with jax.enable_x64(True):
        return whole._replace(certified=whole.certified.at[:N].set(CERTIFIED))


@pytest.fixture(scope="module")
def fresh() -> NetworkState:
    return _init(learner(), KEY)


@pytest.fixture(scope="module")
def trained(fresh: NetworkState, history: History) -> NetworkState:
    return _train(learner(), fresh, history, KEY)


def forward(weights: Any, inputs: Any) -> Any:
    """The network's embedding of input vectors (..., m), in float64."""
    for matrix, bias in weights.body:
        product = inputs @ np.asarray(matrix, dtype=float)
        inputs = np.maximum(product + np.asarray(bias, dtype=float), 0.0)
    return inputs


def played(weights: Any) -> Any:
    return forward(weights, FEATURES[CONTEXTS, ACTIONS])


# Within a phase.


def test_the_first_statistics_are_empty_and_nothing_is_known(fresh: NetworkState) -> None:
    np.testing.assert_array_equal(fresh.ridge.V, LAM * np.eye(D))
    np.testing.assert_array_equal(fresh.ridge.theta, np.zeros(D))
    assert (float(fresh.ridge.n), float(fresh.largest_norm), int(fresh.n_explored)) == (0, 0, 0)
    assert np.isnan([float(fresh.loss), float(fresh.lambda_min)]).all()


def test_embeddings_are_those_of_the_network_at_the_current_weights(trained: NetworkState) -> None:
    phi = _embed(learner(), trained, jnp.asarray(4))
    assert phi.dtype == np.float64
    np.testing.assert_allclose(phi, forward(trained.weights, FEATURES[4]), rtol=1e-5, atol=1e-6)


def test_within_a_phase_the_statistics_are_those_of_ridge_regression(
    trained: NetworkState,
) -> None:
    state, phi = trained, played(trained.weights)
    V, b = np.array(trained.ridge.V), np.array(trained.ridge.b)
    for i in range(5):
        state = learn_round(learner(), state, i, 3.0)
        V += np.outer(phi[i], phi[i])
        b += 3.0 * phi[i]
    np.testing.assert_allclose(state.ridge.V, V, rtol=1e-6)
    np.testing.assert_allclose(state.ridge.theta, np.linalg.solve(V, b), rtol=1e-5, atol=1e-6)
    assert int(state.n_explored) == 5 - int(CERTIFIED[:5].sum())
    assert 0 < CERTIFIED[:5].sum() < 5
    every = np.linalg.norm(forward(trained.weights, FEATURES[CONTEXTS[:5]]), axis=-1)
    seen = max(float(trained.largest_norm), every.max())
    assert float(state.largest_norm) == pytest.approx(seen, rel=1e-6)


def test_without_a_refit_theta_is_the_output_layer_and_does_not_change(history: History) -> None:
    who = learner(refit="none")
    first = _init(who, KEY)
    assert np.array_equal(first.ridge.theta, first.weights.omega)
    after = _train(who, first, history, KEY)
    assert np.array_equal(after.ridge.theta, after.weights.omega)
    assert not np.allclose(after.weights.omega, first.weights.omega)
    phi = played(after.weights)
    np.testing.assert_allclose(after.ridge.V, LAM * np.eye(D) + phi.T @ phi, rtol=1e-5)
    later = learn_round(who, after, 0, 5.0)
    assert np.array_equal(later.ridge.theta, after.ridge.theta)
    np.testing.assert_allclose(later.ridge.b, np.array(after.ridge.b) + 5.0 * phi[0], rtol=1e-5)


def test_refitting_by_sgd_moves_theta_one_step_per_round() -> None:
    who = learner(refit="sgd", refit_rate=0.05)
    state = _init(who, KEY)
    theta, phi = np.asarray(state.weights.omega, dtype=float), played(state.weights)
    assert np.array_equal(state.ridge.theta, theta)
    for i in range(4):
        state = learn_round(who, state, i, REWARDS[i])
        theta = theta + 2 * 0.05 * (REWARDS[i] - phi[i] @ theta) * phi[i]
    np.testing.assert_allclose(state.ridge.theta, theta, rtol=1e-5, atol=1e-7)


def test_a_batch_exists_from_as_many_explored_rounds_as_it_has(fresh: NetworkState) -> None:
    found = [
        bool(learner().has_batch(fresh._replace(n_explored=jnp.asarray(n)))) for n in (7, 8, 9)
    ]
    assert found == [False, True, True]


# The end of a phase.


def test_the_statistics_are_rebuilt_from_all_rounds_in_the_new_embedding(
    fresh: NetworkState, trained: NetworkState
) -> None:
    assert not np.allclose(fresh.weights.body[0].matrix, trained.weights.body[0].matrix)
    V, b = LAM * np.eye(D), np.zeros(D)
    for row, reward in zip(played(trained.weights), REWARDS, strict=True):
        V += np.outer(row, row)
        b += row * reward
    ridge = trained.ridge
    np.testing.assert_allclose(ridge.V, V, rtol=1e-5)
    np.testing.assert_allclose(ridge.b, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ridge.theta, np.linalg.solve(V, b), rtol=1e-5, atol=1e-6)
    root = np.asarray(ridge.root)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(V), rtol=1e-5, atol=1e-6)
    log_det = np.linalg.slogdet(V / LAM)[1]
    assert float(ridge.log_det) == pytest.approx(log_det, rel=1e-6)
    assert float(ridge.n) == N
    assert float(ridge.yy) == pytest.approx(REWARDS @ REWARDS)
    smallest = np.linalg.eigvalsh(V - LAM * np.eye(D))[0]
    assert float(trained.lambda_min) == pytest.approx(smallest, rel=1e-4, abs=1e-6)
    assert np.isfinite(trained.loss)
    assert int(trained.n_explored) == int(fresh.n_explored) == 0  # counted when rounds are learned


def test_rounds_beyond_the_end_of_the_history_are_not_summed(
    fresh: NetworkState, trained: NetworkState, history: History
) -> None:
    with jax.enable_x64(True):
        beyond = jnp.arange(history.capacity) >= N
        other = history._replace(
            actions=jnp.where(beyond, 2, history.actions).astype(jnp.int32),
            rewards=jnp.where(beyond, 1e6, history.rewards),
        )
    again = _train(learner(), fresh, other, KEY)
    for one, same in zip(jax.tree.leaves(again), jax.tree.leaves(trained), strict=True):
        np.testing.assert_array_equal(one, same)


@in_float64
def test_bounds_are_the_largest_norm_played_and_the_norm_of_the_estimate(
    trained: NetworkState,
) -> None:
    facts = learner().facts(trained, 0.2)
    norms = np.linalg.norm(played(trained.weights), axis=1)
    assert float(facts.L) == pytest.approx(norms.max(), rel=1e-6)
    assert float(facts.B) == pytest.approx(np.linalg.norm(trained.ridge.theta))
    assert (float(facts.dim), float(facts.sigma)) == (D, 0.2)


@pytest.mark.parametrize("refit", ["ridge", "none"])
def test_an_unknown_noise_level_is_estimated_from_the_residuals(
    refit: str, history: History
) -> None:
    """Of the ridge estimate with its penalty, or of the output layer."""
    who = learner(refit=refit)
    state = _train(who, _init(who, KEY), history, KEY)
    phi, theta = played(state.weights), np.asarray(state.ridge.theta)
    residual = float(((phi @ theta - REWARDS) ** 2).sum())
    if refit == "ridge":
        residual += LAM * float(theta @ theta)
    extra = D * (REWARDS @ REWARDS) / N
    with jax.enable_x64(True):
        found = float(who.facts(state, None).sigma)
    assert found == pytest.approx(math.sqrt((residual + extra) / N), rel=1e-5)


@pytest.mark.parametrize("refit", ["ridge", "none"])
def test_before_the_first_reward_the_noise_level_is_one(refit: str) -> None:
    who = learner(refit=refit)
    with jax.enable_x64(True):
        assert float(who.facts(_init(who, KEY), None).sigma) == 1.0


def unexplained(weights: Any) -> float:
    """What ridge regression on an embedding leaves unexplained, its penalty included."""
    phi = played(weights)
    V = LAM * np.eye(D) + phi.T @ phi
    return float(REWARDS @ REWARDS - phi.T @ REWARDS @ np.linalg.solve(V, phi.T @ REWARDS))


@pytest.mark.parametrize("worse", [False, True])
def test_a_guarded_network_keeps_the_weights_that_explain_more(
    worse: bool, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training is replaced by other random weights, which fit better or worse."""
    candidates = [NETWORK.init(jax.random.key(seed)) for seed in range(6)]
    candidates.sort(key=unexplained)
    old, new = (candidates[0], candidates[-1]) if worse else (candidates[-1], candidates[0])
    losses = TrainingLosses(jnp.zeros((), jnp.float32), jnp.zeros((), jnp.float32))
    monkeypatch.setattr(network_learner, "train", lambda *_: (new, losses))
    for guarded in (False, True):
        who = learner(guarded=guarded)
        with jax.enable_x64(True):
            after = who.train(_init(who, KEY)._replace(weights=old), history, KEY)
        kept = old if worse and guarded else new
        np.testing.assert_array_equal(after.weights.omega, kept.omega)
        phi = played(kept)
        np.testing.assert_allclose(after.ridge.V, LAM * np.eye(D) + phi.T @ phi, rtol=1e-5)


def test_a_phase_keeps_shapes_types_and_weak_types_so_that_a_run_compiles_once() -> None:
    who = learner()
    with jax.enable_x64(True):
        first = jax.eval_shape(who.init, KEY)
        later = jax.eval_shape(
            who.train, first, history_of((CONTEXTS, ACTIONS, REWARDS), capacity=N), KEY
        )
    assert jax.tree.structure(first) == jax.tree.structure(later)
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(later), strict=True):
        assert (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, other.weak_type)


# Settings.


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"refit": "lasso"}, InvalidArgument, "refit must be one of ridge, sgd, none, got 'lasso'"),
        ({"refit_rate": 0.0}, InvalidArgument, r"refit_rate must be greater than 0, got 0\.0"),
        ({"refit_rate": math.nan}, InvalidArgument, "refit_rate must be finite, got nan"),
        ({"guarded": "yes"}, InvalidType, "guarded must be True or False, got 'yes'"),
    ],
)
def test_settings_outside_their_range_are_refused(
    settings: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        learner(**settings)


def test_the_learner_of_a_policy_has_the_settings_of_the_policy() -> None:
    policy = banditsrl.NNBanditSRL(
        NETWORK, base=banditsrl.LinUCB(lam=0.3), training=TRAINING, refit="sgd", refit_rate=0.2,
        guarded=True,
    )  # fmt: skip
    found = policy.learner
    assert (found.lam, found.refit, found.refit_rate, found.guarded) == (0.3, "sgd", 0.2, True)
    assert found.training == TRAINING
