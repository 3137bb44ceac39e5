"""What does a certificate of the portfolio need? Each condition, by its formula in NumPy."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from portfolio import (
    CONTEXTS,
    KEY,
    A,
    Life,
    consult,
    find_width,
    make_auto,
    make_life,
    make_sums,
)

import banditsrl
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.banditsrl_auto import AutoState, BanditSRLAuto
from banditsrl.selection.familiarity import add_values
from banditsrl.selection.twin_certificate import Errors


@pytest.fixture(scope="module")
def auto() -> BanditSRLAuto:
    return make_auto()


@pytest.fixture(scope="module")
def life() -> Life:
    """A life in which every context is familiar."""
    drawn = make_life()
    return drawn._replace(later=make_familiar(drawn.later))


def make_familiar(state: AutoState) -> AutoState:
    """The state, as if every value had come often before its last fit."""
    return state._replace(seen=state.seen._replace(fitted=jnp.full_like(state.seen.fitted, 100)))


class Judgement(NamedTuple):
    """The test of one context, by its formula."""

    rival: int  # the one of largest expected loss
    cost: float  # by how much the mixture of all five prefers its own best action to the rival
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
    losses = np.full(A, -1.0)
    for rival in np.flatnonzero(mask):
        if rival == greedy:
            continue
        gaps = first[greedy] - first[rival], second[greedy] - second[rival]
        doubt = ((gaps[0] - gaps[1]) ** 2 / 4 + np.pi / 2 * (errors.doubt / n) ** 2) / 2
        noise = (small[0] * sigma) ** 2 * (direct.norms[0, [greedy, rival]] ** 2).sum()
        nearby = sigma**2 * direct.scarcity[[greedy, rival]].sum()
        error = np.sqrt(noise + nearby + doubt)
        losses[rival] = integrate_loss(np.mean(gaps) - eps, error)
    expected = losses[losses >= 0].sum()
    ratio = min(errors.spread / n / max(expected, 1e-300), 1e12)
    value = np.where(mask, np.asarray(state.weights) @ direct.values, -np.inf)
    index = value + find_width(auto, state, direct)
    agrees = bool(value.argmax() == greedy == index.argmax())
    threshold = 1 / auto.tolerance
    passes = bool(ratio > threshold)
    rival = int(losses.argmax())
    cost = float(value.max() - value[rival])
    return Judgement(rival, cost, greedy, ratio, threshold, passes, agrees)


def integrate_loss(gap: float, error: float) -> float:
    """The mean of (error Z - gap)^+ for a normal Z, by adding up."""
    z = np.linspace(-12.0, 12.0, 200_001)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return float((np.maximum(error * z - gap, 0.0) * density).sum() * (z[1] - z[0]))


EVERYTHING = np.ones(A, dtype=bool)
SOME = np.array([True, True, False])


@in_float64
@pytest.mark.parametrize("sigma", [None, 0.1])
def test_a_certificate_needs_an_expected_loss_that_is_small_beside_that_of_random_play(
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
                np.testing.assert_allclose(choice.glr, found.ratio, rtol=1e-3)
                np.testing.assert_allclose(choice.threshold, found.threshold, rtol=1e-5)
                assert bool(choice.certified) is (found.passes and found.agrees)
                if choice.certified:
                    assert int(choice.action) == found.greedy
                    np.testing.assert_array_equal(choice.pmf, np.arange(A) == found.greedy)
                seen.add((found.passes, found.agrees))
    assert {(True, True), (False, True), (False, False)} <= seen


@in_float64
@pytest.mark.parametrize(
    "what", ["gap", "doubt", "noise", "eps", "scarcity", "spread", "tolerance"]
)
def test_each_part_of_the_condition_can_prevent_certificates(
    auto: BanditSRLAuto, life: Life, what: str
) -> None:
    """The share of certified contexts falls when one part alone is made worse."""
    state = life.later._replace(
        errors=make_sums(100.0, 0.01, -0.1, 0.0, 0.01), has_signal=jnp.asarray(True)
    )
    worse, policy = state, auto
    if what == "gap":
        ridge = state.networks.ridge._replace(theta=0.0 * state.networks.ridge.theta)
        worse = state._replace(  # networks alone, which predict the same of every action
            small_weights=jnp.asarray([0.0, 0.0, 1.0]),
            networks=state.networks._replace(ridge=ridge),
        )
    elif what == "doubt":
        worse = state._replace(errors=state.errors._replace(doubt=jnp.asarray(1e6)))
    elif what == "noise":
        worse = state._replace(errors=state.errors._replace(mixture=jnp.asarray(1e6)))
    elif what == "eps":
        worse = state._replace(errors=state.errors._replace(excess=jnp.asarray(1e6)))
    elif what == "scarcity":
        state = state._replace(errors=make_sums(100.0, 2.0, -0.1, 0.0, 0.01))
        none = {name: 0.0 * getattr(state.trees, name) for name in ("masses", "alike")}
        worse = state._replace(trees=state.trees._replace(**none))
    elif what == "spread":
        worse = state._replace(errors=state.errors._replace(spread=jnp.asarray(0.0)))
    else:
        policy = dataclasses.replace(auto, tolerance=1e-13)

    def count(policy: BanditSRLAuto, state: AutoState) -> int:
        act = jax.jit(lambda state, x: policy.act(state, x, None, KEY).certified)
        return sum(bool(act(state, x)) for x in CONTEXTS)

    assert count(policy, worse) < count(auto, state)


@in_float64
def test_uncertified_rounds_probe_the_rival_of_largest_expected_loss(
    auto: BanditSRLAuto, life: Life
) -> None:
    """The pmf of the action is known, and certified rounds do not probe."""
    probing, kinds, costs = dataclasses.replace(auto, probe=0.25), set(), []
    plainly = dataclasses.replace(auto, probe=0.0)
    act, plain = banditsrl.compiled(probing).act, banditsrl.compiled(plainly).act
    state = make_old(life.later, n_rounds=60_000)
    for x in CONTEXTS:
        for mask in (EVERYTHING, SOME):
            found, choice = judge(auto, state, x, mask), act(state, x, mask, KEY)
            before = plain(state, x, mask, KEY)
            assert bool(choice.certified) is bool(before.certified)
            rate = 0.25 / max(found.cost, 1.0)  # random play loses one per round
            mixed = np.asarray(before.pmf) * (1 - rate) + rate * (np.arange(A) == found.rival)
            costs.append(found.cost)
            np.testing.assert_allclose(choice.pmf, before.pmf if before.certified else mixed)
            kinds.add(bool(choice.certified))
    assert kinds == {True, False}
    assert min(costs) < 1.0 < max(costs)
    x = next(x for x in CONTEXTS if not plain(state, x, None, KEY).certified)
    draw = jax.jit(jax.vmap(lambda key: probing.act(state, x, None, key).action))
    played = np.bincount(np.asarray(draw(jax.random.split(KEY, 4000))), minlength=A) / 4000
    np.testing.assert_allclose(played, act(state, x, None, KEY).pmf, atol=0.03)


def make_old(state: AutoState, *, n_rounds: int) -> AutoState:
    """The state after so many rounds, with a signal, and with errors that certify a few rounds."""
    rewards = state.explorer.rewards._replace(n=jnp.asarray(n_rounds))
    return state._replace(
        explorer=state.explorer._replace(rewards=rewards),
        errors=make_sums(100.0, 0.5, -0.1, 0.0, 0.3),
        has_signal=jnp.asarray(True),
    )


@in_float64
def test_probes_become_frequent_with_time_and_need_a_signal(
    auto: BanditSRLAuto, life: Life
) -> None:
    probing, plainly = (dataclasses.replace(auto, probe=share) for share in (0.25, 0.0))
    act, plain = banditsrl.compiled(probing).act, banditsrl.compiled(plainly).act

    def probed(state: AutoState) -> float:
        """The largest probability that probes add to an action."""
        pairs = [(act(state, x, None, KEY), plain(state, x, None, KEY)) for x in CONTEXTS]
        return max(float((one.pmf - other.pmf).max()) for one, other in pairs)

    for n_rounds, share in [(0, 0.0), (5_000, 0.025), (25_000, 0.125), (10**6, 0.25)]:
        assert probed(make_old(life.later, n_rounds=n_rounds)) == pytest.approx(share)
    unsure = make_old(life.later, n_rounds=10**6)._replace(has_signal=jnp.asarray(False))
    assert probed(unsure) == 0.0


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
def test_a_context_that_is_not_familiar_is_not_certified(auto: BanditSRLAuto, life: Life) -> None:
    act, errors = banditsrl.compiled(auto).act, make_sums(100.0, 1e-9, -0.1, 0.0, 1e-9)
    sure = life.later._replace(errors=errors, has_signal=jnp.asarray(True))
    certified = next(x for x in CONTEXTS if act(sure, x, None, KEY).certified)
    seen = sure.seen._replace(n_fitted=jnp.asarray(10_000))
    for _ in range(9):  # it came in 100 of 10,000 rounds before, and in all of the rounds since
        seen = add_values(seen, auto._locate(sure.explorer, certified))
    assert not act(sure._replace(seen=seen), certified, None, KEY).certified
    nothing = sure._replace(seen=auto.init(KEY).seen)
    assert not act(nothing, certified, None, KEY).certified


@in_float64
def test_only_rounds_in_the_same_leaves_are_near_a_kind_of_context_that_came_late(
    auto: BanditSRLAuto, life: Life
) -> None:
    find = jax.jit(lambda state, x: auto._consult(state, x).scarcity)
    shares = jnp.full((2, auto.trees.trees.n_trees), 0.9 / auto.trees.trees.n_trees)
    usual = life.later._replace(trees=life.later.trees._replace(shares=shares))
    late = usual._replace(seen=usual.seen._replace(grown=usual.seen.fitted > 0))
    fewer = 0
    for x in CONTEXTS:
        z = auto._standardise(usual.explorer, x).ravel()
        rows = np.zeros((auto.trees.trees.n_trees, A))
        for k in range(2):
            twin = jax.tree.map(lambda leaf, k=k: leaf[k], usual.trees)
            rows += np.asarray(auto.trees.trees.count_near(twin, z))
        expected = (1 / np.sqrt(1 + rows)).mean(axis=0) ** 2
        np.testing.assert_allclose(find(late, x), expected, rtol=1e-5)
        np.testing.assert_allclose(find(usual, x), consult(auto, usual, x).scarcity, rtol=1e-5)
        fewer += bool((find(late, x) > find(usual, x)).any())
    assert fewer > 0


@in_float64
def test_a_fit_counts_the_values_of_all_rounds(auto: BanditSRLAuto) -> None:
    """Fifty rounds of two columns are counted: two coarse bins, two fine ones and a cell each."""
    drawn = make_life()
    assert int(drawn.state.seen.n_fitted) == 50
    assert int(drawn.state.seen.fitted.sum()) == 50 * 5
    assert int(drawn.state.seen.since.sum()) == 0
    assert int(drawn.later.seen.n_since) == len(drawn.rounds)
    assert int(drawn.later.seen.since.sum()) == len(drawn.rounds) * 5


@in_float64
def test_a_gap_without_any_error_is_measured_in_deviations_of_the_rewards(
    auto: BanditSRLAuto, life: Life
) -> None:
    """Twins that are equal show no doubt, and a mixture without errors shows no noise."""
    equal = jax.tree.map(lambda leaf: jnp.stack([leaf[0], leaf[0]]), life.later.trees)
    state = life.later._replace(
        trees=equal,
        small_weights=jnp.asarray([0.0, 1.0, 0.0]),
        errors=make_sums(100.0, 0.0, -0.1, 0.0, 0.0),
    )
    for x in CONTEXTS[:4]:
        values = np.sort(consult(auto, state, x).twins[0, 1])
        choice = banditsrl.compiled(auto).act(state, x, None, KEY)
        scale = float(state.scale)
        expected = sum(integrate_loss(values[-1] - value, scale) for value in values[:-1])
        np.testing.assert_allclose(choice.glr, 1.0 / expected, rtol=1e-3)


@in_float64
def test_a_single_available_action_is_certified_from_the_start(auto: BanditSRLAuto) -> None:
    choice = banditsrl.compiled(auto).act(auto.init(KEY), CONTEXTS[0], np.arange(A) == 2, KEY)
    assert (int(choice.action), bool(choice.certified)) == (2, True)
    assert not banditsrl.compiled(auto).act(auto.init(KEY), CONTEXTS[0], None, KEY).certified
