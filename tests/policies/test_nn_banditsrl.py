"""NN-BanditSRL: its phases, its certificates, its base, and what it refuses."""

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


def embed_played(weights: Any) -> Any:
    """The embeddings of all samples, in float64."""
    network = neural().network.at(weights)
    rows = network.embed_pairs(jnp.asarray(CONTEXTS), jnp.asarray(ACTIONS))
    return np.asarray(rows, dtype=float)


@pytest.fixture(scope="module")
def refreshed(fresh: Any, history: History) -> Any:
    return banditsrl.compiled(neural()).refresh(fresh, history, KEY)


# After a phase.


def test_learn_and_refresh_are_those_of_its_network_learner(
    fresh: Any, refreshed: Any, history: History
) -> None:
    """Which `test_network_learner` compares with sums in NumPy."""
    policy = neural()
    learner = policy.learner
    with jax.enable_x64(True):
        train_key, _ = jax.random.split(KEY)
        trained = eqx.filter_jit(learner.train)(fresh.network, history, train_key)
        x, action, certified = (jnp.asarray(column[0]) for column in (CONTEXTS, ACTIONS, CERTIFIED))
        phi = learner.embed(trained, x)
        learned = learner.learn(trained, phi, action, jnp.asarray(3.0), certified)
        later = policy.learn(refreshed, x, action, 3.0, certified)
    for found, expected in ((refreshed.network, trained), (later.network, learned)):
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_the_statistics_hold_all_rounds_and_the_report_says_how_good_the_phase_was(
    fresh: Any, refreshed: Any
) -> None:
    assert float(refreshed.network.ridge.n) == N
    phi = embed_played(refreshed.network.weights)
    np.testing.assert_allclose(refreshed.network.ridge.V, np.eye(D) + phi.T @ phi, rtol=1e-6)
    assert refreshed.base == ()
    assert int(refreshed.network.n_explored) == int(fresh.network.n_explored) == 0
    report = neural().report(refreshed)
    assert float(report["lambda_min"]) == float(refreshed.network.lambda_min)
    assert np.isfinite(report["loss"])


def test_without_warm_start_the_base_forgets_at_each_phase_and_the_network_does_not(
    history: History,
) -> None:
    policy = neural(base=banditsrl.LinUCB(), warm_start=False)
    _, learn, refresh = banditsrl.compiled(policy)[:3]
    state = eqx.filter_jit(policy.init)(KEY)
    for i in range(6):
        state = learn(state, CONTEXTS[i], ACTIONS[i], REWARDS[i], CERTIFIED[i])
    assert float(state.base.n) == 6 - CERTIFIED[:6].sum()
    after = refresh(state, history, KEY)
    np.testing.assert_array_equal(after.base.V, np.eye(D))
    assert (float(after.base.n), float(after.network.ridge.n)) == (0.0, N)


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


# Certificates, of a network that copies its inputs, so that only the test is at work.


def copying(features: Any, *, sure: float = 1e-6, n_explored: int = 10, **settings: Any) -> Any:
    """A policy whose embedding is `features`, and a state that is sure of theta = (1, 0)."""
    network = banditsrl.Network(np.asarray(features)[None], module=eqx.nn.Identity())
    policy = neural(network=network, **settings)
    state = eqx.filter_jit(policy.init)(KEY)
    with jax.enable_x64(True):
        ridge = state.network.ridge._replace(
            root=sure * jnp.eye(2, dtype=jnp.float64),
            theta=jnp.asarray([1.0, 0.0], dtype=jnp.float64),
            n=jnp.asarray(100.0, dtype=jnp.float64),
        )
        learned = state.network._replace(
            ridge=ridge,
            n_explored=jnp.asarray(n_explored, dtype=jnp.int32),
            largest_norm=jnp.asarray(1.0, dtype=jnp.float64),
        )
    return policy, state._replace(network=learned)


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
    policy, weights = neural(glrt_scale=1e-9), refreshed.network.weights
    body = jax.tree.map(jnp.zeros_like, weights.body)
    state = refreshed._replace(
        network=refreshed.network._replace(weights=weights._replace(body=body))
    )
    act = banditsrl.compiled(policy).act
    choices = [act(state, x, None, KEY) for x in range(X)]
    assert not any(choice.certified for choice in choices)
    assert all(np.isinf(choice.glr) for choice in choices)
    assert act(state, 0, np.arange(A) == 2, KEY).certified


