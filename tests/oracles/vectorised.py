"""How fast can NumPy be? The same two algorithms, for all seeds at once along the first axis.

The only loop is the one over time. V^-1 is updated by the Sherman-Morrison formula, and the test,
the widths and the update share V^-1 phi and phi.theta of all actions. Thresholds are computed for a
whole phase beforehand, and regret is summed afterwards from the actions. At a phase end, rounds
with the same context and action are counted together, and each candidate is decomposed for all
seeds at once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import Outcome

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NEWTON_STEPS = 60
"""Limit on the steps for the secular equation, which usually takes six."""

NULL_EIGENVALUE = 1e-12
"""Eigenvalues below this share of the largest count as zero."""

RADIUS_TOLERANCE = 1e-13
"""A norm that exceeds the radius by at most this share counts as equal to it."""


class Run(NamedTuple):
    """Contexts, noises, actions and rewards of a run, (T, S) each; the means are (X, A)."""

    means: Floats
    contexts: Integers
    noises: Floats
    actions: Integers
    rewards: Floats
    certified: NDArray[np.bool_]

    @property
    def regret(self) -> Floats:
        gaps = self.means.max(axis=1, keepdims=True) - self.means
        regret: Floats = gaps[self.contexts, self.actions].sum(axis=0)
        return regret


class Statistics(NamedTuple):
    """Ridge statistics of each seed's current representation, which are updated in place."""

    V_inverse: Floats  # (S, d, d)
    theta: Floats  # (S, d)
    log_det: Floats  # (S,) log det V - log det(lam I)


class Facts(NamedTuple):
    """Dimension and bounds of each seed's current representation, (S,) each."""

    dim: Floats
    L: Floats
    B: Floats


class Settings(NamedTuple):
    """Settings of both algorithms."""

    sigma: float
    lam: float
    delta: float


class Phase(NamedTuple):
    """Quantities that are constant during a phase."""

    facts: Facts
    steps: tuple[int, int]  # the first step, and one beyond the last
    levels: tuple[float, float]  # confidence levels of the test and of the base
    settings: Settings


class Spectra(NamedTuple):
    """Eigendecompositions of one candidate's Gram matrices, one per seed."""

    values: Floats  # (S, d) ascending
    vectors: Floats  # (S, d, d)
    b: Floats  # (S, d)


def linucb_glrt(
    features: Floats,
    means: Floats,
    contexts: Integers,
    noises: Floats,
    *,
    B: float,
    sigma: float,
    lam: float = 1.0,
    delta: float = 0.01,
) -> Outcome:
    """Run LinUCB with the likelihood ratio test; the arguments are those of `plain`."""
    n_steps, n_seeds = contexts.shape
    dim, settings = features.shape[2], Settings(sigma, lam, delta)
    run, each = _empty_run(means, contexts, noises), np.ones(n_seeds)
    facts = Facts(dim * each, np.linalg.norm(features, axis=-1).max() * each, B * each)
    statistics = _empty_statistics(n_seeds, dim, lam)
    phase = Phase(facts, (0, n_steps), (delta, delta), settings)
    _play(run, statistics, features, contexts, phase)
    used, nothing = np.zeros((1, n_seeds), dtype=np.int64), np.zeros((0, 1, n_seeds), dtype=bool)
    return Outcome(run.regret, run.certified.sum(axis=0), used, nothing)


def banditsrl_linucb(
    candidates: Sequence[Floats],
    means: Floats,
    contexts: Integers,
    noises: Floats,
    *,
    bounds: Sequence[float],
    first: Integers,
    sigma: float,
    lam: float = 1.0,
    delta: float = 0.01,
) -> Outcome:
    """Run BanditSRL with base LinUCB and loss eig; the arguments are those of `plain`."""
    n_steps, n_seeds = contexts.shape
    n_candidates, n_contexts = len(candidates), len(means)
    settings, run = Settings(sigma, lam, delta), _empty_run(means, contexts, noises)
    every = Facts(
        np.array([float(features.shape[2]) for features in candidates]),
        np.array([np.linalg.norm(features, axis=-1).max() for features in candidates]),
        np.array(bounds, dtype=float),
    )
    tables = _pad_tables(candidates)  # (M X, A, d)
    current, dim = np.asarray(first), tables.shape[2]
    statistics = _empty_statistics(n_seeds, dim, lam)
    used, active, start, end, j = [current], [], 0, 2, 0
    while start < n_steps:
        facts = Facts(*[fact[current] for fact in every])
        levels = delta / n_candidates, delta / (2.0 * (j + 1) ** 2) / n_candidates
        steps = start, min(end, n_steps)
        at = current * n_contexts + contexts[slice(*steps)]
        _play(run, statistics, tables, at, Phase(facts, steps, levels, settings))
        if end <= n_steps:
            spectra, yy = _decompose(candidates, run, end)
            kept = _find_compatible(spectra, yy, end, every, delta)  # (S, M)
            current = _choose_best_spectrum(spectra, kept, every)
            statistics = _rebuild_statistics(spectra, current, dim, lam)
            used.append(current)
            active.append(kept.T)
        start, end, j = end, 2 * end, j + 1
    sets = np.array(active, dtype=bool).reshape(-1, n_candidates, n_seeds)
    return Outcome(run.regret, run.certified.sum(axis=0), np.array(used), sets)


