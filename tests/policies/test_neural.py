"""NN-BanditSRL: statistics after a phase, certificates, special cases, and what users bring."""

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
from banditsrl.errors import InvalidArgument
from banditsrl.policies.history import History, allocate
from banditsrl.policies.storage import describe
from banditsrl.representations import Table

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
    empty = allocate(np.int32(0), N)
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
        empty = allocate(jnp.zeros((), dtype=jnp.int32), N)
        later = jax.eval_shape(policy.refresh, first, empty, KEY)
    assert jax.tree.structure(first) == jax.tree.structure(later)
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(later), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)


def test_a_phase_keeps_weak_types_too_so_that_a_run_compiles_once() -> None:
    policy = neural()
    with jax.enable_x64(True):
        first = jax.eval_shape(policy.init, KEY)
        empty = allocate(jnp.zeros((), dtype=jnp.int32), N)
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


# Whole runs.

STEPS = [30, 60, 90]


@pytest.fixture(scope="module")
def wheel() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("wheel", n_contexts=10)


def linucb(wheel: Any, name: str = "neural-linucb", **settings: Any) -> Any:
    return banditsrl.make_policy(
        name, wheel, preset="paper", layers=(8, 4), batch=32, passes=2, **settings
    )


@pytest.fixture(scope="module")
def pair(wheel: banditsrl.FiniteProblem) -> banditsrl.Result:
    return banditsrl.simulate(wheel, linucb(wheel), horizon=90, seeds=[1, 3], steps=STEPS)


def test_neural_linucb_is_the_general_policy_with_its_switches_off(
    wheel: banditsrl.FiniteProblem, pair: banditsrl.Result
) -> None:
    general = linucb(wheel, "nn-banditsrl-linucb", loss="none", glrt_scale=None)
    other = banditsrl.simulate(wheel, general, horizon=90, seeds=[1, 3], steps=STEPS)
    assert np.array_equal(pair.regret, other.regret)
    by_hand = banditsrl.NNBanditSRL(
        banditsrl.Network(wheel.representations[0], layers=(8, 4)),
        base=banditsrl.LinUCB(),
        sigma=0.2,
        lam=1.0,
        delta=0.01,
        glrt_scale=None,
        training=banditsrl.Training(loss="none", batch=32, passes=2),
    )
    last = banditsrl.simulate(wheel, by_hand, horizon=90, seeds=[1, 3], steps=STEPS)
    assert np.array_equal(pair.regret, last.regret)
    assert not pair.certified.any()
    assert not pair.trivial.any()


def test_a_seed_gives_the_same_numbers_alone_and_among_others(
    wheel: banditsrl.FiniteProblem, pair: banditsrl.Result
) -> None:
    alone = banditsrl.simulate(wheel, linucb(wheel), horizon=90, seeds=[3], steps=STEPS)
    assert np.array_equal(alone.regret[0], pair.regret[1])
    assert not np.array_equal(pair.regret[0], pair.regret[1])
    for one, both in zip(jax.tree.leaves(alone.state), jax.tree.leaves(pair.state), strict=True):
        np.testing.assert_array_equal(one[..., 0], both[..., 1])
    assert alone.phases[-1] > 32
    weights = alone.state.learned.weights
    assert float(jnp.abs(weights.body[0].bias).max()) > 0.0  # it was trained


def test_before_the_first_batch_it_is_linucb_on_the_fresh_embedding(
    wheel: banditsrl.FiniteProblem,
) -> None:
    """A horizon smaller than a batch runs, without training, and nothing else is different."""
    result = banditsrl.simulate(wheel, linucb(wheel), horizon=31, seeds=[3], steps=[10, 20, 31])
    body = jax.tree.map(lambda leaf: leaf[..., 0], result.state.learned.weights.body)
    assert all(np.all(np.asarray(layer.bias) == 0.0) for layer in body)
    network = linucb(wheel).network
    phi = np.asarray([network.embed(body, x) for x in range(10)], dtype=float)
    table = banditsrl.LinUCB(Table(phi), sigma=0.2)
    plain = banditsrl.simulate(wheel, table, horizon=31, seeds=[3], steps=[10, 20, 31])
    assert np.array_equal(result.regret, plain.regret)
    np.testing.assert_allclose(
        result.state.ridge.theta[..., 0], plain.state.ridge.theta[..., 0], rtol=1e-6, atol=1e-9
    )


