"""WideUCB: is its index the formula, and how are its embeddings scaled and weighed?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import History, append_round, empty_history
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.wide_ucb import WideUCB
from banditsrl.representations.wide import Wide
from banditsrl.selection.stacking import fade, fit_weights

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


def embed(explorer: WideUCB, state: Any, k: int, context: Any) -> Any:
    """Embedding k of a context at its current scaling, (A, dim)."""
    return np.asarray(explorer.wides[k].at(state.learners[k].scaling).embed(context))


def solve(explorer: WideUCB, state: Any, k: int, a: int, rounds: Any) -> tuple[Any, Any]:
    """V of one action in embedding k and theta of what is left of the mean reward."""
    mean = np.mean([y for _, _, y in rounds])
    V = explorer.lam * np.eye(explorer.wides[k].dim)
    b = np.zeros(len(V))
    for x, action, y in rounds:
        if action == a:
            psi = embed(explorer, state, k, x)[a]
            V += np.outer(psi, psi)
            b += (y - mean) * psi
    return V, np.linalg.solve(V, b)


def learn_rounds(policy: WideUCB, rounds: Any) -> tuple[Any, History]:
    """State and history after the rounds, before any phase has ended."""
    learn, state = banditsrl.compiled(policy).learn, policy.init(KEY)
    history = empty_history(jnp.asarray(rounds[0][0]), len(rounds))
    for x, a, y in rounds:
        state, history = learn(state, x, a, y), append_round(history, x, a, y)
    return state, history


@in_float64
@pytest.mark.parametrize("location", [0.0, 500.0])
def test_the_largest_weighted_index_is_played(explorer: WideUCB, location: float) -> None:
    """Ridge regressions of the rewards minus their mean, and widths in their deviations."""
    act = banditsrl.compiled(explorer).act
    rounds = [(x, a, location + 3.0 * y) for x, a, y in draw_rounds(40, seed=6)]
    state, _ = learn_rounds(explorer, rounds)
    weights = np.array([0.7, 0.3])
    state = state._replace(weights=jnp.asarray(weights))
    rewards = np.array([y for _, _, y in rounds])
    solved = [[solve(explorer, state, k, a, rounds) for a in range(5)] for k in range(2)]
    mask = np.array([True, False, True, True, True])
    for x in range(10):
        value, width = np.full(5, rewards.mean()), np.zeros(5)
        for k in range(2):
            psi = embed(explorer, state, k, x)
            for a in range(5):
                V, theta = solved[k][a]
                norm = np.sqrt(psi[a] @ np.linalg.solve(V, psi[a]))
                value[a] += weights[k] * (psi[a] @ theta)
                width[a] += weights[k] * explorer.ucb_scale * rewards.std() * norm
        np.testing.assert_allclose(explorer.predict(state, x), value, rtol=1e-9)
        index = value + width
        choice = act(state, x, None, KEY)
        assert int(choice.action) == index.argmax()
        assert np.array_equal(choice.pmf, np.arange(5) == index.argmax())
        assert not choice.certified
        assert int(act(state, x, mask, KEY).action) == np.where(mask, index, -np.inf).argmax()


@in_float64
def test_errors_made_before_the_reward_are_stacked_unless_a_round_is_certified(
    explorer: WideUCB,
) -> None:
    learn = banditsrl.compiled(explorer).learn
    state, errors, rounds = explorer.init(KEY), np.zeros((2, 2)), draw_rounds(12, seed=7)
    for i, (x, a, y) in enumerate(rounds):
        e = np.full(2, rounds[0][2] - y)  # before the first reward, that reward is predicted
        if i:
            mean = np.mean([reward for _, _, reward in rounds[:i]])
            for k in range(2):
                _, theta = solve(explorer, state, k, a, rounds[:i])
                e[k] = mean + embed(explorer, state, k, x)[a] @ theta - y
        certified = i % 3 == 0
        errors += 0.0 if certified else np.outer(e, e)
        state = learn(state, x, a, y, certified)
    np.testing.assert_allclose(state.stack.errors, errors, rtol=1e-9)
    np.testing.assert_allclose(state.weights, [0.5, 0.5])  # until the phase ends
    after = banditsrl.compiled(explorer).refresh(state, empty_history(jnp.int32(0), 1), KEY)
    np.testing.assert_allclose(after.weights, fit_weights(state.stack), rtol=1e-9)
    np.testing.assert_allclose(after.stack.errors, fade(state.stack).errors)


def check_statistics(policy: WideUCB, state: Any, rounds: Any) -> None:
    """Every regression is that of all rounds in the current scaling."""
    for k, (_, blocks) in enumerate(state.learners):
        for a in range(policy.wides[k].n_actions):
            psi = np.array([embed(policy, state, k, x)[a] for x, b, _ in rounds if b == a])
            y = np.array([reward - rounds[0][2] for _, b, reward in rounds if b == a])
            V = policy.lam * np.eye(policy.wides[k].dim) + psi.T @ psi
            np.testing.assert_allclose(blocks.V[a], V, rtol=1e-9, atol=1e-12)
            theta = np.linalg.solve(V, psi.T @ y)
            np.testing.assert_allclose(blocks.theta[a], theta, rtol=1e-7, atol=1e-9)


@in_float64
def test_columns_are_scaled_by_what_was_seen_and_the_rounds_embedded_again(
    problem: banditsrl.FiniteProblem, explorer: WideUCB
) -> None:
    rounds = draw_rounds(30, seed=4)
    state, history = learn_rounds(explorer, rounds)
    assert not state.is_scaled
    state = banditsrl.compiled(explorer).refresh(state, history, KEY)
    assert state.is_scaled
    x = np.array([problem.representations[0].features[c, 0, :2] for c, _, _ in rounds])
    low, median, high = np.sort(x, axis=0)[[4, 15, 25]]  # 16, 50 and 84 percent of 30
    for scaling, _ in state.learners:
        np.testing.assert_allclose(scaling.centre, median, rtol=1e-12)
        np.testing.assert_allclose(scaling.deviation, (high - low) / 2.0, rtol=1e-9)
    check_statistics(explorer, state, rounds)


def draw_stream(n: int, *, shift: int | None = None) -> list[tuple[Any, int, float]]:
    """Rounds of two columns; the second one is constant, from round `shift` on it is the reward."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(n, 2))
    late = np.arange(n) >= (n if shift is None else shift)
    x[:, 1] = np.where(late, x[:, 1], 4.0)
    actions = rng.integers(2, size=n)
    y = np.where(late, np.where(actions == 0, 1.0, -1.0) * x[:, 1], 0.0) + 0.1 * rng.normal(size=n)
    return [(x[t], int(actions[t]), float(y[t])) for t in range(n)]


