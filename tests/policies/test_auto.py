"""The portfolio: who plays, when a certificate counts, and how its embedding is scaled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.linear.lanes import double
from banditsrl.policies.auto import BanditSRLAuto, Trial
from banditsrl.policies.history import allocate, appended
from banditsrl.policies.wide import WideUCB
from banditsrl.representations.wide import Wide

SMALL = {"layers": (8, 4), "n_features": 10, "passes": 2}


@pytest.fixture(scope="module")
def problem() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("wheel", n_contexts=10)


@pytest.fixture(scope="module")
def auto(problem: banditsrl.FiniteProblem) -> BanditSRLAuto:
    return banditsrl.make_policy("banditsrl-auto", problem, **SMALL)


def test_it_keeps_the_contract(problem: banditsrl.FiniteProblem, auto: BanditSRLAuto) -> None:
    assert "maps over seeds" in banditsrl.check_policy(auto, problem)
    assert "maps over seeds" in banditsrl.check_policy(auto.explorer, problem)


def test_settings_reach_their_part(problem: banditsrl.FiniteProblem) -> None:
    settings = {"ucb_scale": 0.7, "slack": 1.0, "glrt_scale": 3.0, "batch": 16}
    policy = banditsrl.make_policy("banditsrl-auto", problem, **SMALL, **settings)
    assert policy.explorer.ucb_scale == 0.7
    assert policy.slack == 1.0
    assert policy.certifier.glrt_scale == 3.0
    assert policy.certifier.training.batch == 16
    assert policy.explorer.wide.dim == 1 + 2 + 10


def test_the_explorer_alone_has_a_name_and_leaves_the_columns_alone(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = banditsrl.make_policy("linucb-disjoint", problem, ucb_scale=0.7, lam=2.0)
    assert (policy.ucb_scale, policy.lam) == (0.7, 2.0)
    with jax.enable_x64(True):
        psi = policy.wide.embed(policy.wide.unscaled(), 3)
    x = problem.representations[0].features[3, 0, :2]
    expected = np.concatenate([[1.0], x / np.sqrt(2.0)])
    np.testing.assert_allclose(psi, np.tile(expected, (5, 1)), rtol=1e-12)


def test_parts_must_have_the_same_actions(auto: BanditSRLAuto) -> None:
    explorer = WideUCB(Wide(np.random.default_rng(0).normal(size=(4, 3, 2))))
    with pytest.raises(InvalidArgument, match="same number of actions, got 3 and 5"):
        BanditSRLAuto(explorer, auto.certifier)


@double
def test_a_certificate_needs_the_network_in_phi_t_and_the_explorer_to_agree(
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
    theta = state.explorer.blocks.theta
    for agreeing in (False, True):
        favourite = int(tested.action) if agreeing else (int(tested.action) + 1) % 5
        blocks = state.explorer.blocks._replace(theta=theta.at[favourite, 0].set(9.0))
        told = state._replace(explorer=state.explorer._replace(blocks=blocks))
        assert not bool(auto.act(told, 0, None, key).certified)  # not in Phi_t yet
        choice = auto.act(told._replace(active=jnp.asarray([True, True])), 0, None, key)
        assert bool(choice.certified) is agreeing
        assert int(choice.action) == favourite
        assert float(choice.pmf[favourite]) == 1.0
        alone = auto.act(told._replace(active=jnp.asarray([False, True])), 0, None, key)
        assert bool(alone.certified)
        assert int(alone.action) == int(tested.action)


@double
def test_the_network_is_compared_on_predictions_made_before_the_reward(
    problem: banditsrl.FiniteProblem, auto: BanditSRLAuto
) -> None:
    rng = np.random.default_rng(3)
    state, differences = auto.init(jax.random.key(1)), []
    for _ in range(8):
        context, action, reward = int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())
        values, _ = auto.explorer.scores(state.explorer, context)
        phi = auto.certifier.embed(state.certifier, context)[action]
        network = float(phi @ state.certifier.ridge.theta)
        differences.append((network - reward) ** 2 - (float(values[action]) - reward) ** 2)
        state = auto.learn(state, context, action, reward, certified=len(differences) > 5)
    for part, kept in enumerate((differences[:5], differences)):  # explored rounds, and all
        assert float(state.trial.n[part]) == len(kept)
        assert np.isclose(float(state.trial.total[part]), np.sum(kept))
        assert np.isclose(float(state.trial.squares[part]), np.sum(np.square(kept)))
    assert 0 < float(state.trial.wide[0]) < float(state.trial.wide[1])


@double
def test_phi_t_holds_what_does_not_predict_clearly_worse(
    problem: banditsrl.FiniteProblem, auto: BanditSRLAuto
) -> None:
    state, history = auto.init(jax.random.key(1)), allocate(jnp.int32(0), 64)
    rng = np.random.default_rng(5)
    for _ in range(40):
        context, action, reward = int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())
        state = auto.learn(state, context, action, reward)
        history = appended(history, context, action, reward)
    refresh = banditsrl.compiled(auto).refresh

    def phi_t(explored: float, every: float, inside: list[bool]) -> list[bool]:
        """Phi_t after 100 rounds with these mean differences and deviation 0.1."""
        mean = np.array([explored, every])
        sums = (100.0, 100 * mean, 100 * (0.1**2 + mean**2), 100.0)
        trial = Trial(*[jnp.broadcast_to(jnp.asarray(value), (2,)) for value in sums])
        told = state._replace(trial=trial, active=jnp.asarray(inside))
        after = refresh(told, history, jax.random.key(2))
        assert np.allclose(after.trial.n, 50.0)
        return list(after.active.tolist())

    # two standard errors are 0.02; of all rounds 0.05 of the other's error (1) besides
    assert phi_t(-0.021, 0.069, [True, False]) == [False, True]
    assert phi_t(-0.019, 0.069, [True, False]) == [True, True]
    assert phi_t(0.9, 0.069, [False, True]) == [False, True]  # once out, out
    assert phi_t(-0.9, 0.071, [False, True]) == [True, False]  # until the network leaves


@double
def test_columns_are_standardised_by_what_was_seen_and_the_rounds_embedded_again(
    problem: banditsrl.FiniteProblem, auto: BanditSRLAuto
) -> None:
    explorer = auto.explorer
    state, history = explorer.init(jax.random.key(0)), allocate(jnp.int32(0), 64)
    rng = np.random.default_rng(4)
    seen = []
    for _ in range(30):
        context, action, reward = int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())
        state = explorer.learn(state, context, action, reward)
        history = appended(history, context, action, reward)
        seen.append((context, action, reward))
    state = banditsrl.compiled(explorer).refresh(state, history, jax.random.key(0))
    x = np.array([problem.representations[0].features[c, 0, :2] for c, _, _ in seen])
    np.testing.assert_allclose(state.scaling.mean, x.mean(0), rtol=1e-9)
    np.testing.assert_allclose(state.scaling.deviation, x.std(0), rtol=1e-9)
    for a in range(5):
        psi = np.array([explorer.wide.embed(state.scaling, c)[a] for c, b, _ in seen if b == a])
        y = np.array([reward for _, b, reward in seen if b == a])
        V = explorer.lam * np.eye(explorer.wide.dim) + psi.T @ psi
        np.testing.assert_allclose(state.blocks.theta[a], np.linalg.solve(V, psi.T @ y), rtol=1e-7)


def test_it_learns_wheel_sooner_than_its_network_alone() -> None:
    problem = banditsrl.make_problem("wheel")
    auto = banditsrl.make_policy("banditsrl-auto", problem, layers=(8, 4), n_features=64)
    result = banditsrl.simulate(problem, auto, horizon=1000, seeds=[0, 1])
    assert result.mean[-1] < 100  # uniform play costs about 310
    assert set(result.reports) == {"representation", "active", "loss", "lambda_min"}
