"""A small portfolio, a state of it after some rounds, and its predictions by plain NumPy."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import banditsrl
from banditsrl.core.history import History, append_round, empty_history
from banditsrl.policies.banditsrl_auto import AutoState, BanditSRLAuto
from banditsrl.selection.twin_certificate import Errors

SMALL = {"layers": (8, 4), "n_features": 10, "passes": 2, "n_trees": 4, "depth": 2}
A, E = 3, 5
KEY = jax.random.key(0)
STREAM = banditsrl.Stream(2, A)


@functools.cache
def make_auto() -> BanditSRLAuto:
    """The portfolio of the tests."""
    policy: BanditSRLAuto = banditsrl.make_policy("banditsrl-auto", STREAM, drift=None, **SMALL)
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


@functools.cache
def make_life() -> Life:
    """Rounds that were played at random, some of them marked as certified."""
    auto = make_auto()
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
    unexplored: Any  # (A,) scarcity that widens exploration
    scarcity: Any  # (A,) scarcity that prevents certificates


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
    walks = [walk(state.trees, k, z) for k in range(2)]
    trees = np.array([predicted for predicted, _ in walks]) + anchor
    near, alike = (sum(rows[k] for _, rows in walks) for k in range(2))  # (T, A) each
    nets = np.array([forward(auto, state, k, z) for k in range(2)]) + anchor
    twins = np.stack([np.stack([values[0], trees[k], nets[k]]) for k in range(2)])
    predictions = np.vstack([values, trees.mean(0), nets.mean(0)])
    shares = np.asarray(state.trees.shares).mean(axis=0)
    found = []
    for trusted in (1.0, 0.5):
        known = (trusted * shares[:, None] / np.sqrt(1 + alike)).sum(axis=0)
        unknown = (1 - trusted * shares.sum()) * (1 / np.sqrt(1 + near)).mean(axis=0)
        found.append((known + unknown) ** 2)
    return Direct(predictions, norms, twins, *found)


def walk(trees: Any, k: int, z: Any) -> Any:
    """What a twin forest predicts, tree by tree, and its rows: those in the leaf, those alike."""
    which, cuts, values, base, masses, alike, _ = (np.asarray(leaf)[k] for leaf in trees)
    total, rows = base.copy(), []
    for t in range(len(which)):
        leaf = 0
        for column, cut in zip(which[t], cuts[t], strict=True):
            leaf = 2 * leaf + int(z[column] >= cut)
        total += values[t, leaf]
        rows.append([masses[t, leaf], alike[t, leaf]])
    return total, np.array(rows, dtype=float).transpose(1, 0, 2)


def forward(auto: BanditSRLAuto, state: AutoState, k: int, z: Any) -> Any:
    """What one of the twin networks predicts, in units of rewards."""
    weights, theta = jax.tree.map(
        lambda leaf: leaf[k], (state.networks.weights, state.networks.ridge.theta)
    )
    phi = auto.networks.learner.network.at(weights).embed(jnp.asarray(z, dtype=jnp.float32))
    return float(state.location) + float(state.scale) * (np.asarray(phi) @ np.asarray(theta))


CONTEXTS = np.random.default_rng(8).normal(size=(12, 2))


def find_width(auto: BanditSRLAuto, state: AutoState, direct: Direct) -> Any:
    """The width of optimism, in units of the error on unseen rewards."""
    n, mixture = float(state.errors.n), float(state.errors.mixture)
    deviation = float(state.explorer.rewards.deviation)
    unit = min(np.sqrt(mixture / n * (1 + 2 * np.sqrt(2 / n))), deviation) if n else deviation
    width = auto.explorer.ucb_scale * np.asarray(state.explorer.weights) @ direct.norms
    return unit * (width + auto.near_scale * np.sqrt(direct.unexplored))


def make_sums(
    n: float, mixture: float, excess: float, deviation: float, doubt: float, spread: float = 1.0
) -> Errors:
    """Sums over n rounds with these means, and this deviation of the excess."""
    means = (1.0, mixture, excess, excess**2 + deviation**2, doubt, spread)
    return Errors(*(jnp.asarray(n * value) for value in means))
