"""GLRT: when does its test pass, what is played then, and what does the base learn?"""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.errors import InvalidArgument, InvalidType

KEY = jax.random.key(4)


@pytest.fixture(scope="module")
def problem(three: banditsrl.FiniteProblem) -> banditsrl.FiniteProblem:
    """Three candidates will do here."""
    return three


def teach(policy: Any, problem: Any, n: int) -> Any:
    rng = np.random.default_rng(0)
    learn = banditsrl.compiled(policy).learn
    state = policy.init(KEY)
    for _ in range(n):
        x, a = int(rng.integers(20)), int(rng.integers(5))
        reward = problem.mean_rewards[x, a] + 0.3 * rng.normal()
        state = learn(state, x, a, reward)
    return state


@pytest.fixture(scope="module")
def certified(problem: banditsrl.FiniteProblem) -> tuple[Any, Any]:
    policy = banditsrl.GLRT(banditsrl.EpsilonGreedy(problem.representations[0], sigma=0.3))
    return policy, teach(policy, problem, 300)


def test_the_ratio_and_the_threshold_are_those_of_the_paper(
    certified: tuple[Any, Any], problem: banditsrl.FiniteProblem
) -> None:
    policy, state = certified
    candidate = problem.representations[0]
    L = np.linalg.norm(candidate.features, axis=-1).max()
    B = np.linalg.norm(problem.claims[0].theta)
    growth = 6 * math.log1p(300 * L**2 / 6)
    beta = 0.3 * math.sqrt(2 * math.log(100) + growth) + B
    for x in range(20):
        choice = policy.act(state, x, None, KEY)
        theta = np.linalg.solve(np.asarray(state.ridge.V), np.asarray(state.ridge.b))
        expected = banditsrl.glr(candidate.features[x], theta, V=np.asarray(state.ridge.V))
        assert float(choice.glr) == pytest.approx(expected, rel=1e-9)
        assert float(choice.threshold) == pytest.approx(beta, rel=1e-12)
        assert bool(choice.certified) == (expected > beta)


def test_the_radius_by_determinant_is_tighter(
    certified: tuple[Any, Any], problem: banditsrl.FiniteProblem
) -> None:
    by_trace, state = certified
    base = banditsrl.EpsilonGreedy(problem.representations[0], sigma=0.3)
    policy = banditsrl.GLRT(base, radius="determinant")
    _, log_det = np.linalg.slogdet(np.asarray(state.ridge.V))
    B = np.linalg.norm(problem.claims[0].theta)
    expected = 0.3 * math.sqrt(2 * math.log(100) + log_det) + B
    found = [float(one.act(state, 0, None, KEY).threshold) for one in (policy, by_trace)]
    assert found[0] == pytest.approx(expected, rel=1e-9)
    assert found[0] < found[1]
    with pytest.raises(InvalidArgument, match="radius must be one of trace, determinant, got 'r'"):
        banditsrl.GLRT(base, radius="r")


def test_a_certified_choice_has_probability_one_and_other_choices_explore(
    certified: tuple[Any, Any],
) -> None:
    policy, state = certified
    choices = [policy.act(state, x, None, KEY) for x in range(20)]
    sure = [c for c in choices if c.certified]
    assert 0 < len(sure) < 20
    for choice in sure:
        assert float(choice.pmf[int(choice.action)]) == 1.0
    for choice in choices:
        if not choice.certified:
            assert np.asarray(choice.pmf).min() > 0.0  # the base, epsilon-greedy, explores


@pytest.mark.parametrize("scale", [0, 0.0, None])
def test_a_scale_of_zero_switches_the_test_off(
    scale: float | None, problem: banditsrl.FiniteProblem
) -> None:
    base = banditsrl.EpsilonGreedy(problem.representations[0], sigma=0.3)
    policy = banditsrl.GLRT(base, glrt_scale=scale)
    state = teach(policy, problem, 300)
    assert not any(bool(policy.act(state, x, None, KEY).certified) for x in range(20))
    only = np.arange(5) == 2
    assert not policy.act(state, 0, only, KEY).certified


def test_a_single_available_action_is_certified(certified: tuple[Any, Any]) -> None:
    policy, state = certified
    choice = policy.act(state, 0, np.arange(5) == 3, KEY)
    assert bool(choice.certified)
    assert np.isinf(choice.glr)
    assert int(choice.action) == 3