@pytest.fixture(scope="module")
def disjoint() -> WideUCB:
    policy: WideUCB = banditsrl.make_policy("linucb-disjoint", banditsrl.Stream(2, 2), n_scaling=50)
    return policy


@in_float64
def test_the_scaling_settles_after_the_first_rounds_unless_it_is_wrong(disjoint: WideUCB) -> None:
    rounds = draw_stream(120, shift=0)
    learn, refresh = banditsrl.compiled(disjoint).learn, banditsrl.compiled(disjoint).refresh
    state, history = disjoint.init(KEY), empty_history(rounds[0][0], 120)
    centres = []
    for i, (x, a, y) in enumerate(rounds, start=1):
        state, history = learn(state, x, a, y), append_round(history, x, a, y)
        if i in (20, 50, 120):
            state = refresh(state, history, KEY)
            centres.append(np.asarray(state.learners[0].scaling.centre))
    assert not np.allclose(centres[0], centres[1])
    np.testing.assert_array_equal(centres[1], centres[2])
    check_statistics(disjoint, state, rounds)


@in_float64
@pytest.mark.parametrize("n_known", [0, 80])
def test_a_version_that_was_put_back_learns_all_rounds_at_the_next_phase_end(
    disjoint: WideUCB, n_known: int
) -> None:
    """It is right about the rewards, too, and later rewards are counted from the same anchor."""
    rounds = [(x, a, 7.0 + y) for x, a, y in draw_stream(160, shift=0)]
    learn, refresh = banditsrl.compiled(disjoint).learn, banditsrl.compiled(disjoint).refresh
    state = disjoint.init(KEY)
    if n_known:
        state = refresh(*learn_rounds(disjoint, rounds[:n_known]), KEY)
    state = refresh(state, learn_rounds(disjoint, rounds[:150])[1], KEY)
    for x, a, y in rounds[150:]:
        state = learn(state, x, a, y)
    check_statistics(disjoint, state, rounds)
    rewards = np.array([y for _, _, y in rounds])
    assert state.rewards.n == 160
    np.testing.assert_allclose(state.rewards.anchor, rewards[0], rtol=1e-12)
    np.testing.assert_allclose(state.rewards.mean, rewards.mean() - rewards[0], rtol=1e-9)
    np.testing.assert_allclose(state.rewards.deviation, rewards.std(), rtol=1e-9)


@in_float64
def test_a_column_that_varies_late_is_noticed(disjoint: WideUCB) -> None:
    rounds = draw_stream(400, shift=100)
    learn, refresh = banditsrl.compiled(disjoint).learn, banditsrl.compiled(disjoint).refresh
    state, history = disjoint.init(KEY), empty_history(rounds[0][0], 400)
    for i, (x, a, y) in enumerate(rounds, start=1):
        state, history = learn(state, x, a, y), append_round(history, x, a, y)
        if i in (50, 100, 400):
            state = refresh(state, history, KEY)
            assert np.isinf(state.learners[0].scaling.deviation[1]) == (i <= 100)
    check_statistics(disjoint, state, rounds)
    for value in (-1.0, 1.0):
        best = int(np.argmax(disjoint.predict(state, np.array([0.0, value]))))
        assert best == (0 if value > 0 else 1)


@in_float64
def test_columns_are_scaled_by_a_log_of_more_rounds_than_scale_them(disjoint: WideUCB) -> None:
    rounds = [(1e3 * x, a, y) for x, a, y in draw_stream(170, shift=0)]
    contexts, actions, rewards = (np.array(part) for part in zip(*rounds, strict=True))
    log = {"contexts": contexts, "actions": actions, "rewards": rewards}
    state = banditsrl.Agent.from_log(disjoint, **log).state
    assert state.is_scaled
    deviation = np.asarray(state.learners[0].scaling.deviation)
    np.testing.assert_allclose(deviation, contexts.std(0), rtol=0.5)
    check_statistics(disjoint, state, rounds)
    # A log that is refreshed only once, at its end, is scaled by rounds spread over all of it.
    state, history = learn_rounds(disjoint, rounds)
    state = banditsrl.compiled(disjoint).refresh(state, history, KEY)
    sample = np.sort(contexts[np.arange(50) * 170 // 50], axis=0)
    np.testing.assert_allclose(state.learners[0].scaling.centre, sample[25], rtol=1e-12)
    check_statistics(disjoint, state, rounds)


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
    np.testing.assert_allclose(psi, np.tile(expected, (5, 1)), rtol=1e-6)  # columns are rounded


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
    message = r"wides must be .* of the same number of actions, got \[5, 5, 3\]"
    with pytest.raises(InvalidArgument, match=message):
        WideUCB((*explorer.wides, other))
    with pytest.raises(InvalidArgument, match=r"wides must be .* number of actions, got \[\]"):
        WideUCB(())
