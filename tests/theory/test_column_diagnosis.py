"""Are candidates made from columns judged rightly? Truths are chosen, and sums are done by hand."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from banditsrl.theory import column_diagnosis
from banditsrl.theory.column_candidates import (
    ColumnCandidate,
    ColumnRounds,
    FixedCandidate,
    LeafCandidate,
    list_candidates,
)
from banditsrl.theory.column_diagnosis import (
    LAM,
    N_FOLDS,
    ColumnDiagnosis,
    deal_parts,
    diagnose_columns,
    held_out_squares,
)
from banditsrl.theory.log_diagnosis import Noise

Floats = NDArray[np.float64]

N, N_COLUMNS, N_ACTIONS, NOISE = 1500, 3, 2, 0.3


def deal(seed: int) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return contexts with very different units, actions, and noise."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(N, N_COLUMNS)) * [1.0, 1e4, 1e-3] + [0.0, 5e4, 0.0]
    return contexts, rng.integers(0, N_ACTIONS, N), NOISE * rng.normal(size=N)


def standardise(contexts: Floats) -> Floats:
    return (contexts - [0.0, 5e4, 0.0]) / [1.0, 1e4, 1e-3]


@pytest.fixture(scope="module")
def linear() -> tuple[Noise, dict[str, ColumnDiagnosis]]:
    contexts, actions, noise = deal(0)
    z = standardise(contexts)
    rewards = np.where(actions == 0, z[:, 0] + 7.0, 7.5 - z[:, 1]) + noise
    return diagnose_columns(ColumnRounds(contexts, actions, rewards, N_ACTIONS), n_rounds=10 * N)


@pytest.fixture(scope="module")
def jumping() -> tuple[Noise, dict[str, ColumnDiagnosis]]:
    """Rewards with thresholds in two columns together, and every round five times."""
    contexts, actions, noise = deal(1)
    contexts[:, 1:] = np.round(standardise(contexts)[:, 1:])
    contexts, actions = (np.repeat(part[: N // 5], 5, axis=0) for part in (contexts, actions))
    both = ((contexts[:, 0] > 0.0) & (contexts[:, 1] > 0.0)).astype(float)
    rewards = np.where(actions == 0, 2.0 * both, 1.0 - both) + noise
    return diagnose_columns(ColumnRounds(contexts, actions, rewards, N_ACTIONS))


def test_linear_rewards_are_explained_by_the_columns(
    linear: tuple[Noise, dict[str, ColumnDiagnosis]],
) -> None:
    noise, found = linear
    assert noise.source == "best"
    assert noise.variance == pytest.approx(NOISE**2, rel=0.1)
    assert list(found) == ["constant", "columns", "waves", "steps", "products", "leaves"]
    assert found["constant"].logged.realizable is False
    assert found["columns"].logged.realizable
    assert found["leaves"].logged.realizable is None  # fitted to rewards, so it was not tested
    errors = {name: one.logged.error for name, one in found.items()}
    assert min(errors, key=errors.__getitem__) == "columns"
    assert errors["columns"] == pytest.approx(NOISE**2, rel=0.1)
    assert errors["constant"] == pytest.approx(1.0 + NOISE**2, rel=0.15)
    assert all(one.logged.error == one.held_out.mean() for one in found.values())


def test_forecasts_count_the_whole_log_and_leave_out_what_was_fitted_to_rewards(
    linear: tuple[Noise, dict[str, ColumnDiagnosis]],
) -> None:
    _, found = linear
    assert found["leaves"].forecast is None
    forecast = found["columns"].forecast
    assert forecast is not None
    assert forecast.n == 10 * N
    assert forecast.certified > 0.3


def test_thresholds_are_found_by_trees_only(
    jumping: tuple[Noise, dict[str, ColumnDiagnosis]],
) -> None:
    noise, found = jumping
    assert noise.source == "repeats"
    assert noise.freedom == N - N // 5
    assert noise.variance == pytest.approx(NOISE**2, rel=0.1)
    errors = {name: one.logged.error for name, one in found.items()}
    assert min(errors, key=errors.__getitem__) == "leaves"
    assert found["columns"].logged.realizable is False


def test_a_sum_by_hand_gives_the_same_errors() -> None:
    """Every round is predicted by normal equations of the whole embedding on other rounds."""
    rng = np.random.default_rng(5)
    n, k = 60, 3
    psi = np.column_stack([np.ones(n), rng.normal(size=(n, k - 1))])
    actions = rng.integers(0, N_ACTIONS, n)
    rewards = 4.0 + psi[:, 1] * actions + 0.1 * rng.normal(size=n)
    played = np.zeros((n, N_ACTIONS * k))
    for t, a in enumerate(actions):
        played[t, a * k : (a + 1) * k] = psi[t]
    parts = deal_parts(n)
    assert np.bincount(parts).tolist() == [n // N_FOLDS] * N_FOLDS
    expected = np.empty(n)
    for t in range(n):
        others = np.flatnonzero(parts != parts[t])
        mean = sum(rewards[s] for s in others) / len(others)
        V = LAM * np.eye(N_ACTIONS * k) + sum(np.outer(played[s], played[s]) for s in others)
        b = sum(played[s] * (rewards[s] - mean) for s in others)
        expected[t] = (rewards[t] - mean - played[t] @ np.linalg.inv(V) @ b) ** 2
    rounds = ColumnRounds(psi, actions, rewards, N_ACTIONS)
    found = held_out_squares(FixedCandidate("psi", psi), rounds)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_trees_never_see_the_rounds_that_judge_them() -> None:
    contexts, actions, noise = deal(2)
    seen = np.arange(N) % 3 > 0
    first = LeafCandidate(ColumnRounds(contexts, actions, noise, N_ACTIONS)).embed(seen)
    changed = np.where(seen, noise, 1e3)
    second = LeafCandidate(ColumnRounds(contexts, actions, changed, N_ACTIONS)).embed(seen)
    np.testing.assert_array_equal(first.psi, second.psi)
    assert first.base is not None
    assert second.base is not None
    np.testing.assert_array_equal(first.base, second.base)
    np.testing.assert_allclose((first.psi**2).sum(axis=1), 1.0)


def test_products_are_left_out_where_there_would_be_too_many() -> None:
    """22 columns have 1 + 22 + 253 = 276 features with their products."""
    rng = np.random.default_rng(3)
    contexts = rng.normal(size=(40, 22))
    rounds = ColumnRounds(contexts, rng.integers(0, 2, 40), rng.normal(size=40), 2)
    candidates = {one.name: one for one in list_candidates(rounds)}
    assert "products" not in candidates
    everything = np.ones(40, dtype=bool)
    plain = candidates["columns"].embed(everything).psi
    assert plain.shape == (40, 23)
    for j in range(22):  # standardised columns are cut off at five deviations, which none reaches
        assert abs(np.corrcoef(plain[:, 1 + j], contexts[:, j])[0, 1]) == pytest.approx(1.0)


def test_products_hold_every_pair_of_columns() -> None:
    rng = np.random.default_rng(4)
    contexts = rng.normal(size=(30, 3))
    rounds = ColumnRounds(contexts, rng.integers(0, 2, 30), rng.normal(size=30), 2)
    candidates = {one.name: one for one in list_candidates(rounds)}
    everything = np.ones(30, dtype=bool)
    plain = candidates["columns"].embed(everything).psi
    found = candidates["products"].embed(everything).psi
    expected = [[1.0, *row, *_multiply(row)] for row in plain[:, 1:].tolist()]
    np.testing.assert_allclose(found, expected)


def _multiply(row: list[float]) -> list[float]:
    return [row[i] * row[j] for i in range(len(row)) for j in range(i, len(row))]


def test_few_rounds_leave_the_noise_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_diagnosis, "list_candidates", _list_constant)
    rng = np.random.default_rng(6)
    rounds = ColumnRounds(rng.normal(size=(12, 1)), np.arange(12) % 2, rng.normal(size=12), 2)
    noise, found = diagnose_columns(rounds)
    assert np.isnan(noise.variance)
    assert found["constant"].logged.realizable is None
    assert found["constant"].forecast is None


def _list_constant(rounds: ColumnRounds) -> Iterator[ColumnCandidate]:
    yield FixedCandidate("constant", np.ones((len(rounds.rewards), 1)))