def _empty_run(means: Floats, contexts: Integers, noises: Floats) -> Run:
    return Run(
        means,
        contexts,
        noises,
        np.zeros(contexts.shape, dtype=np.int64),
        np.zeros(contexts.shape),
        np.zeros(contexts.shape, dtype=bool),
    )


def _empty_statistics(n_seeds: int, dim: int, lam: float) -> Statistics:
    inverse = np.repeat(np.eye(dim)[None] / lam, n_seeds, axis=0)
    return Statistics(inverse, np.zeros((n_seeds, dim)), np.zeros(n_seeds))


def _pad_tables(candidates: Sequence[Floats]) -> Floats:
    """Return all tables stacked, padded with zeros to the largest dimension, (M X, A, d)."""
    dim = max(features.shape[2] for features in candidates)
    wide = [np.pad(f, ((0, 0), (0, 0), (0, dim - f.shape[2]))) for f in candidates]
    return np.concatenate(wide)


def _play(
    run: Run,
    statistics: Statistics,
    tables: Floats,
    at: Integers,
    phase: Phase,
) -> None:
    """Play the rounds of a phase for all seeds; `at` (n, S) holds the rows of `tables` to use."""
    V_inverse, theta, log_det = statistics
    facts, steps, (test_level, base_level), (sigma, lam, _) = phase
    seeds = np.arange(len(theta))
    n = np.arange(*steps)[:, None]
    growth = facts.dim * np.log1p(n * facts.L**2 / (lam * facts.dim))
    beta = sigma * np.sqrt(2.0 * np.log(1.0 / test_level) + growth) + np.sqrt(lam) * facts.B
    squared_beta = (beta**2)[:, :, None]  # (n, S, 1)
    log_level, bias = 2.0 * np.log(1.0 / base_level), np.sqrt(lam) * facts.B

    for i, t in enumerate(range(*steps)):
        phi = tables.take(at[i], axis=0)  # (S, A, d)
        gains = phi @ V_inverse  # (S, A, d)
        products = gains @ phi.transpose(0, 2, 1)  # (S, A, A)
        squares = np.einsum("saa->sa", products)  # (S, A)  ||phi||^2_{V^-1}
        values = (phi @ theta[:, :, None])[:, :, 0]  # (S, A)

        greedy = values.argmax(axis=1)
        best = seeds, greedy
        gaps = values[best][:, None] - values
        distances = squares + squares[best][:, None] - 2.0 * products[best]  # squared, (S, A)
        passes = gaps * gaps > squared_beta[i] * distances
        passes[best] = True
        certified = passes.all(axis=1)

        width = sigma * np.sqrt(log_det + log_level) + bias
        ucb = values + width[:, None] * np.sqrt(squares)
        action = np.where(certified, greedy, ucb.argmax(axis=1))
        reward = run.means[run.contexts[t], action] + run.noises[t]

        played = seeds, action
        gain, square = gains[played], squares[played]  # (S, d), (S,)
        scaled_gain = gain / (1.0 + square)[:, None]
        V_inverse -= scaled_gain[:, :, None] * gain[:, None, :]
        theta += scaled_gain * (reward - values[played])[:, None]
        log_det += np.log1p(square)
        run.actions[t], run.rewards[t], run.certified[t] = action, reward, certified


