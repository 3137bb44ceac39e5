"""The portfolio: who plays, when a certificate counts, and how its embedding is scaled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import append_round, empty_history
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.banditsrl_auto import BanditSRLAuto, Trial
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.representations.wide import Wide

SMALL = {"layers": (8, 4), "n_features": 10, "passes": 2}


@pytest.fixture(scope="module")
def problem() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("wheel", n_contexts=10)


@pytest.fixture(scope="module")
def auto(problem: banditsrl.FiniteProblem) -> BanditSRLAuto:
    return banditsrl.make_policy("banditsrl-auto", problem, **SMALL)


def test_settings_reach_their_part(problem: banditsrl.FiniteProblem) -> None:
    settings = {"ucb_scale": 0.7, "slack": 1.0, "glrt_scale": 3.0, "batch": 16}
    policy = banditsrl.make_policy("banditsrl-auto", problem, **SMALL, **settings)
    assert policy.explorer.ucb_scale == 0.7
    assert policy.slack == 1.0
    assert policy.certifier.glrt_scale == 3.0
    assert policy.certifier.training.batch == 16
    assert [wide.kind for wide in policy.explorer.wides] == ["waves", "steps"]
    assert [wide.dim for wide in policy.explorer.wides] == [1 + 2 + 10] * 2


def test_the_explorer_alone_has_a_name_and_leaves_the_columns_alone(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = banditsrl.make_policy("linucb-disjoint", problem, ucb_scale=0.7, lam=2.0)
    assert (policy.ucb_scale, policy.lam) == (0.7, 2.0)
    with jax.enable_x64(True):
        (wide,) = policy.wides
        psi = wide.embed(wide.unscaled(), 3)
    x = problem.representations[0].features[3, 0, :2]
    expected = np.concatenate([[1.0], x / np.sqrt(2.0)])
    np.testing.assert_allclose(psi, np.tile(expected, (5, 1)), rtol=1e-12)


def test_parts_must_have_the_same_actions(auto: BanditSRLAuto) -> None:
    explorer = WideUCB((Wide(np.random.default_rng(0).normal(size=(4, 3, 2))),))
    with pytest.raises(InvalidArgument, match="same number of actions, got 3 and 5"):
        BanditSRLAuto(explorer, auto.certifier)


@in_float64
def test_a_certificate_needs_the_network_in_phi_t_and_the_mixture_to_agree(
    auto: BanditSRLAuto,
) -> None:
    key = jax.random.key(0)
    state = auto.init(key)
    sure = state.certifier.ridge._replace(  # a test that passes anywhere
        theta=jnp.asarray([9.0, 1.0, 0.5, 0.1]), root=1e-9 * state.certifier.ridge.root
    )
    state = state._replace(certifier=state.certifier._replace(ridge=sure))
    tested = auto.certifier.act(state.certifier, 0, None, key)
    assert bool(tested.certified)
    network = float(auto.scores(state, 0)[0][-1].max())
    waves, steps = state.explorer.learners
    for agreeing in (False, True):
        favourite = int(tested.action) if agreeing else (int(tested.action) + 1) % 5
        theta = waves.blocks.theta.at[favourite, 0].set(9.0 * network)
        told = waves._replace(blocks=waves.blocks._replace(theta=theta))
        heard = state._replace(explorer=state.explorer._replace(learners=(told, steps)))
        assert not bool(auto.act(heard, 0, None, key).certified)  # not in Phi_t yet
        choice = auto.act(heard._replace(may_test=jnp.asarray(True)), 0, None, key)
        assert bool(choice.certified) is agreeing
        assert int(choice.action) == favourite
        assert float(choice.pmf[favourite]) == 1.0
        alone = heard._replace(may_test=jnp.asarray(True), weights=jnp.asarray([0.0, 0.0, 1.0]))
        assert bool(auto.act(alone, 0, None, key).certified)  # a mixture that is the network


@in_float64
def test_elsewhere_the_largest_mixed_value_plus_the_wide_width_is_played(
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
            phi = np.asarray(auto.certifier.embed(state.certifier, context))
            value, width = 0.3 * phi @ np.asarray(state.certifier.ridge.theta), np.zeros(5)
            for k, (scaling, blocks) in enumerate(state.explorer.learners):
                psi = np.asarray(auto.explorer.wides[k].embed(scaling, context))
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
    for k in range(8):
        context, action, reward = int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())
        predicted = np.asarray(auto.scores(state, context)[0])[:, action]
        phi = auto.certifier.embed(state.certifier, context)[action]
        assert np.isclose(predicted[-1], float(phi @ state.certifier.ridge.theta))
        mixtures.append((predicted.mean() - reward) ** 2)  # equal weights before any phase ends
        differences.append((predicted[-1] - reward) ** 2 - mixtures[-1])
        if k <= 5:
            gram, cross = gram + np.outer(predicted, predicted), cross + reward * predicted
        state = auto.learn(state, context, action, reward, certified=k > 5)
    assert float(state.trial.n) == 8
    assert np.isclose(float(state.trial.total), np.sum(differences))
    assert np.isclose(float(state.trial.squares), np.sum(np.square(differences)))
    assert np.isclose(float(state.trial.mixture), np.sum(mixtures))
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
        trial = Trial(*[jnp.asarray(value) for value in sums])
        after = refresh(state._replace(trial=trial), history, jax.random.key(2))
        assert np.allclose(after.trial.n, 50.0)
        return bool(after.may_test)

    assert not in_phi_t(0.0)  # not trained yet
    for _ in range(40):
        context, action, reward = int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())
        state = auto.learn(state, context, action, reward)
        history = append_round(history, context, action, reward)
    # two standard errors are 0.02, and 0.25 of the mixture's error (1) besides
    assert in_phi_t(0.269)
    assert not in_phi_t(0.271)


@in_float64
def test_columns_are_standardised_by_what_was_seen_and_the_rounds_embedded_again(
    problem: banditsrl.FiniteProblem, auto: BanditSRLAuto
) -> None:
    explorer = auto.explorer
    state, history = explorer.init(jax.random.key(0)), empty_history(jnp.int32(0), 64)
    rng = np.random.default_rng(4)
    seen = []
    for _ in range(30):
        context, action, reward = int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())
        state = explorer.learn(state, context, action, reward)
        history = append_round(history, context, action, reward)
        seen.append((context, action, reward))
    state = banditsrl.compiled(explorer).refresh(state, history, jax.random.key(0))
    x = np.array([problem.representations[0].features[c, 0, :2] for c, _, _ in seen])
    for wide, (scaling, blocks) in zip(explorer.wides, state.learners, strict=True):
        np.testing.assert_allclose(scaling.mean, x.mean(0), rtol=1e-9)
        np.testing.assert_allclose(scaling.deviation, x.std(0), rtol=1e-9)
        for a in range(5):
            psi = np.array([wide.embed(scaling, c)[a] for c, b, _ in seen if b == a])
            y = np.array([reward for _, b, reward in seen if b == a])
            V = explorer.lam * np.eye(wide.dim) + psi.T @ psi
            np.testing.assert_allclose(blocks.theta[a], np.linalg.solve(V, psi.T @ y), rtol=1e-7)


@in_float64
def test_it_reports_its_weights_and_who_may_test(auto: BanditSRLAuto) -> None:
    state = auto.init(jax.random.key(0))._replace(weights=jnp.asarray([0.2, 0.5, 0.3]))
    report = auto.report(state)
    assert set(report) == {"representation", "weights", "active", "loss", "lambda_min"}
    assert int(report["representation"]) == 1
    assert report["active"].tolist() == [True, True, False]
