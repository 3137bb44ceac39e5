"""Does the test pass when it is forecast to? Designs are written out, and tested with `glr`."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import banditsrl
from banditsrl.linear.bounds import beta
from banditsrl.numerics.precision import in_float64
from banditsrl.theory import log_designs
from banditsrl.theory.certificate_forecast import (
    DELTA,
    LAM,
    Forecast,
    forecast_certificates,
)
from banditsrl.theory.log_designs import BlockDesign, TableDesign, choose_contexts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIGMA, N, N_ACTIONS = 0.3, 600, 3


def rounds(seed: int, effects: Floats) -> tuple[Floats, Ints, Floats]:
    """Return vectors with a constant, actions, and rewards with one parameter per action."""
    rng = np.random.default_rng(seed)
    psi = np.column_stack([np.ones(N), rng.normal(size=(N, 2))])
    actions = rng.integers(0, N_ACTIONS, N)
    rewards = (psi * effects[actions]).sum(axis=1) + SIGMA * rng.normal(size=N)
    return psi, actions, rewards


EFFECTS = np.array([[0.0, 1.0, 0.0], [0.2, -1.0, 0.5], [-2.0, 0.0, 0.3]])


def write_out(psi: Floats) -> Floats:
    table = np.zeros((len(psi), N_ACTIONS, N_ACTIONS * psi.shape[1]))
    for a in range(N_ACTIONS):
        table[:, a, 3 * a : 3 * a + 3] = psi
    return table


@in_float64
def is_certified(table: Floats, actions: Ints, rewards: Floats, place: int, n: float) -> bool:
    """Test one context by `glr` after n rounds like those of the log, all matrices written out."""
    played = np.array([table[t, a] for t, a in enumerate(actions)])
    dim = played.shape[1]
    theta = np.linalg.inv(played.T @ played + LAM * np.eye(dim)) @ played.T @ rewards
    V = LAM * np.eye(dim) + n * played.T @ played / len(played)
    L = max(float(np.linalg.norm(phi)) for row in table for phi in row)
    known = {"dim": dim, "L": L, "B": float(np.linalg.norm(theta)), "lam": LAM}
    radius = float(beta(n, delta=DELTA, sigma=SIGMA, **known))
    return banditsrl.glr(table[place], theta, V=V) > radius


def test_the_test_passes_at_the_forecast_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_designs, "N_CONTEXTS", 40)
    psi, actions, rewards = rounds(0, EFFECTS)
    design = BlockDesign(psi, actions, rewards, n_actions=N_ACTIONS)
    places = choose_contexts(N)
    found = forecast_certificates(design, n=N, sigma=SIGMA)
    table = write_out(psi)
    finite = found.rounds[np.isfinite(found.rounds)]
    assert len(finite) > 20
    for n in finite[[0, 5, 15, -1]]:
        now = sum(is_certified(table, actions, rewards, int(x), n) for x in places)
        before = sum(is_certified(table, actions, rewards, int(x), n - 1) for x in places)
        too_close = round(found.too_close * 40)
        assert now - before >= 1
        assert 0 <= now - (found.rounds <= n).sum() <= too_close


def test_blocks_and_tables_give_the_same_forecast() -> None:
    psi, actions, rewards = rounds(1, EFFECTS)
    blocks = BlockDesign(psi, actions, rewards, n_actions=N_ACTIONS)
    table = TableDesign(write_out(psi), actions, rewards)
    assert (blocks.dim, blocks.L) == (table.dim, pytest.approx(table.L))
    assert pytest.approx(table.B) == blocks.B
    one, two = (forecast_certificates(d, n=N, sigma=SIGMA) for d in (blocks, table))
    assert one.too_close == two.too_close
    np.testing.assert_allclose(one.rounds, two.rounds, rtol=1e-6, atol=1.0)


def test_tied_actions_are_never_certified() -> None:
    """Actions 0 and 1 have the same parameter, and are the best everywhere."""
    tied = np.array([[1.0, 0.5, 0.0], [1.0, 0.5, 0.0], [-3.0, 0.0, 0.0]])
    psi, actions, rewards = rounds(2, tied)
    design = BlockDesign(psi, actions, rewards, n_actions=N_ACTIONS)
    found = forecast_certificates(design, n=N, sigma=SIGMA)
    assert math.isinf(found.more_rounds(0.9))
    assert found.too_close > 0.5
    assert found.certified == 0.0


def test_an_action_that_is_never_played_prevents_certificates() -> None:
    psi, actions, rewards = rounds(3, EFFECTS)
    actions = np.minimum(actions, 1)
    design = BlockDesign(psi, actions, rewards, n_actions=N_ACTIONS)
    assert np.isinf(forecast_certificates(design, n=N, sigma=SIGMA).rounds).all()


def test_an_unavailable_rival_does_not_prevent_certificates() -> None:
    psi, actions, rewards = rounds(3, EFFECTS)
    actions = np.minimum(actions, 1)
    available = np.tile([True, True, False], (N, 1))
    design = BlockDesign(psi, actions, rewards, n_actions=N_ACTIONS, available=available)
    assert np.isfinite(forecast_certificates(design, n=N, sigma=SIGMA).rounds).mean() > 0.5


def test_equal_embeddings_are_no_rivals() -> None:
    """The test ignores an action whose embedding is that of the greedy one."""
    psi, actions, rewards = rounds(4, EFFECTS)
    table = write_out(psi)
    doubled = np.concatenate([table, table[:, :1]], axis=1)  # action 3 is action 0 again
    one = forecast_certificates(TableDesign(table, actions, rewards), n=N, sigma=SIGMA)
    two = forecast_certificates(TableDesign(doubled, actions, rewards), n=N, sigma=SIGMA)
    np.testing.assert_allclose(one.rounds, two.rounds)


def test_less_noise_and_larger_gaps_need_fewer_rounds() -> None:
    psi, actions, rewards = rounds(5, EFFECTS)
    design = BlockDesign(psi, actions, rewards, n_actions=N_ACTIONS)
    loud, quiet = (forecast_certificates(design, n=N, sigma=s) for s in (0.6, 0.2))
    assert 2.0 * np.median(quiet.rounds) < np.median(loud.rounds)


def test_quantiles_count_contexts() -> None:
    found = Forecast(np.array([50.0, 100.0, 300.0, np.inf]), n=100, too_close=0.25)
    assert found.more_rounds(0.25) == 0.0
    assert found.more_rounds(0.5) == 0.0
    assert found.more_rounds(0.75) == 200.0
    assert math.isinf(found.more_rounds(0.9))
    assert found.certified == 0.5