def test_actions_with_equal_embeddings_count_as_one() -> None:
    features = np.ones((1, 3, 2))
    features[0, 2] = [1.0, -1.0]
    policy = banditsrl.GLRT(banditsrl.LinUCB(features, sigma=0.1))
    state = policy.init(KEY)
    for action, reward in [(0, 1.0), (1, 1.0), (2, -1.0)] * 200:
        state = policy.learn(state, 0, action, reward)
    choice = policy.act(state, 0, None, KEY)
    distance = np.linalg.norm(features[0, 0] - features[0, 2])
    assert np.isfinite(choice.glr)
    assert float(choice.glr) > distance
    assert np.isinf(policy.act(state, 0, [True, True, False], KEY).glr)


def test_the_scale_of_the_authors_conventions_is_inside_a_square_root(
    problem: banditsrl.FiniteProblem,
) -> None:
    base = banditsrl.EpsilonGreedy(problem.representations[0], sigma=0.3)
    policy = banditsrl.GLRT(base, glrt_scale=5.0, conventions="authors")
    state = teach(policy, problem, 50)
    L = np.linalg.norm(problem.representations[0].features, axis=-1).max()
    B = np.linalg.norm(problem.claims[0].theta)
    beta = 0.3 * math.sqrt(2 * math.log(100) + 6 * math.log1p(2 * 50 * L / 6)) + B
    found = float(policy.act(state, 0, None, KEY).threshold)
    assert found == pytest.approx(math.sqrt(2 * 5.0) * beta)


def test_a_decaying_level_raises_the_threshold(problem: banditsrl.FiniteProblem) -> None:
    base = banditsrl.LinUCB(problem.representations[0], sigma=0.3)
    plain, decaying = banditsrl.GLRT(base), banditsrl.GLRT(base, delta_decay=2.0)
    thresholds = []
    for policy in (plain, decaying):
        state = teach(policy, problem, 30)
        thresholds.append(float(policy.act(state, 0, None, KEY).threshold))
    L = np.linalg.norm(problem.representations[0].features, axis=-1).max()
    B = np.linalg.norm(problem.claims[0].theta)
    growth = 6 * math.log1p(30 * L**2 / 6)
    expected = 0.3 * math.sqrt(2 * math.log(100 * 31**2) + growth) + B
    assert thresholds[1] == pytest.approx(expected)
    assert thresholds[0] < thresholds[1]


class Counting:
    """An outside policy: counts what it is taught and always plays the last available action."""

    def init(self, key: Any) -> Any:
        return jnp.zeros((), dtype=jnp.int32)

    def act(self, state: Any, context: Any, mask: Any, key: Any) -> banditsrl.Choice:
        n = mask.shape[0]
        action = n - 1 - jnp.argmax(mask[::-1])
        return banditsrl.Choice.without_test(action, 1.0 * (jnp.arange(n) == action))

    def learn(self, state: Any, context: Any, action: Any, reward: Any) -> Any:
        return state + 1


def test_any_outside_policy_can_be_wrapped_and_learns_its_own_rounds_only(
    problem: banditsrl.FiniteProblem,
) -> None:
    policy = banditsrl.GLRT(Counting(), representation=problem.representations[0], sigma=0.3)
    result = banditsrl.simulate(problem, policy, horizon=1500, seeds=3, steps=[1500])
    not_certified = 1500 - result.certified[:, -1] - result.trivial[:, -1]
    assert np.array_equal(np.asarray(result.state.base), not_certified)
    assert (result.certified[:, -1] >= 0).all()
    assert "maps over seeds" in banditsrl.check_policy(policy, problem)


def test_settings_that_are_not_given_are_those_of_the_base(
    problem: banditsrl.FiniteProblem,
) -> None:
    base = banditsrl.LinUCB(problem.representations[0], sigma=0.7, lam=2.0, delta=0.2)
    assert banditsrl.GLRT(base).effective == (0.7, 2.0, 0.2, "paper")
    assert banditsrl.GLRT(base, sigma=0.1, lam=3.0).effective == (0.1, 3.0, 0.2, "paper")


def test_the_test_needs_a_representation_and_a_base_that_acts() -> None:
    with pytest.raises(InvalidArgument, match="representation must be given to GLRT when the base"):
        banditsrl.GLRT(Counting())
    message = r"base must have init, act, learn, got dict without init, act, learn\."
    with pytest.raises(InvalidType, match=message):
        banditsrl.GLRT({}, representation=np.ones((1, 2, 1)))
    message = r"base must be an object, got the class Counting itself\."
    with pytest.raises(InvalidType, match=message):
        banditsrl.GLRT(Counting, representation=np.ones((1, 2, 1)))
    with pytest.raises(InvalidArgument, match="glrt_scale must be at least 0, got -1"):
        banditsrl.GLRT(banditsrl.LinUCB(np.ones((1, 2, 1))), glrt_scale=-1)


