"""The portfolio: what is played, when a certificate counts, and when the network may certify."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import append_round, empty_history
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.banditsrl_auto import BanditSRLAuto, ErrorComparison
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.representations.network import Network
from banditsrl.representations.wide import Wide

SMALL = {"layers": (8, 4), "n_features": 10, "passes": 2}


@pytest.fixture(scope="module")
def problem() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("wheel", n_contexts=10)


@pytest.fixture(scope="module")
def auto(problem: banditsrl.FiniteProblem) -> BanditSRLAuto:
    return banditsrl.make_policy("banditsrl-auto", problem, **SMALL)


def test_every_setting_reaches_the_part_that_knows_it(problem: banditsrl.FiniteProblem) -> None:
    settings = {"ucb_scale": 0.7, "slack": 1.0, "glrt_scale": 3.0, "batch": 16}
    policy = banditsrl.make_policy("banditsrl-auto", problem, **SMALL, **settings)
    assert policy.explorer.ucb_scale == 0.7
    assert policy.slack == 1.0
    assert policy.glrt_scale == policy.certificate.scale == 3.0
    assert policy.learner.training.batch == 16
    assert [wide.kind for wide in policy.explorer.wides] == ["waves", "steps"]
    assert [wide.dim for wide in policy.explorer.wides] == [1 + 2 + 10] * 2


def test_the_parts_must_have_the_same_number_of_actions(auto: BanditSRLAuto) -> None:
    explorer = WideUCB((Wide(np.random.default_rng(0).normal(size=(4, 3, 2))),))
    message = "explorer and learner must have the same number of actions, got 3 and 5"
    with pytest.raises(InvalidArgument, match=message):
        BanditSRLAuto(explorer, auto.learner)


@in_float64
def test_a_certificate_needs_the_network_in_phi_t_and_the_mixture_to_agree(
    auto: BanditSRLAuto,
) -> None:
    key = jax.random.key(0)
    state = auto.init(key)
    sure = state.network.ridge._replace(  # a test that passes anywhere
        theta=jnp.asarray([9.0, 1.0, 0.5, 0.1]), root=1e-9 * state.network.ridge.root
    )
    state = state._replace(network=state.network._replace(ridge=sure))
    phi = auto.learner.embed(state.network, 0)
    facts = auto.learner.facts(state.network, auto.effective.sigma)
    verdict = auto.certificate.test(sure, phi, jnp.ones(5, dtype=bool), facts, jnp.asarray(0.01))
    assert bool(verdict.certified)
    greedy, largest = int(verdict.greedy), float((phi @ sure.theta).max())
    waves, steps = state.explorer.learners
    for agrees in (False, True):
        favourite = greedy if agrees else (greedy + 1) % 5
        theta = waves.blocks.theta.at[favourite, 0].set(9.0 * largest)
        decided = waves._replace(blocks=waves.blocks._replace(theta=theta))
        one = state._replace(explorer=state.explorer._replace(learners=(decided, steps)))
        assert not bool(auto.act(one, 0, None, key).certified)  # not in Phi_t yet
        choice = auto.act(one._replace(may_certify=jnp.asarray(True)), 0, None, key)
        assert bool(choice.certified) is agrees
        assert int(choice.action) == favourite
        assert float(choice.pmf[favourite]) == 1.0
        alone = one._replace(may_certify=jnp.asarray(True), weights=jnp.asarray([0.0, 0.0, 1.0]))
        assert bool(auto.act(alone, 0, None, key).certified)  # a mixture that is the network


@in_float64
def test_a_single_available_action_is_certified_before_the_network_is_in_phi_t(
    auto: BanditSRLAuto,
) -> None:
    choice = auto.act(auto.init(jax.random.key(0)), 0, np.arange(5) == 3, jax.random.key(1))
    assert (int(choice.action), bool(choice.certified)) == (3, True)
    assert int(choice.representation) == 2  # the network, the last of three embeddings


@pytest.mark.parametrize("method", ["act", "learn"])
def test_the_network_is_embedded_once_in_every_act_and_learn(
    auto: BanditSRLAuto, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    embed_single = Network.embed_single

    def count(self: Network, context: Any) -> Any:
        calls.append(context)
        return embed_single(self, context)

    monkeypatch.setattr(Network, "embed_single", count)
    key = jax.random.key(0)
    with jax.enable_x64(True):
        state, context = jax.eval_shape(auto.init, key), jnp.asarray(3)
        if method == "act":
            jax.eval_shape(lambda *args: auto.act(*args, None, key), state, context)
        else:
            jax.eval_shape(auto.learn, state, context, jnp.asarray(1), jnp.asarray(0.5))
    assert len(calls) == 1


@in_float64
def test_without_a_certificate_the_largest_mixed_value_plus_the_wide_width_is_played(
    problem: banditsrl.FiniteProblem, auto: BanditSRLAuto
) -> None:
    rng = np.random.default_rng(6)
    state, mixture, wide_weights = auto.init(jax.random.key(2)), (0.5, 0.2, 0.3), (0.9, 0.1)
    act, learn = banditsrl.compiled(auto).act, banditsrl.compiled(auto).learn
    moved = 0
    for _ in range(12):
        for _ in range(5):
            state = learn(state, int(rng.integers(10)), int(rng.integers(5)), float(rng.normal()))
        state = state._replace(
            weights=jnp.asarray(mixture),
            explorer=state.explorer._replace(weights=jnp.asarray(wide_weights)),
        )
        for context in range(10):
            phi = np.asarray(auto.learner.embed(state.network, context))
            value, width = 0.3 * phi @ np.asarray(state.network.ridge.theta), np.zeros(5)
            for k, (scaling, blocks) in enumerate(state.explorer.learners):
                psi = np.asarray(auto.explorer.wides[k].at(scaling).embed(context))
                for a in range(5):
                    norm = np.sqrt(psi[a] @ np.linalg.solve(blocks.V[a], psi[a]))
                    value[a] += mixture[k] * (psi[a] @ blocks.theta[a])
                    width[a] += wide_weights[k] * 0.3 * norm
            played = int(act(state, context, None, jax.random.key(0)).action)
            assert played == (value + width).argmax()
            moved += played != value.argmax()
    assert 10 < moved < 110  # the width matters, and so do the values


@in_float64
def test_the_network_is_compared_on_predictions_made_before_the_reward(
    problem: banditsrl.FiniteProblem, auto: BanditSRLAuto
) -> None:
    rng = np.random.default_rng(3)
    state, differences, mixtures = auto.init(jax.random.key(1)), [], []
    gram, cross = np.eye(3), np.full(3, 1.0 / 3.0)
    for i in range(8):
        context, action, reward = int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())
        predicted = []
        for k, (scaling, blocks) in enumerate(state.explorer.learners):
            psi = auto.explorer.wides[k].at(scaling).embed(context)[action]
            predicted.append(psi @ blocks.theta[action])
        phi = auto.learner.embed(state.network, context)[action]
        predicted = np.array([*predicted, phi @ state.network.ridge.theta])
        mixtures.append((predicted.mean() - reward) ** 2)  # equal weights before any phase ends
        differences.append((predicted[-1] - reward) ** 2 - mixtures[-1])
        if i <= 5:
            gram, cross = gram + np.outer(predicted, predicted), cross + reward * predicted
        state = auto.learn(state, context, action, reward, certified=i > 5)
    assert float(state.comparison.n) == 8
    assert np.isclose(float(state.comparison.total), np.sum(differences))
    assert np.isclose(float(state.comparison.squares), np.sum(np.square(differences)))
    assert np.isclose(float(state.comparison.mixture), np.sum(mixtures))
    np.testing.assert_allclose(state.stack.gram, gram)  # of explored rounds only
    np.testing.assert_allclose(state.stack.cross, cross)


@in_float64
def test_phi_t_holds_the_network_unless_it_predicts_clearly_worse(
    problem: banditsrl.FiniteProblem, auto: BanditSRLAuto
) -> None:
    state, history = auto.init(jax.random.key(1)), empty_history(jnp.int32(0), 64)
    rng = np.random.default_rng(5)
    refresh = banditsrl.compiled(auto).refresh

    def in_phi_t(mean: float) -> bool:
        """After 100 rounds with this mean difference and deviation 0.1; the mixture's is 1."""
        sums = (100.0, 100 * mean, 100 * (0.1**2 + mean**2), 100.0)
        comparison = ErrorComparison(*[jnp.asarray(value) for value in sums])
        after = refresh(state._replace(comparison=comparison), history, jax.random.key(2))
        assert np.allclose(after.comparison.n, 50.0)
        return bool(after.may_certify)

    assert not in_phi_t(0.0)  # not trained yet
    for _ in range(40):
        context, action, reward = int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())
        state = auto.learn(state, context, action, reward)
        history = append_round(history, context, action, reward)
    # two standard errors are 0.02, and 0.25 of the mixture's error (1) besides
    assert in_phi_t(0.269)
    assert not in_phi_t(0.271)


