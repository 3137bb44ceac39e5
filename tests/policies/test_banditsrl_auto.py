"""The portfolio: what is predicted and played, what is summed up, and what a certificate needs."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import History, append_round, empty_history
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.banditsrl_auto import AutoState, BanditSRLAuto, Errors
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.representations.network import Network
from banditsrl.representations.wide import Wide
from banditsrl.selection.signal_test import found_signal
from banditsrl.selection.stacking import MEMORY, fit_weights

SMALL = {"layers": (8, 4), "n_features": 10, "passes": 2, "n_trees": 4, "depth": 2}
A, E = 3, 5
KEY = jax.random.key(0)
STREAM = banditsrl.Stream(2, A)


@pytest.fixture(scope="module")
def auto() -> BanditSRLAuto:
    policy: BanditSRLAuto = banditsrl.make_policy("banditsrl-auto", STREAM, **SMALL)
    return policy


class Life(NamedTuple):
    """A state with its history, and the same a few rounds later, before the next phase ends."""

    state: AutoState
    history: History
    later: AutoState
    rounds: list[tuple[Any, int, float, bool]]  # between the two states


def draw_rounds(n: int) -> list[tuple[Any, int, float, bool]]:
    rng = np.random.default_rng(5)
    found = []
    for i in range(n):
        x, a = rng.normal(size=2), int(rng.integers(A))
        reward = 50.0 + 4.0 * (x[0] > 0) * (a - 1) + 2.0 * x[1] + rng.normal()
        found.append((x, a, float(reward), i % 4 == 3))
    return found


@pytest.fixture(scope="module")
def life(auto: BanditSRLAuto) -> Life:
    _, learn, refresh = banditsrl.compiled(auto)[:3]
    rounds = draw_rounds(60)
    state, history = auto.init(KEY), empty_history(rounds[0][0], 60)
    for i, one in enumerate(rounds[:50], start=1):
        state, history = learn(state, *one), append_round(history, *one)
        if i in (10, 30, 50):
            state = refresh(state, history, jax.random.key(i))
    later = state
    for one in rounds[50:]:
        later = learn(later, *one)
    return Life(state, history, later, rounds[50:])


class Direct(NamedTuple):
    """What the portfolio thinks of one context, computed from its state with NumPy."""

    values: Any  # (E, A) predictions of rewards
    norms: Any  # (3, A) of the wide embeddings
    twins: Any  # (2, 3, A)


def consult(auto: BanditSRLAuto, state: AutoState, x: Any) -> Direct:
    """Ask every predictor by direct solves, a walk through the trees, and plain products."""
    explorer, rewards = state.explorer, state.explorer.rewards
    mean, anchor = float(rewards.mean), float(rewards.anchor)
    values, norms = np.zeros((3, A)), np.zeros((3, A))
    for k, (scaling, blocks) in enumerate(explorer.learners):
        psi = np.asarray(auto.explorer.wides[k].at(scaling).embed(x))
        for a in range(A):
            V, lam = np.asarray(blocks.V[a]), auto.explorer.lam
            total = (V - lam * np.eye(len(V)))[:, 0]  # the sum of psi, whose first entry is one
            theta = np.linalg.solve(V, np.asarray(blocks.b[a]) - mean * total)
            values[k, a] = anchor + mean + psi[a] @ theta
            norms[k, a] = np.sqrt(psi[a] @ np.linalg.solve(V, psi[a]))
    z = np.asarray(auto.explorer.wides[0].at(explorer.learners[0].scaling).standardise(x))[0]
    trees = np.array([walk(state.trees, k, z) for k in range(2)]) + anchor
    nets = np.array([forward(auto, state, k, z) for k in range(2)]) + anchor
    twins = np.stack([np.stack([values[0], trees[k], nets[k]]) for k in range(2)])
    return Direct(np.vstack([values, trees.mean(0), nets.mean(0)]), norms, twins)


def walk(trees: Any, k: int, z: Any) -> Any:
    """What one of the twin forests predicts, tree by tree."""
    which, cuts, values, base = (np.asarray(leaf)[k] for leaf in trees)
    total = base.copy()
    for t in range(len(which)):
        leaf = 0
        for column, cut in zip(which[t], cuts[t], strict=True):
            leaf = 2 * leaf + int(z[column] >= cut)
        total += values[t, leaf]
    return total


def forward(auto: BanditSRLAuto, state: AutoState, k: int, z: Any) -> Any:
    """What one of the twin networks predicts, in units of rewards."""
    weights, theta = jax.tree.map(
        lambda leaf: leaf[k], (state.networks.weights, state.networks.ridge.theta)
    )
    phi = auto.networks.learner.network.at(weights).embed(jnp.asarray(z, dtype=jnp.float32))
    return float(state.location) + float(state.scale) * (np.asarray(phi) @ np.asarray(theta))


CONTEXTS = np.random.default_rng(8).normal(size=(12, 2))


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


def find_width(auto: BanditSRLAuto, state: AutoState, direct: Direct) -> Any:
    unit = auto.explorer.ucb_scale * float(state.explorer.rewards.deviation)
    return unit * np.asarray(state.explorer.weights) @ direct.norms


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


class Judgement(NamedTuple):
    """The test of one context, by its formula."""

    greedy: int
    ratio: float
    threshold: float
    passes: bool
    agrees: bool  # all five predictors, and optimism, name the same action


def judge(auto: BanditSRLAuto, state: AutoState, x: Any, mask: Any) -> Judgement:
    direct, errors = consult(auto, state, x), Errors(*map(float, state.errors))
    small = np.asarray(state.small_weights)
    first, second = small @ direct.twins[0], small @ direct.twins[1]
    greedy = int(np.where(mask, first + second, -np.inf).argmax())
    n = max(errors.n, 1.0)
    sigma = auto.sigma or np.sqrt(errors.mixture / n * (1 + 2 * np.sqrt(2 / n)))
    variance = errors.squares / n - (errors.excess / n) ** 2
    excess = errors.excess / n + auto.slack * np.sqrt(max(variance, 0.0) / n)
    eps = np.sqrt(max(excess, 0.0))
    nearest = (np.inf, np.nan, np.nan)
    passes = True
    for rival in np.flatnonzero(mask):
        if rival == greedy:
            continue
        gaps = first[greedy] - first[rival], second[greedy] - second[rival]
        doubt = ((gaps[0] - gaps[1]) ** 2 / 4 + errors.doubt / n) / 2
        noise = (small[0] * sigma) ** 2 * (direct.norms[0, [greedy, rival]] ** 2).sum()
        error = np.sqrt(noise + doubt)
        ratio, threshold = np.mean(gaps) / error, np.sqrt(2 * np.log(1 / auto.delta)) + eps / error
        nearest = min(nearest, (ratio / threshold, ratio, threshold))
        passes = passes and bool(ratio > threshold)
    value = np.where(mask, np.asarray(state.weights) @ direct.values, -np.inf)
    index = value + find_width(auto, state, direct)
    agrees = bool(value.argmax() == greedy == index.argmax())
    return Judgement(greedy, nearest[1], nearest[2], passes, agrees)


def make_sums(n: float, mixture: float, excess: float, deviation: float, doubt: float) -> Errors:
    """Sums over n rounds with these means, and this deviation of the excess."""
    means = (1.0, mixture, excess, excess**2 + deviation**2, doubt)
    return Errors(*(jnp.asarray(n * value) for value in means))


EVERYTHING = np.ones(A, dtype=bool)
SOME = np.array([True, True, False])


@in_float64
@pytest.mark.parametrize("sigma", [None, 0.1])
def test_a_certificate_needs_every_gap_to_exceed_its_error_and_the_misfit(
    auto: BanditSRLAuto, life: Life, sigma: float | None
) -> None:
    policy = dataclasses.replace(auto, sigma=sigma)
    act, seen = banditsrl.compiled(policy).act, set()
    certain = make_sums(100.0, 0.01, -0.1, 0.0, 0.01)
    doubtful = make_sums(100.0, 0.01, -0.1, 0.0, 2.0)
    misfit = make_sums(100.0, 0.01, 0.2, 1.0, 0.01)
    noisy = make_sums(100.0, 30.0, -0.1, 0.0, 0.01)
    for errors in (certain, doubtful, misfit, noisy, life.later.errors):
        state = life.later._replace(errors=errors, has_signal=jnp.asarray(True))
        for x in CONTEXTS:
            for mask in (EVERYTHING, SOME):
                found, choice = judge(policy, state, x, mask), act(state, x, mask, KEY)
                np.testing.assert_allclose(choice.glr, found.ratio, rtol=1e-5)
                np.testing.assert_allclose(choice.threshold, found.threshold, rtol=1e-5)
                assert bool(choice.certified) is (found.passes and found.agrees)
                if choice.certified:
                    assert int(choice.action) == found.greedy
                    np.testing.assert_array_equal(choice.pmf, np.arange(A) == found.greedy)
                seen.add((found.passes, found.agrees))
    assert {(True, True), (False, True), (False, False)} <= seen


@in_float64
@pytest.mark.parametrize("what", ["gap", "doubt", "noise", "eps", "delta"])
def test_each_part_of_the_condition_can_prevent_certificates(
    auto: BanditSRLAuto, life: Life, what: str
) -> None:
    """The share of certified contexts falls when one part alone is made worse."""
    state = life.later._replace(
        errors=make_sums(100.0, 0.01, -0.1, 0.0, 0.01), has_signal=jnp.asarray(True)
    )
    worse, policy = state, auto
    if what == "gap":
        values = state.small_weights[0] * jnp.zeros(()) + jnp.asarray([0.0, 0.0, 1.0])
        networks = state.networks.ridge._replace(theta=0.0 * state.networks.ridge.theta)
        worse = state._replace(
            small_weights=values, networks=state.networks._replace(ridge=networks)
        )
    elif what == "doubt":
        worse = state._replace(errors=state.errors._replace(doubt=jnp.asarray(1e6)))
    elif what == "noise":
        worse = state._replace(errors=state.errors._replace(mixture=jnp.asarray(1e6)))
    elif what == "eps":
        worse = state._replace(errors=state.errors._replace(excess=jnp.asarray(1e6)))
    else:
        policy = dataclasses.replace(auto, delta=1e-300)

    def count(policy: BanditSRLAuto, state: AutoState) -> int:
        act = jax.jit(lambda state, x: policy.act(state, x, None, KEY).certified)
        return sum(bool(act(state, x)) for x in CONTEXTS)

    assert count(policy, worse) < count(auto, state)


@in_float64
@pytest.mark.parametrize("change", [{"has_signal": False}, {"scale": 0.0}])
def test_nothing_is_certified_without_a_signal_or_while_all_rewards_are_equal(
    auto: BanditSRLAuto, life: Life, change: dict[str, Any]
) -> None:
    act, errors = banditsrl.compiled(auto).act, make_sums(100.0, 1e-9, -0.1, 0.0, 1e-9)
    sure = life.later._replace(errors=errors, has_signal=jnp.asarray(True))
    assert any(act(sure, x, None, KEY).certified for x in CONTEXTS)
    unsure = sure._replace(**{name: jnp.asarray(value) for name, value in change.items()})
    assert not any(act(unsure, x, None, KEY).certified for x in CONTEXTS)
    off = dataclasses.replace(auto, certifies=False)
    assert not any(banditsrl.compiled(off).act(sure, x, None, KEY).certified for x in CONTEXTS[:4])


@in_float64
def test_a_single_available_action_is_certified_from_the_start(auto: BanditSRLAuto) -> None:
    choice = banditsrl.compiled(auto).act(auto.init(KEY), CONTEXTS[0], np.arange(A) == 2, KEY)
    assert (int(choice.action), bool(choice.certified)) == (2, True)
    assert not banditsrl.compiled(auto).act(auto.init(KEY), CONTEXTS[0], None, KEY).certified


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
        sums += [1.0, mixture, excess, excess**2, (gaps[0] - gaps[1]) ** 2 / 4]
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
    policy = banditsrl.make_policy("banditsrl-auto", STREAM, **SMALL, **settings, rate=0.5)
    assert (policy.slack, policy.delta, policy.sigma) == (1.0, 0.1, None)
    assert (policy.explorer.ucb_scale, policy.explorer.n_scaling) == (0.6, 80)
    assert policy.networks.learner.training.batch == 16
    assert (policy.trees.n_trees, policy.trees.depth, policy.trees.rate) == (4, 2, 0.5)
    assert policy.networks.learner.network.dim == 4
    assert [wide.dim for wide in policy.explorer.wides] == [1 + 2, 1 + 2 + 10, 1 + 2 + 10]
    assert [wide.kind for wide in policy.explorer.wides[1:]] == ["waves", "steps"]
    known = banditsrl.make_policy("banditsrl-auto", STREAM, **SMALL, sigma=0.3)
    assert known.sigma == 0.3


def test_a_preset_concerns_the_networks_only(auto: BanditSRLAuto) -> None:
    paper = banditsrl.make_policy("banditsrl-auto", STREAM, preset="paper")
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
    ],
)
def test_settings_outside_their_range_are_refused(
    auto: BanditSRLAuto, settings: dict[str, float], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        BanditSRLAuto(auto.explorer, auto.trees, auto.networks, **settings)
