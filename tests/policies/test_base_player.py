"""Is a base asked and taught as it should be? The three players against direct computation."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from histories import KEY, SIGMA, draw_rounds, end_phase
from ridge_statistics import random_statistics

import banditsrl
from banditsrl.core.adapters import as_policy
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.base_player import (
    Moment,
    OwnState,
    OwnStatistics,
    SharedStatistics,
    keep_if_certified,
    make_player,
)

A, D, LAM, LEVEL, B = 4, 3, 0.7, 0.02, 0.9
PHI = np.random.default_rng(5).normal(size=(A, D))
MASK = np.array([True, True, False, True])


class Recorder:
    """A base with a state of its own: it counts what it learns, and shows what it was asked."""

    phase_growth = 3.0

    def __init__(self, replays: bool = False) -> None:
        self.replays = replays

    def init(self, key: Any) -> Any:
        return {"n": jnp.zeros(()), "phi": jnp.zeros(D), "refreshed": jnp.zeros(())}

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        pmf = jnp.where(mask, 1.0 + state["n"] + context.sum(-1) ** 2, 0.0)
        pmf = pmf / pmf.sum()
        return banditsrl.Choice.without_test(jnp.argmax(pmf), pmf)

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return {**state, "n": state["n"] + 1, "phi": state["phi"] + reward * context[action]}

    def refresh(self, state: Any, history: Any, key: Any) -> Any:
        return {**state, "refreshed": state["refreshed"] + 1}


def moment(ridge: Any, context: Any = None) -> Moment:
    numbers = [jnp.asarray(number) for number in (LEVEL, SIGMA, B)]
    phi, mask = jnp.asarray(PHI), jnp.asarray(MASK)
    return Moment(phi if context is None else context, phi, mask, ridge, *numbers)


def player_of(base: Any, warm_start: bool = True) -> Any:
    return make_player(as_policy(base), warm_start=warm_start, lam=LAM, conventions="paper")


def slow_ucb(ridge: Any, scale: float = 1.0, whole: bool = False) -> Any:
    """Upper confidence bounds of the available actions, from V and b."""
    V, b = np.asarray(ridge.V), np.asarray(ridge.b)
    log_det = np.linalg.slogdet(V / LAM)[1]
    noise, bias = SIGMA * math.sqrt(log_det + 2 * math.log(1 / LEVEL)), math.sqrt(LAM) * B
    width = scale * (noise + bias) if whole else scale * noise + bias
    norms = np.sqrt(np.einsum("ai,ij,aj->a", PHI, np.linalg.inv(V), PHI))
    return np.where(MASK, PHI @ np.linalg.solve(V, b) + width * norms, -np.inf)


# Which player a base gets.


def test_a_ridge_policy_shares_the_statistics_or_keeps_its_own() -> None:
    assert isinstance(player_of(banditsrl.LinUCB()), SharedStatistics)
    assert isinstance(player_of(banditsrl.LinTS()), SharedStatistics)
    assert isinstance(player_of(banditsrl.LinUCB(), warm_start=False), OwnStatistics)


@pytest.mark.parametrize("warm_start", [False, True])
def test_any_other_policy_keeps_its_own_state(warm_start: bool) -> None:
    leader = banditsrl.Leader([np.ones((1, 2, 1))])
    for base in (Recorder(), leader, banditsrl.GLRT(banditsrl.LinUCB(np.ones((1, 2, 1))))):
        assert isinstance(player_of(base, warm_start), OwnState)


def test_lambda_and_conventions_of_the_policy_around_hold_for_the_base_too() -> None:
    base = banditsrl.LinUCB(lam=5.0, ucb_scale=2.0)
    for warm_start in (False, True):
        player = make_player(base, warm_start=warm_start, lam=LAM, conventions="authors")
        assert (player.base.lam, player.base.conventions) == (LAM, "authors")
        assert player.base.ucb_scale == 2.0
    assert (base.lam, base.conventions) == (5.0, "paper")


# Statistics that are shared.


@in_float64
def test_a_base_that_shares_chooses_on_the_statistics_of_all_rounds() -> None:
    chosen = set()
    for seed in range(12):
        ridge = random_statistics(seed, n=1 + seed, dim=D, lam=LAM)
        for scale in (0.0, 1.0, 6.0):
            player = player_of(banditsrl.LinUCB(ucb_scale=scale))
            action, pmf = player.choose((), moment(ridge), KEY)
            best = int(slow_ucb(ridge, scale).argmax())
            assert int(action) == best
            assert np.array_equal(pmf, np.arange(A) == best)
            chosen.add(best)
    assert chosen == {0, 1, 3}


@in_float64
def test_the_step_of_a_base_counts_all_rounds() -> None:
    """Also of a base with statistics of its own, which hold fewer rounds."""
    own = random_statistics(1, n=2, dim=D, lam=LAM)
    for n in (3, 40):
        shared = random_statistics(0, n=n, dim=D, lam=LAM)
        for warm_start, state, ridge in ((True, (), shared), (False, own, own)):
            player = player_of(banditsrl.EpsilonGreedy(epsilon="t^-1/2"), warm_start)
            _, pmf = player.choose(state, moment(shared), KEY)
            rate = (n + 1) ** -0.5
            values = np.where(MASK, PHI @ np.asarray(ridge.theta), -np.inf)
            greedy = np.arange(A) == values.argmax()
            np.testing.assert_allclose(pmf, (1 - rate) * greedy + rate * MASK / 3, rtol=1e-10)


@in_float64
def test_a_base_that_shares_has_no_state() -> None:
    player = player_of(banditsrl.LinUCB())
    assert player.init(D, KEY) == ()
    assert player.learn((), None, jnp.asarray(PHI), jnp.asarray(1), jnp.asarray(2.0)) == ()
    assert player.recompute(()) == player.refresh((), None, KEY) == ()
    assert (player.phase_growth, player.uses_history, player.replays) == (None, False, False)


# Statistics of its own.


@in_float64
def test_a_base_with_statistics_of_its_own_chooses_on_them() -> None:
    player = player_of(banditsrl.LinUCB(), warm_start=False)
    shared = random_statistics(9, n=200, dim=D, lam=LAM)
    for seed in range(8):
        own = random_statistics(seed, n=5, dim=D, lam=LAM)
        action, _ = player.choose(own, moment(shared), KEY)
        assert int(action) == slow_ucb(own).argmax()


@in_float64
def test_own_statistics_are_those_of_the_rounds_that_were_taught() -> None:
    rng = np.random.default_rng(1)
    player = player_of(banditsrl.LinUCB(), warm_start=False)
    state = player.init(D, KEY)
    V, b = LAM * np.eye(D), np.zeros(D)
    for _ in range(7):
        phi, action, reward = rng.normal(size=(A, D)), int(rng.integers(A)), float(rng.normal())
        state = player.learn(
            state, None, jnp.asarray(phi), jnp.asarray(action), jnp.asarray(reward)
        )
        V += np.outer(phi[action], phi[action])
        b += reward * phi[action]
    np.testing.assert_allclose(state.V, V, rtol=1e-12)
    np.testing.assert_allclose(state.theta, np.linalg.solve(V, b), rtol=1e-10)
    drifted = state._replace(root=1.5 * state.root, theta=2.0 * state.theta)
    repaired = player.recompute(drifted)
    np.testing.assert_allclose(repaired.theta, state.theta, rtol=1e-10)
    root = np.asarray(repaired.root)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(V), rtol=1e-9)


# A state of its own.


@in_float64
def test_any_other_base_is_asked_and_taught_with_the_context_it_is_shown() -> None:
    player, base = player_of(Recorder()), Recorder()
    context = jnp.asarray(2.0 * PHI)
    state = player.init(D, KEY)
    ridge = random_statistics(0, n=5, dim=D, lam=LAM)
    for i in range(3):
        expected = base.act(state, context, jnp.asarray(MASK), KEY)
        action, pmf = player.choose(state, moment(ridge, context), KEY)
        assert int(action) == int(expected.action)
        np.testing.assert_array_equal(pmf, expected.pmf)
        state = player.learn(state, context, jnp.asarray(PHI), action, jnp.asarray(0.5))
        assert float(state["n"]) == i + 1
    np.testing.assert_allclose(state["phi"], 3 * 0.5 * 2.0 * PHI[int(action)])


@in_float64
def test_phases_and_replays_of_any_other_base_are_its_own() -> None:
    player = player_of(Recorder())
    assert (player.phase_growth, player.uses_history, player.replays) == (3.0, True, False)
    assert player_of(Recorder(replays=True)).replays
    state = player.refresh(player.init(D, KEY), None, KEY)
    assert float(state["refreshed"]) == 1


@in_float64
def test_a_base_without_phases_is_never_refreshed() -> None:
    base = Recorder()
    base.phase_growth = None  # type: ignore[assignment]
    player = player_of(base)
    assert (player.phase_growth, player.uses_history) == (None, False)
    assert float(player.refresh(player.init(D, KEY), None, KEY)["refreshed"]) == 0


# Rounds that are certified, and replays, in the policies around.


@in_float64
def test_a_state_is_kept_where_the_round_was_certified() -> None:
    old, new = {"n": jnp.zeros(2)}, {"n": jnp.ones(2)}
    assert keep_if_certified(True, old, new)["n"].tolist() == [0.0, 0.0]
    assert keep_if_certified(False, old, new)["n"].tolist() == [1.0, 1.0]


def make(kind: str, base: Any, warm_start: bool = True) -> Any:
    features = np.random.default_rng(0).normal(size=(6, A, D))
    settings: dict[str, Any] = {"sigma": SIGMA, "warm_start": warm_start}
    if kind == "glrt":
        given = banditsrl.representations.Given(n_actions=A, dim=D)
        return banditsrl.GLRT(base, representation=given, **settings)
    if kind == "banditsrl":
        return banditsrl.BanditSRL([features, features[..., :2]], base=base, **settings)
    network = banditsrl.Network(features, layers=(4, D))
    return banditsrl.NNBanditSRL(network, base=base, **settings)


KINDS = pytest.mark.parametrize("kind", ["glrt", "banditsrl", "nn-banditsrl"])


def statistics(state: Any) -> Any:
    return state.network.ridge if hasattr(state, "network") else state.ridge


@KINDS
def test_a_certified_round_never_reaches_a_base_with_its_own_state(kind: str) -> None:
    policy = make(kind, Recorder())
    learn = banditsrl.compiled(policy).learn
    state = policy.init(KEY)
    for i in range(6):
        context = PHI if kind == "glrt" else i
        state = learn(state, context, 1, 0.5, certified=i % 3 != 0)
    assert float(state.base["n"]) == 2
    assert float(statistics(state).n) == 6


@KINDS
def test_a_certified_round_never_reaches_a_base_with_its_own_statistics(kind: str) -> None:
    policy = make(kind, banditsrl.LinUCB(), warm_start=False)
    learn = banditsrl.compiled(policy).learn
    state = policy.init(KEY)
    for i in range(6):
        context = PHI if kind == "glrt" else i
        state = learn(state, context, 1, 0.5, certified=i % 3 != 0)
    assert float(state.base.n) == 2
    assert float(statistics(state).n) == 6


@pytest.mark.parametrize("replays", [False, True])
def test_a_base_starts_a_phase_empty_or_after_all_rounds_in_the_new_embedding(
    three: banditsrl.FiniteProblem, replays: bool
) -> None:
    """Whether rounds were certified or not: a base that replays sees all of them."""
    candidates = [np.ascontiguousarray(r.features[..., :D]) for r in three.representations[:2]]
    rounds = draw_rounds(three, 60)
    policy = banditsrl.BanditSRL(candidates, base=Recorder(replays), sigma=SIGMA)
    state = end_phase(policy, rounds)
    contexts, actions, rewards = rounds
    features = candidates[int(state.representation)]
    expected = np.zeros(D)
    for x, a, y in zip(contexts, actions, rewards, strict=True):
        expected[: features.shape[-1]] += y * features[x, a]
    assert float(state.base["n"]) == (60 if replays else 0)
    np.testing.assert_allclose(state.base["phi"], expected if replays else np.zeros(D), rtol=1e-6)
