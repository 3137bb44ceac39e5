"""The portfolio: what is predicted and played, what is summed up, and what a phase end does."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from portfolio import (
    CONTEXTS,
    KEY,
    SMALL,
    STREAM,
    A,
    E,
    Life,
    consult,
    find_width,
    make_auto,
    make_life,
    make_sums,
)

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.banditsrl_auto import AutoState, BanditSRLAuto
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.representations.network import Network
from banditsrl.representations.wide import Wide
from banditsrl.selection.signal_test import found_signal
from banditsrl.selection.stacking import MEMORY, fit_weights


@pytest.fixture(scope="module")
def auto() -> BanditSRLAuto:
    return make_auto()


@pytest.fixture(scope="module")
def life() -> Life:
    return make_life()


@in_float64
def test_the_prediction_is_the_weighted_mean_and_every_predictor_is_a_challenger(
    auto: BanditSRLAuto, life: Life
) -> None:
    for x in CONTEXTS:
        direct = consult(auto, life.later, x)
        mixed = np.asarray(life.later.weights) @ direct.values
        np.testing.assert_allclose(auto.predict(life.later, x), mixed, rtol=1e-6)
        challengers = auto.challengers(life.later, x)
        np.testing.assert_array_equal(challengers, direct.values.argmax(axis=1))
        assert challengers.shape == (auto.n_challengers,) == (E,)


@in_float64
def test_the_largest_mixed_value_plus_the_width_of_the_wide_embeddings_is_played(
    auto: BanditSRLAuto, life: Life
) -> None:
    act, mask = banditsrl.compiled(auto).act, np.array([True, False, True])
    state = life.later._replace(has_signal=jnp.asarray(False))
    moved = 0
    for weights in np.random.default_rng(1).dirichlet(np.ones(E), size=4):
        state = state._replace(weights=jnp.asarray(weights))
        for x in CONTEXTS:
            direct = consult(auto, state, x)
            value = weights @ direct.values
            index = value + find_width(auto, state, direct)
            choice = act(state, x, None, KEY)
            assert int(choice.action) == index.argmax()
            np.testing.assert_array_equal(choice.pmf, np.arange(A) == index.argmax())
            assert int(choice.representation) == weights.argmax()
            assert not choice.certified
            assert int(act(state, x, mask, KEY).action) == np.where(mask, index, -np.inf).argmax()
            moved += index.argmax() != value.argmax()
    assert 0 < moved < 48  # the width matters, and so do the values


@in_float64
def test_the_errors_of_unseen_rewards_are_summed_up(auto: BanditSRLAuto, life: Life) -> None:
    learn, state = banditsrl.compiled(auto).learn, life.state
    stack, small_stack = np.asarray(state.stack.errors), np.asarray(state.small.errors)
    sums, total = np.array([float(value) for value in state.errors]), float(state.signal.total)
    weights, small_weights = np.asarray(state.weights), np.asarray(state.small_weights)
    for x, a, reward, certified in life.rounds:
        direct = consult(auto, state, x)
        e, small = direct.values[:, a] - reward, direct.twins.mean(0)[:, a] - reward
        if not certified:
            stack, small_stack = stack + np.outer(e, e), small_stack + np.outer(small, small)
        mixture, certifying = (weights @ e) ** 2, (small_weights @ small) ** 2
        excess = certifying - mixture
        both = small_weights @ direct.twins  # (2, A)
        second, greedy = np.argsort(both.mean(0))[-2:]
        gaps = both[:, greedy] - both[:, second]
        spread = (weights @ direct.values).max() - (weights @ direct.values).mean()
        sums += [1.0, mixture, excess, excess**2, abs(gaps[0] - gaps[1]) / 2, spread]
        scale = state.explorer.rewards
        f = weights @ direct.values[:, a] - float(scale.anchor) - float(state.signal.centre)
        total += f * (reward - float(scale.anchor) - float(scale.mean))
        state = learn(state, x, a, reward, certified)
    np.testing.assert_allclose(state.stack.errors, stack, rtol=1e-5)
    np.testing.assert_allclose(state.small.errors, small_stack, rtol=1e-5)
    np.testing.assert_allclose(np.array(state.errors), sums, rtol=1e-4)
    np.testing.assert_allclose(state.signal.total, total, rtol=1e-5)
    assert int(state.networks.n_rounds[0]) == 60


@in_float64
def test_at_the_end_of_a_phase_weights_are_fitted_and_earlier_errors_count_less(
    auto: BanditSRLAuto, life: Life
) -> None:
    before, rewards = life.later, life.later.explorer.rewards
    after = banditsrl.compiled(auto).refresh(before, life.history, KEY)
    np.testing.assert_allclose(after.weights, fit_weights(before.stack), rtol=1e-9)
    np.testing.assert_allclose(after.small_weights, fit_weights(before.small), rtol=1e-9)
    np.testing.assert_allclose(after.stack.errors, MEMORY * before.stack.errors)
    np.testing.assert_allclose(after.small.errors, MEMORY * before.small.errors)
    np.testing.assert_allclose(np.array(after.errors), MEMORY * np.array(before.errors))
    assert (float(after.location), float(after.scale)) == (rewards.mean, rewards.deviation)
    decided = found_signal(before.signal, jnp.asarray(auto.delta))
    assert bool(after.has_signal) is bool(decided)
    surely = before.signal._replace(total=jnp.asarray(1e9))
    again = banditsrl.compiled(auto).refresh(before._replace(signal=surely), life.history, KEY)
    assert bool(again.has_signal)


@in_float64
@pytest.mark.parametrize("k", [0, 1])
def test_a_twin_is_fitted_to_its_half_of_the_rounds_only(
    auto: BanditSRLAuto, life: Life, k: int
) -> None:
    """Exchange the rewards of the other half among themselves: their mean stays."""
    refresh = banditsrl.compiled(auto).refresh
    one = refresh(life.state, life.history, KEY)
    rewards = np.array(life.history.rewards)
    rewards[1 - k : 50 : 2] = rewards[1 - k : 50 : 2][::-1]
    other = refresh(life.state, life.history._replace(rewards=jnp.asarray(rewards)), KEY)

    def pick(state: AutoState, twin: int) -> list[Any]:
        parts = state.trees, state.networks.weights, state.networks.ridge.theta
        return [np.asarray(leaf)[twin] for leaf in jax.tree.leaves(parts)]

    for before, after in zip(pick(one, k), pick(other, k), strict=True):
        np.testing.assert_array_equal(before, after)
    assert not np.allclose(pick(one, 1 - k)[-1], pick(other, 1 - k)[-1])
    assert not np.allclose(np.asarray(one.trees.values)[1 - k], other.trees.values[1 - k])


@in_float64
def test_it_reports_weights_noise_misfit_and_whether_there_is_a_signal(
    auto: BanditSRLAuto, life: Life
) -> None:
    weights = np.array([0.2, 0.05, 0.4, 0.3, 0.05])
    errors = make_sums(100.0, 4.0, 0.2, 0.5, 1.0)
    report = auto.report(life.later._replace(weights=jnp.asarray(weights), errors=errors))
    assert int(report["representation"]) == 2
    np.testing.assert_allclose(report["weights"], weights)
    assert report["active"].tolist() == [True, False, True, True, False]
    np.testing.assert_allclose(report["small_weights"], life.later.small_weights)
    np.testing.assert_allclose(report["sigma"], np.sqrt(4.0 * (1 + 2 * np.sqrt(2 / 100))))
    np.testing.assert_allclose(report["eps"], np.sqrt(0.2 + auto.slack * 0.5 / 10))
    assert bool(report["signal"]) is bool(life.later.has_signal)
    np.testing.assert_allclose(report["loss"], np.mean(life.later.networks.loss))
    np.testing.assert_allclose(report["lambda_min"], np.min(life.later.networks.lambda_min))


@pytest.mark.parametrize("method", ["act", "learn"])
def test_the_networks_are_embedded_once_in_every_act_and_learn(
    auto: BanditSRLAuto, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    embed_single = Network.embed_single

    def count(self: Network, context: Any) -> Any:
        calls.append(context)
        return embed_single(self, context)

    monkeypatch.setattr(Network, "embed_single", count)
    with jax.enable_x64(True):
        state, context = jax.eval_shape(auto.init, KEY), jnp.asarray(CONTEXTS[0])
        if method == "act":
            jax.eval_shape(lambda *args: auto.act(*args, None, KEY), state, context)
        else:
            jax.eval_shape(auto.learn, state, context, jnp.asarray(1), jnp.asarray(0.5))
    assert len(calls) == 1


def test_every_setting_reaches_the_part_that_knows_it() -> None:
    settings = {"ucb_scale": 0.6, "slack": 1.0, "delta": 0.1, "batch": 16, "n_scaling": 80}
    policy = banditsrl.make_policy(
        "banditsrl-auto", STREAM, drift=None, **SMALL, **settings, rate=0.5
    )
    assert (policy.slack, policy.delta, policy.sigma) == (1.0, 0.1, None)
    assert (policy.explorer.ucb_scale, policy.explorer.n_scaling) == (0.6, 80)
    assert policy.networks.learner.training.batch == 16
    trees = policy.trees.trees
    assert (trees.n_trees, trees.depth, trees.rate) == (4, 2, 0.5)
    assert policy.networks.learner.network.dim == 4
    assert [wide.dim for wide in policy.explorer.wides] == [1 + 2, 1 + 2 + 10, 1 + 2 + 10]
    assert [wide.kind for wide in policy.explorer.wides[1:]] == ["waves", "steps"]
    known = banditsrl.make_policy("banditsrl-auto", STREAM, drift=None, **SMALL, sigma=0.3)
    assert known.sigma == 0.3


def test_a_preset_concerns_the_networks_only(auto: BanditSRLAuto) -> None:
    paper = banditsrl.make_policy("banditsrl-auto", STREAM, drift=None, preset="paper")
    assert paper.networks.learner.training.optimizer == "sgd"
    assert paper.explorer.ucb_scale == auto.explorer.ucb_scale
    assert (paper.gamma, paper.delta) == (auto.gamma, auto.delta)


def test_the_parts_must_have_the_same_number_of_actions(auto: BanditSRLAuto) -> None:
    explorer = WideUCB((Wide(np.random.default_rng(0).normal(size=(4, 2, 2))),))
    message = "explorer, trees and networks must have the same number of actions, got 2, 3 and 3"
    with pytest.raises(InvalidArgument, match=message):
        BanditSRLAuto(explorer, auto.trees, auto.networks)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 1.0}, r"gamma must be greater than 1, got 1\.0"),
        ({"slack": -1.0}, r"slack must be at least 0, got -1\.0"),
        ({"delta": 0.0}, r"delta must lie strictly between 0 and 1, got 0\.0"),
        ({"probe": -0.1}, r"probe must lie strictly between 0 and 1, got -0\.1"),
        ({"tolerance": 1.0}, r"tolerance must lie strictly between 0 and 1, got 1\.0"),
    ],
)
def test_settings_outside_their_range_are_refused(
    auto: BanditSRLAuto, settings: dict[str, float], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        BanditSRLAuto(auto.explorer, auto.trees, auto.networks, **settings)