def test_a_state_with_its_network_survives_a_file(
    wheel: banditsrl.FiniteProblem, pair: banditsrl.Result, tmp_path: Path
) -> None:
    policy = linucb(wheel)
    with jax.enable_x64(True):
        state = jax.tree.map(lambda leaf: leaf[..., 0], pair.state)
    banditsrl.save_state(tmp_path / "state", policy, state)
    loaded = banditsrl.load_state(tmp_path / "state", policy)
    assert jax.tree.structure(loaded) == jax.tree.structure(state)
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(loaded), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    wider = linucb(wheel, activation="tanh")
    with pytest.raises(banditsrl.errors.StateFileError, match="network is not the same"):
        banditsrl.load_state(tmp_path / "state", wider)


# What users bring.


class Always:
    """A base of one's own that always plays the second action: regret shows the contexts."""

    def init(self, key: Any) -> Any:
        return jnp.zeros(())

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        return banditsrl.policies.untested(jnp.asarray(1), 1.0 * (jnp.arange(5) == 1))

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return state + reward


def test_contexts_and_noise_are_the_same_whatever_policy_plays(
    wheel: banditsrl.FiniteProblem,
) -> None:
    """A network that trains, on a module and with a base of one's own, changes neither."""
    network = banditsrl.Network(
        wheel.representations[0], module=eqx.nn.Linear(7, 4, key=jax.random.key(0))
    )
    policy = neural(network=network, base=Always(), glrt_scale=None)
    one, other = (
        banditsrl.simulate(wheel, p, horizon=60, seeds=[2], steps=range(1, 61))
        for p in (policy, Always())
    )
    assert np.array_equal(one.regret, other.regret)
    assert np.array_equal(one.largest_reward, other.largest_reward)
    weights = one.state.learned.weights
    assert not np.allclose(weights.body.weight[..., 0], network.template.weight)
    assert float(one.state.base[0]) != float(other.state[0])  # the base starts anew each phase


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


def test_a_function_from_a_key_can_be_trained(wheel: banditsrl.FiniteProblem) -> None:
    network = banditsrl.Network(
        wheel.representations[0], module=lambda key: eqx.nn.Linear(7, 4, key=key)
    )
    policy = neural(network=network)
    with jax.enable_x64(True):
        state = jax.eval_shape(policy.init, KEY)
        empty = allocate(jnp.zeros((), dtype=jnp.int32), N)
        jax.eval_shape(policy.refresh, state, empty, KEY)


def test_a_policy_with_a_module_can_be_described() -> None:
    """As every state file does."""
    module = eqx.nn.MLP(M, D, 5, 1, key=KEY)
    one, other = (describe(banditsrl.Network(FEATURES, module=module)) for _ in range(2))
    assert one == other


def test_a_function_is_described_alike_in_every_process() -> None:
    """Optax transformations are such functions; their states must load after a restart."""
    source = "def halves(t):\n    return (lambda s: 0.5 / s)(t)\n"
    described = []
    for _ in range(2):
        names: dict[str, Any] = {}
        exec(source, names)  # noqa: S102
        described.append((describe(names["halves"]), names))
    assert described[0][0] == described[1][0]


def test_a_context_beyond_the_table_is_refused(fresh: Any) -> None:
    act, _, _ = banditsrl.compiled(neural())
    with pytest.raises(InvalidArgument, match=f"context must be an index below {X}, got {X}"):
        act(fresh, X, None, KEY)


def test_a_network_for_another_problem_is_refused(wheel: banditsrl.FiniteProblem) -> None:
    other = banditsrl.make_problem("wheel", n_contexts=11)
    with pytest.raises(InvalidArgument, match="must have the problem's n_contexts 11, got 10"):
        banditsrl.simulate(other, linucb(wheel), horizon=1, seeds=[3])


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
