"""Are blocks computed as if the embedding were written out? It is, here, on small logs."""

import numpy as np
import pytest
from numpy.typing import NDArray

from banditsrl.theory.block_features import (
    choose_greedy,
    count_rank,
    fit_blocks,
    fit_residuals,
    measure_blocks,
    rows_by_action,
)
from banditsrl.theory.column_scales import fit_least_squares, rank_of
from banditsrl.theory.log_diagnosis import diagnose_log

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

N_ACTIONS = 4


def write_out(psi: Floats, n_actions: int) -> Floats:
    """Return the whole embedding, (n, A, A k), entry by entry."""
    n, k = psi.shape
    table = np.zeros((n, n_actions, n_actions * k))
    for t in range(n):
        for a in range(n_actions):
            table[t, a, a * k : (a + 1) * k] = psi[t]
    return table


def rounds(seed: int, n: int = 120) -> tuple[Floats, Ints, Floats]:
    """Return psi with a repeated column and a rare flag, unevenly played actions, and rewards."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    psi = np.column_stack([np.ones(n), x, 3.0 * x[:, 0] - x[:, 1], 1e5 * (rng.random(n) < 0.05)])
    actions = rng.choice(N_ACTIONS, n, p=[0.6, 0.3, 0.1, 0.0])
    rewards = x[:, 0] * (actions - 1.0) + 0.2 * rng.normal(size=n)
    return psi, actions, rewards


@pytest.mark.parametrize("seed", range(4))
def test_spectra_and_ranks_are_those_of_the_embedding_written_out(seed: int) -> None:
    psi, actions, rewards = rounds(seed)
    table = write_out(psi, N_ACTIONS)
    _, found = diagnose_log({"whole": table}, actions, rewards)
    whole = found["whole"]
    greedy = np.random.default_rng(seed).integers(0, N_ACTIONS, len(psi))
    spectra = measure_blocks(psi, actions, greedy, n_actions=N_ACTIONS)
    assert (spectra.rank, spectra.played_rank) == (whole.rank, whole.played_rank)
    assert spectra.rank == 4 * N_ACTIONS  # one of the five columns repeats others
    np.testing.assert_allclose(spectra.played, whole.played, atol=1e-9 * whole.played.max())
    chosen = table[np.arange(len(psi)), greedy]
    moment = sum(np.outer(row, row) for row in chosen) / len(psi)
    np.testing.assert_allclose(
        spectra.greedy, np.linalg.eigvalsh(moment).clip(0.0), atol=1e-9 * np.trace(moment)
    )
    assert spectra.greedy_rank == rank_of(chosen)
    assert pytest.approx(whole.L) == spectra.L


@pytest.mark.parametrize("seed", range(4))
def test_residuals_are_those_of_least_squares_on_the_whole(seed: int) -> None:
    psi, actions, rewards = rounds(seed)
    played = write_out(psi, N_ACTIONS)[np.arange(len(psi)), actions]
    theta, rank = fit_least_squares(played, rewards)
    residuals, freedom = fit_residuals(psi, actions, rewards, n_actions=N_ACTIONS)
    assert freedom == len(psi) - rank
    np.testing.assert_allclose(residuals, rewards - played @ theta, atol=1e-8)


def test_ridge_fits_are_those_of_the_normal_equations_of_the_whole() -> None:
    psi, actions, rewards = rounds(9)
    played = write_out(psi, N_ACTIONS)[np.arange(len(psi)), actions]
    whole = np.linalg.inv(played.T @ played + 0.3 * np.eye(played.shape[1]))
    theta = whole @ played.T @ (rewards - 1.5)
    fit = fit_blocks(psi, actions, rewards, n_actions=N_ACTIONS, lam=0.3, location=1.5)
    np.testing.assert_allclose(fit.theta.ravel(), theta, atol=1e-8)
    assert (fit.theta[3] == 0.0).all()  # never played
    assert fit.predict(psi)[:, 3].tolist() == [1.5] * len(psi)


def test_only_available_actions_count() -> None:
    psi, actions, _ = rounds(3)
    available = np.ones((len(psi), N_ACTIONS), dtype=bool)
    available[:, 2] = False
    available[:3, 2] = True  # three rounds reach three of four directions at most
    values = np.tile([0.0, 1.0, 9.0, 2.0], (len(psi), 1))
    greedy = choose_greedy(values, available)
    assert greedy.tolist() == [2] * 3 + [3] * (len(psi) - 3)
    spectra = measure_blocks(psi, actions, greedy, n_actions=N_ACTIONS, available=available)
    allowed = write_out(psi, N_ACTIONS)[available]
    assert spectra.rank == rank_of(allowed) == 3 * 4 + 3


def test_rounds_are_grouped_by_action_in_their_order() -> None:
    groups = rows_by_action(np.array([2, 0, 2, 2, 0]), 4)
    assert [group.tolist() for group in groups] == [[1, 4], [], [0, 2, 3], []]


def test_no_rounds_span_nothing() -> None:
    psi = np.ones((3, 2))
    assert count_rank(psi, [np.array([], dtype=np.int64)]) == 0
    assert count_rank(np.zeros((3, 2)), [np.arange(3)]) == 0