def _decompose(candidates: Sequence[Floats], run: Run, t: int) -> tuple[list[Spectra], Floats]:
    """Return spectra and b of every candidate after t rounds, and sum y^2 (S,)."""
    n_seeds, n_cells = run.contexts.shape[1], run.means.size
    cells = run.contexts[:t] * run.means.shape[1] + run.actions[:t]
    places = (cells + n_cells * np.arange(n_seeds)).ravel()
    rewards = run.rewards[:t]
    counts = np.bincount(places, minlength=n_seeds * n_cells).reshape(n_seeds, 1, n_cells)
    sums = np.bincount(places, weights=rewards.ravel(), minlength=n_seeds * n_cells)
    spectra = []
    for features in candidates:
        flat = features.reshape(n_cells, -1)  # (X A, d)
        grams = (flat.T * counts) @ flat  # (S, d, d)
        spectra.append(Spectra(*np.linalg.eigh(grams), sums.reshape(n_seeds, -1) @ flat))
    return spectra, (rewards**2).sum(axis=0)


def _find_compatible(
    spectra: list[Spectra], yy: Floats, t: int, every: Facts, delta: float
) -> NDArray[np.bool_]:
    """Return the sets Phi_t, (S, M)."""
    dim = int(every.dim.max())
    missing = [((0, 0), (0, dim - s.b.shape[1])) for s in spectra]
    values = np.stack([np.pad(s.values, w) for s, w in zip(spectra, missing, strict=True)], axis=1)
    rotated = [(s.b[:, None] @ s.vectors)[:, 0] for s in spectra]
    c = np.stack([np.pad(r, w) for r, w in zip(rotated, missing, strict=True)], axis=1)  # (S, M, d)
    errors = (yy[:, None] + _minimise_in_ball(values, c, every.B)) / t
    logs = np.log(8.0 * len(spectra) ** 2 / delta) + 3.0 * np.log(t)
    offsets = (40.0 * (logs + every.dim * np.log(12.0 * every.L * every.B * t)) + 2.0) / t
    kept: NDArray[np.bool_] = errors <= (errors + offsets).min(axis=1, keepdims=True)
    return kept


def _minimise_in_ball(values: Floats, c: Floats, radius: Floats) -> Floats:
    """Return the minimum over ||z|| <= radius of z.diag(values).z - 2 z.c; inputs (S, M, d)."""
    present = values > NULL_EIGENVALUE * values.max(axis=2, keepdims=True)
    c, nu = np.where(present, c, 0.0), np.zeros(c.shape[:2])
    for _ in range(NEWTON_STEPS):  # Newton on 1 / ||z(nu)|| = 1 / radius
        shifted = np.where(present, values + nu[:, :, None], 1.0)
        z = c / shifted
        norm = np.sqrt((z * z).sum(axis=2))
        outside = norm > radius * (1.0 + RADIUS_TOLERANCE)
        if not outside.any():
            break
        slope = np.where(outside, (z * z / shifted).sum(axis=2), 1.0)
        nu = nu + np.where(outside, (norm / radius - 1.0) * norm**2 / slope, 0.0)
    change: Floats = (z * (values * z - 2.0 * c)).sum(axis=2)
    return change


def _choose_best_spectrum(
    spectra: list[Spectra], kept: NDArray[np.bool_], every: Facts
) -> Integers:
    """Return the candidate of Phi_t with the smallest -lambda_min / L^2, (S,)."""
    smallest = np.stack([s.values[:, 0] for s in spectra], axis=1)  # (S, M)
    chosen: Integers = np.where(kept, -smallest / every.L**2, np.inf).argmin(axis=1)
    return chosen


def _rebuild_statistics(
    spectra: list[Spectra], chosen: Integers, dim: int, lam: float
) -> Statistics:
    """Return the statistics of each seed's chosen candidate, padded to `dim`."""
    statistics = _empty_statistics(len(chosen), dim, lam)
    for m in np.unique(chosen):
        values, vectors, b = (part[chosen == m] for part in spectra[m])
        shifted, d = np.maximum(values, 0.0) + lam, values.shape[1]
        inverse = (vectors / shifted[:, None]) @ vectors.transpose(0, 2, 1)
        statistics.V_inverse[chosen == m, :d, :d] = inverse
        statistics.theta[chosen == m, :d] = (inverse @ b[:, :, None])[:, :, 0]
        statistics.log_det[chosen == m] = np.log(shifted / lam).sum(axis=1)
    return statistics