@pytest.mark.parametrize("keeps_data", [True, False])
def test_a_base_with_phases_keeps_its_phases(keeps_data: bool) -> None:
    """BanditSRL looks at the history at the end of a phase, LEADER does not."""
    problem = banditsrl.make_problem("vardim-misspecified", seed=0)
    candidates = [problem.representations[k] for k in (0, 6, 8)]
    settings: dict[str, Any] = {"sigma": 0.3, "offset": "tight"}
    base: Any = banditsrl.Leader(candidates, **settings)
    if keeps_data:
        base = banditsrl.BanditSRL(candidates, base=banditsrl.LinUCB(), **settings)
    policy = banditsrl.GLRT(
        base, representation=problem.representations[1], sigma=0.3, glrt_scale=0.0
    )
    result = banditsrl.simulate(problem, policy, horizon=4_100, seeds=2)
    assert result.phases[:3].tolist() == [2, 4, 8]
    np.testing.assert_array_equal(np.asarray(result.state.base.active).T, [[1, 0, 0]] * 2)


@pytest.mark.parametrize("base", [banditsrl.LinUCB(), banditsrl.EpsilonGreedy()])
def test_statistics_of_a_base_that_keeps_its_own_do_not_drift(
    problem: banditsrl.FiniteProblem, base: Any
) -> None:
    policy = banditsrl.GLRT(
        base, representation=problem.representations[0], sigma=0.3, warm_start=False
    )
    with jax.enable_x64(True):
        state = policy.init(KEY)
        drifted = state.base._replace(root=1.5 * state.base.root)
        after = policy.refresh(state._replace(base=drifted), None, KEY)  # type: ignore[arg-type]
        np.testing.assert_allclose(after.base.root, state.base.root, rtol=1e-12)


@pytest.mark.parametrize("kind", ["linucb", "glrt-linucb", "banditsrl-linucb", "leader"])
@pytest.mark.parametrize(
    ("context", "action", "message"),
    [
        (20, 0, "context must be an index below 20, got 20"),
        (-1, 0, "context must be an index below 20, got -1"),
        ([1, 2], 0, r"context must be one index, got shape \(2,\)"),
        (None, 0, "context must be an integer index, got None"),
        (3, 5, "action must be an index below 5, got 5"),
        (3, -1, "action must be an index below 5, got -1"),
        (3, True, "action must be an integer index, got True"),
        (3, [1, 2], r"action must be one index, got shape \(2,\)"),
    ],
)
def test_a_context_or_action_that_does_not_exist_is_refused(
    problem: banditsrl.FiniteProblem, kind: str, context: Any, action: Any, message: str
) -> None:
    policy = banditsrl.make_policy(kind, problem)
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        policy.learn(policy.init(KEY), context, action, 0.5)


def test_switches_are_true_or_false(problem: banditsrl.FiniteProblem) -> None:
    with pytest.raises(InvalidType, match="warm_start must be True or False, got 'no'"):
        banditsrl.make_policy("banditsrl-linucb", problem, warm_start="no")
    with pytest.raises(InvalidType, match="eliminate must be True or False, got 'no'"):
        banditsrl.Leader(problem.representations, eliminate="no")  # type: ignore[arg-type]


def test_the_representation_comes_first_as_in_banditsrl(problem: banditsrl.FiniteProblem) -> None:
    embedding, base = problem.representations[0], banditsrl.LinUCB(sigma=0.3)
    new = banditsrl.GLRT(embedding, base=base, delta=0.1)
    old = banditsrl.GLRT(base, representation=embedding, delta=0.1)
    assert jax.tree.structure(new) == jax.tree.structure(old)
    assert new.effective == old.effective == (0.3, 1.0, 0.1, "paper")
    assert new.embedding is embedding
    assert dataclasses.replace(new, delta=0.2).effective.delta == 0.2


def test_what_glrt_is_not_given_or_given_twice_is_refused(
    problem: banditsrl.FiniteProblem,
) -> None:
    embedding, base = problem.representations[0], banditsrl.LinUCB(sigma=0.3)
    with pytest.raises(InvalidType, match="base must be given to GLRT, got None"):
        banditsrl.GLRT(representation=embedding)
    with pytest.raises(InvalidType, match="representation must be given once to GLRT, got two"):
        banditsrl.GLRT(embedding, base=base, representation=embedding)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sigmo'"):
        banditsrl.GLRT(embedding, base=base, sigmo=0.3)