def test_an_action_with_the_greedy_one_s_embedding_prevents_a_certificate() -> None:
    """The next phase may tell them apart, so nothing is proved."""
    policy, state = copying([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert not policy.act(state, 0, None, KEY).certified
    assert policy.act(state, 0, [True, False, True], KEY).certified


def test_with_the_authors_conventions_the_test_waits_for_one_batch_of_explored_rounds() -> None:
    features = [[1.0, 0.0], [0.5, 0.5], [0.2, -0.3]]
    for n_explored, waits in [(7, True), (8, False)]:
        policy, state = copying(features, n_explored=n_explored, conventions="authors")
        assert bool(policy.act(state, 0, None, KEY).certified) == (not waits)
        assert bool(policy.act(state, 0, [True, False, False], KEY).certified) == (not waits)
        plain, _ = copying(features, n_explored=n_explored)
        assert plain.act(state, 0, None, KEY).certified


@pytest.mark.parametrize(("gap", "tied"), [(0.0009, True), (0.0011, False)])
def test_gaps_below_a_thousandth_are_ties_with_the_authors_conventions_only(
    gap: float, tied: bool
) -> None:
    features = [[1.0, 0.0], [1.0 - gap, 0.0], [0.0, 1.0]]
    policy, state = copying(features, conventions="authors")
    assert bool(policy.act(state, 0, None, KEY).certified) == (not tied)
    plain, _ = copying(features)
    assert plain.act(state, 0, None, KEY).certified


def test_with_the_authors_conventions_the_threshold_is_that_of_their_formula() -> None:
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
    assert np.array_equal(first.network.ridge.theta, first.network.weights.omega)
    inverse = [1 / (3 + 3.0 * math.sqrt(101) * gap) for gap in (0.6, 0.8)]
    found = np.asarray(policy.act(state, 0, None, KEY).pmf)
    np.testing.assert_allclose(found, [1 - sum(inverse), *inverse], rtol=1e-6)


# A base of one's own, and what is refused.


def test_the_base_of_the_example_sees_the_embedding_of_its_own_rounds(refreshed: Any) -> None:
    spec = importlib.util.spec_from_file_location("own_base", EXAMPLES / "own_base.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    policy = neural(base=example.Boltzmann(dim=D))
    act, learn = banditsrl.compiled(policy)[:2]
    with jax.enable_x64(True):
        state = refreshed._replace(base=policy.base.init(KEY))
    V, phi = np.eye(D), embed_played(refreshed.network.weights)
    for i in range(6):
        choice = act(state, CONTEXTS[i], None, jax.random.key(i))
        assert choice.pmf.sum() == pytest.approx(1.0)
        state = learn(state, CONTEXTS[i], ACTIONS[i], REWARDS[i], CERTIFIED[i])
        V += 0.0 if CERTIFIED[i] else np.outer(phi[i], phi[i])
    np.testing.assert_allclose(state.base["V"], V, rtol=1e-6, atol=1e-9)


def test_a_context_beyond_the_table_is_refused(fresh: Any) -> None:
    act = banditsrl.compiled(neural()).act
    with pytest.raises(InvalidArgument, match=f"context must be an index below {X}, got {X}"):
        act(fresh, X, None, KEY)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 1.0}, r"gamma must be greater than 1, got 1\.0"),
        ({"refit": "lasso"}, "refit must be one of ridge, sgd, none, got 'lasso'"),
        ({"refit_rate": 0.0}, r"refit_rate must be greater than 0, got 0\.0"),
        ({"refit_rate": -1.0}, r"refit_rate must be greater than 0, got -1\.0"),
        ({"refit_rate": math.nan}, "refit_rate must be finite, got nan"),
        ({"glrt_scale": -1.0}, r"glrt_scale must be at least 0, got -1\.0"),
        ({"sigma": 0.0}, r"sigma must be greater than 0, got 0\.0"),
    ],
)
def test_settings_outside_their_range_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        neural(**settings)
