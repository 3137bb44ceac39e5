"""What do the algorithms do, step by step? Written from the definitions, one seed after another.

Only V and b are kept from round to round. The inverse, the estimate and the determinant are
computed again in every round, and every minimum and maximum is a loop over actions.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import Outcome

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BISECTIONS = 200
"""More bisections than float64 has digits, so that the root is exact to the last digit."""


class Settings(NamedTuple):
    """Settings of both algorithms."""

    sigma: float
    lam: float
    delta: float


class Bounds(NamedTuple):
    """Bounds on the norms of the features and of the parameter."""

    L: float
    B: float


class Levels(NamedTuple):
    """Confidence levels of the test and of the base algorithm."""

    test: float
    base: float


class Representation(NamedTuple):
    """phi(x, a) = features[x, a] and the bound B on the parameter; L is the largest norm."""

    features: Floats  # (X, A, d)
    B: float

    @property
    def dim(self) -> int:
        return int(self.features.shape[2])

    @property
    def L(self) -> float:
        return float(np.linalg.norm(self.features, axis=-1).max())


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
    """Run LinUCB with the likelihood ratio test on one representation.

    Args:
        features: (X, A, d).
        means: Mean rewards, (X, A).
        contexts: Context of every round and seed, (T, S).
        noises: Noise that is added to the mean reward, (T, S).
        B: Bound on the norm of the parameter.
        sigma: Noise level.
        lam: Ridge regulariser.
        delta: Confidence level of the test and of the widths.
    """
    n_steps, n_seeds = contexts.shape
    representation = Representation(features, B)
    bounds, levels = Bounds(representation.L, B), Levels(delta, delta)
    settings = Settings(sigma, lam, delta)
    regret, certified = np.zeros(n_seeds), np.zeros(n_seeds, dtype=np.int64)
    for seed in range(n_seeds):
        V, b = lam * np.eye(representation.dim), np.zeros(representation.dim)
        for t in range(n_steps):
            x = contexts[t, seed]
            phi = features[x]
            action, sure = decide(phi, V, b, n=t, bounds=bounds, levels=levels, settings=settings)
            reward = means[x, action] + noises[t, seed]
            V = V + np.outer(phi[action], phi[action])
            b = b + reward * phi[action]
            regret[seed] += max(means[x]) - means[x, action]
            certified[seed] += sure
    nothing = np.zeros((0, 1, n_seeds), dtype=bool)
    return Outcome(regret, certified, np.zeros((1, n_seeds), dtype=np.int64), nothing)


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
    """Run BanditSRL with base LinUCB, loss eig, and phases that end at t = 2, 4, 8, ...

    Args:
        candidates: The features of every candidate, (X, A, d) each.
        means: Mean rewards, (X, A).
        contexts: Context of every round and seed, (T, S).
        noises: Noise that is added to the mean reward, (T, S).
        bounds: B of every candidate.
        first: The representation that each seed starts with, (S,).
        sigma: Noise level.
        lam: Ridge regulariser.
        delta: Confidence level, which is divided among candidates and phases.
    """
    phi_set = [Representation(f, B) for f, B in zip(candidates, bounds, strict=True)]
    settings = Settings(sigma, lam, delta)
    seeds = [
        _run_seed(phi_set, means, contexts[:, s], noises[:, s], m=int(m), settings=settings)
        for s, m in enumerate(first)
    ]
    regret, certified, used, active = zip(*seeds, strict=True)
    n_phases = len(used[0]) - 1
    return Outcome(
        np.array(regret),
        np.array(certified),
        np.array(used).T,
        np.array(active, dtype=bool).reshape(len(seeds), n_phases, -1).transpose(1, 2, 0),
    )


def _run_seed(
    phi_set: list[Representation],
    means: Floats,
    contexts: Integers,
    noises: Floats,
    *,
    m: int,
    settings: Settings,
) -> tuple[float, int, list[int], list[list[bool]]]:
    """Return the regret, certified rounds, representations used and sets Phi_t of one seed."""
    bounds = [Bounds(representation.L, representation.B) for representation in phi_set]
    actions, rewards = np.zeros(len(contexts), dtype=np.int64), np.zeros(len(contexts))
    V, b = settings.lam * np.eye(phi_set[m].dim), np.zeros(phi_set[m].dim)
    regret, certified, phase, phase_end = 0.0, 0, 0, 2
    used, active = [m], []
    for t, x in enumerate(contexts):
        phi = phi_set[m].features[x]
        delta_j = settings.delta / (2 * (phase + 1) ** 2)
        levels = Levels(settings.delta / len(phi_set), delta_j / len(phi_set))
        action, sure = decide(phi, V, b, n=t, bounds=bounds[m], levels=levels, settings=settings)
        actions[t], rewards[t] = action, means[x, action] + noises[t]
        V = V + np.outer(phi[action], phi[action])
        b = b + rewards[t] * phi[action]
        regret += max(means[x]) - means[x, action]
        certified += sure
        if t + 1 == phase_end:
            past = contexts[: t + 1], actions[: t + 1]
            played = [representation.features[past] for representation in phi_set]  # (t, d) each
            kept = find_compatible(phi_set, played, rewards[: t + 1], settings.delta)
            m = choose_best_spectrum(phi_set, played, kept)
            V = settings.lam * np.eye(phi_set[m].dim) + played[m].T @ played[m]
            b = played[m].T @ rewards[: t + 1]
            phase, phase_end = phase + 1, 2 * phase_end
            used.append(m)
            active.append(kept)
    return regret, certified, used, active


def decide(
    phi: Floats,
    V: Floats,
    b: Floats,
    *,
    n: int,
    bounds: Bounds,
    levels: Levels,
    settings: Settings,
) -> tuple[int, bool]:
    """Return the action for embeddings phi (A, d) after n samples, and whether the test passed."""
    dim, (sigma, lam, _), (L, B) = len(b), settings, bounds
    V_inverse = np.linalg.inv(V)
    theta = np.linalg.solve(V, b)
    greedy = int(np.argmax([phi_a @ theta for phi_a in phi]))

    ratio = np.inf
    for a in range(len(phi)):
        if a != greedy:
            difference = phi[greedy] - phi[a]
            distance = np.sqrt(difference @ V_inverse @ difference)
            ratio = min(ratio, difference @ theta / distance)
    growth = dim * np.log(1 + n * L**2 / (lam * dim))
    beta = sigma * np.sqrt(2 * np.log(1 / levels.test) + growth) + np.sqrt(lam) * B
    if ratio > beta:
        return greedy, True

    log_det = np.linalg.slogdet(V)[1] - dim * np.log(lam)
    width = sigma * np.sqrt(log_det + 2 * np.log(1 / levels.base)) + np.sqrt(lam) * B
    ucb = [phi_a @ theta + width * np.sqrt(phi_a @ V_inverse @ phi_a) for phi_a in phi]
    return int(np.argmax(ucb)), False


def find_compatible(
    phi_set: list[Representation], played: list[Floats], rewards: Floats, delta: float
) -> list[bool]:
    """Return which candidates are in Phi_t: errors up to the smallest error plus offset."""
    t, errors, limits = len(rewards), [], []
    for representation, features in zip(phi_set, played, strict=True):
        theta = fit_in_ball(features, rewards, representation.B)
        error = np.mean((features @ theta - rewards) ** 2)
        scale = 12 * representation.L * representation.B * t
        # log(8 |Phi|^2 scale^d t^3 / delta), without computing powers that overflow
        logs = np.log(8 * len(phi_set) ** 2 / delta) + representation.dim * np.log(scale)
        errors.append(error)
        limits.append(error + 40 / t * (logs + 3 * np.log(t)) + 2 / t)
    return [bool(error <= min(limits)) for error in errors]


def fit_in_ball(features: Floats, rewards: Floats, B: float) -> Floats:
    """Return argmin over ||theta|| <= B of sum (phi . theta - y)^2, by bisection on nu."""
    free = np.linalg.lstsq(features, rewards, rcond=None)[0]
    if np.linalg.norm(free) <= B:
        return free
    gram, b = features.T @ features, features.T @ rewards

    def solve(nu: float) -> Floats:
        return np.linalg.solve(gram + nu * np.eye(len(b)), b)

    low, high = 0.0, float(np.linalg.norm(b)) / B  # ||theta(nu)|| <= ||b|| / nu
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if np.linalg.norm(solve(middle)) > B else (low, middle)
    return solve(high)


def choose_best_spectrum(
    phi_set: list[Representation], played: list[Floats], active: list[bool]
) -> int:
    """Return the active candidate with the smallest -lambda_min(V - lam I) / L^2."""
    losses = [np.inf] * len(phi_set)
    for m, representation in enumerate(phi_set):
        if active[m]:
            smallest = np.linalg.eigvalsh(played[m].T @ played[m])[0]
            losses[m] = -smallest / representation.L**2
    return int(np.argmin(losses))
