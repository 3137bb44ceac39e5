"""WideUCB: is its index the formula, and how are its embeddings scaled and weighed?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import append_round, empty_history
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.representations.wide import Wide

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def problem() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("wheel", n_contexts=10)


@pytest.fixture(scope="module")
def explorer(problem: banditsrl.FiniteProblem) -> WideUCB:
    inputs = problem.representations[0]
    wides = tuple(Wide(inputs, kind=kind, n_features=10) for kind in ("waves", "steps"))
    return WideUCB(wides, ucb_scale=0.4, lam=0.2)


def draw_rounds(n: int, seed: int) -> list[tuple[int, int, float]]:
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())) for _ in range(n)]


def embed(explorer: WideUCB, state: Any, k: int, context: int) -> Any:
    """Embedding k of a context at its current scaling, (A, dim)."""
    return np.asarray(explorer.wides[k].at(state.learners[k].scaling).embed(context))


def solve(explorer: WideUCB, state: Any, k: int, a: int, rounds: Any) -> tuple[Any, Any]:
    """V and theta of one action in embedding k, from the rounds themselves."""
    played = [(embed(explorer, state, k, x)[a], y) for x, b, y in rounds if b == a]
    V = explorer.lam * np.eye(explorer.wides[k].dim)
    b = np.zeros(len(V))
    for psi, y in played:
        V += np.outer(psi, psi)
        b += y * psi
    return V, np.linalg.solve(V, b)


@in_float64
def test_the_largest_weighted_index_is_played(explorer: WideUCB) -> None:
    act, learn, _ = banditsrl.compiled(explorer)
    rounds, state = draw_rounds(40, seed=6), explorer.init(KEY)
    for x, a, y in rounds:
        state = learn(state, x, a, y)
    weights = np.array([0.7, 0.3])
    state = state._replace(weights=jnp.asarray(weights))
    solved = [[solve(explorer, state, k, a, rounds) for a in range(5)] for k in range(2)]
    mask = np.array([True, False, True, True, True])
    for x in range(10):
        index = np.zeros(5)
        for k in range(2):
            psi = embed(explorer, state, k, x)
            for a in range(5):
                V, theta = solved[k][a]
                norm = np.sqrt(psi[a] @ np.linalg.solve(V, psi[a]))
                index[a] += weights[k] * (psi[a] @ theta + 0.4 * norm)
        choice = act(state, x, None, KEY)
        assert int(choice.action) == index.argmax()
        assert np.array_equal(choice.pmf, np.arange(5) == index.argmax())
        assert not choice.certified
        assert int(act(state, x, mask, KEY).action) == np.where(mask, index, -9.0).argmax()


@in_float64
def test_predictions_made_before_the_reward_are_stacked_unless_a_round_is_certified(
    explorer: WideUCB,
) -> None:
    learn = banditsrl.compiled(explorer).learn
    state, gram, cross = explorer.init(KEY), np.eye(2), np.full(2, 0.5)
    for i, (x, a, y) in enumerate(draw_rounds(12, seed=7)):
        predicted = np.array([
            embed(explorer, state, k, x)[a] @ np.asarray(state.learners[k].blocks.theta[a])
            for k in range(2)
        ])  # fmt: skip
        certified = i % 3 == 0
        if not certified:
            gram, cross = gram + np.outer(predicted, predicted), cross + y * predicted
        state = learn(state, x, a, y, certified)
    np.testing.assert_allclose(state.stack.gram, gram, rtol=1e-10)
    np.testing.assert_allclose(state.stack.cross, cross, rtol=1e-10)
    np.testing.assert_allclose(state.weights, [0.5, 0.5])  # until the phase ends


@in_float64
def test_columns_are_standardised_by_what_was_seen_and_the_rounds_embedded_again(
    problem: banditsrl.FiniteProblem, explorer: WideUCB
) -> None:
    state, history = explorer.init(jax.random.key(0)), empty_history(jnp.int32(0), 64)
    rng = np.random.default_rng(4)
    seen = []
    for _ in range(30):
        context, action, reward = int(rng.integers(10)), int(rng.integers(5)), float(rng.normal())
        state = explorer.learn(state, context, action, reward)
        history = append_round(history, context, action, reward)
        seen.append((context, action, reward))
    state = banditsrl.compiled(explorer).refresh(state, history, jax.random.key(0))
    x = np.array([problem.representations[0].features[c, 0, :2] for c, _, _ in seen])
    for wide, (scaling, blocks) in zip(explorer.wides, state.learners, strict=True):
        np.testing.assert_allclose(scaling.mean, x.mean(0), rtol=1e-9)
        np.testing.assert_allclose(scaling.deviation, x.std(0), rtol=1e-9)
        for a in range(5):
            psi = np.array([wide.at(scaling).embed(c)[a] for c, b, _ in seen if b == a])
            y = np.array([reward for _, b, reward in seen if b == a])
            V = explorer.lam * np.eye(wide.dim) + psi.T @ psi
            np.testing.assert_allclose(blocks.theta[a], np.linalg.solve(V, psi.T @ y), rtol=1e-7)


@in_float64
def test_the_scaling_settles_after_the_first_rounds(problem: banditsrl.FiniteProblem) -> None:
    policy = WideUCB((Wide(problem.representations[0], n_features=4),), n_scaling=8)
    state, history = policy.init(KEY), empty_history(jnp.int32(0), 64)
    refresh = banditsrl.compiled(policy).refresh
    means = []
    for i, (x, a, y) in enumerate(draw_rounds(12, seed=9), start=1):
        state = policy.learn(state, x, a, y)
        history = append_round(history, x, a, y)
        if i in (4, 8, 12):
            state = refresh(state, history, KEY)
            means.append(np.asarray(state.learners[0].scaling.mean))
    assert not np.allclose(means[0], means[1])
    np.testing.assert_array_equal(means[1], means[2])


def test_linucb_disjoint_is_the_explorer_on_the_columns_alone(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = banditsrl.make_policy("linucb-disjoint", problem, ucb_scale=0.7, lam=2.0)
    assert (policy.ucb_scale, policy.lam) == (0.7, 2.0)
    with jax.enable_x64(True):
        (wide,) = policy.wides
        psi = wide.at(wide.init(jax.random.key(0))).embed(3)
    x = problem.representations[0].features[3, 0, :2]
    expected = np.concatenate([[1.0], x / np.sqrt(2.0)])
    np.testing.assert_allclose(psi, np.tile(expected, (5, 1)), rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ucb_scale": -1.0}, r"ucb_scale must be at least 0, got -1\.0"),
        ({"lam": 0.0}, r"lam must be greater than 0, got 0\.0"),
        ({"gamma": 1.0}, r"gamma must be greater than 1, got 1\.0"),
        ({"n_scaling": 0}, "n_scaling must be at least 1, got 0"),
    ],
)
def test_settings_outside_their_range_are_refused(
    explorer: WideUCB, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        WideUCB(explorer.wides, **settings)


def test_embeddings_must_have_one_number_of_actions(explorer: WideUCB) -> None:
    other = Wide(np.random.default_rng(0).normal(size=(4, 3, 2)), n_features=2)
    message = r"wides must be embeddings of one number of actions, got \[5, 5, 3\]"
    with pytest.raises(InvalidArgument, match=message):
        WideUCB((*explorer.wides, other))
    with pytest.raises(InvalidArgument, match=r"wides must be .* number of actions, got \[\]"):
        WideUCB(())