@in_float64
def test_it_reports_its_weights_and_whether_the_network_may_certify(auto: BanditSRLAuto) -> None:
    state = auto.init(jax.random.key(0))._replace(weights=jnp.asarray([0.2, 0.5, 0.3]))
    report = auto.report(state)
    assert set(report) == {"representation", "weights", "active", "loss", "lambda_min"}
    assert int(report["representation"]) == 1
    assert report["active"].tolist() == [True, True, False]


def test_the_certificate_has_the_settings_of_the_portfolio(
    problem: banditsrl.FiniteProblem, auto: BanditSRLAuto
) -> None:
    certificate = auto.certificate
    assert (certificate.scale, certificate.radius) == (1.0, "determinant")
    assert certificate.refuses_twins
    other = banditsrl.make_policy("banditsrl-auto", problem, **SMALL, lam=0.5, radius="trace")
    assert (other.certificate.lam, other.learner.lam) == (0.5, 0.5)
    assert other.certificate.radius == "trace"


def test_without_a_lambda_of_its_own_the_test_takes_that_of_the_network(
    auto: BanditSRLAuto,
) -> None:
    learner = dataclasses.replace(auto.learner, lam=0.25)
    policy = BanditSRLAuto(auto.explorer, learner)
    assert policy.certificate.lam == policy.effective.lam == 0.25
    state = policy.init(jax.random.key(0))
    np.testing.assert_array_equal(state.network.ridge.V, 0.25 * np.eye(4))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 1.0}, r"gamma must be greater than 1, got 1\.0"),
        ({"slack": -1.0}, r"slack must be at least 0, got -1\.0"),
        ({"tolerance": -0.1}, r"tolerance must be at least 0, got -0\.1"),
    ],
)
def test_settings_outside_their_range_are_refused(
    auto: BanditSRLAuto, settings: dict[str, float], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        BanditSRLAuto(auto.explorer, auto.learner, **settings)
