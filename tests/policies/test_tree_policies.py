"""Tree policies: do they follow their formulas, learn, and keep the contract?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import banditsrl
from banditsrl.core.history import History, append_round, empty_history
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.tree_egreedy import TreeEGreedy
from banditsrl.policies.tree_linucb import TreeLinUCB

KEY = jax.random.key(0)
SMALL: dict[str, Any] = {"n_trees": 4, "depth": 3, "n_questions": 8, "n_rows_of_tree": 64}
LEAVES: dict[str, Any] = {"n_leaf_trees": 2, "leaf_depth": 2, "ucb_scale": 0.4, "lam": 0.2}
NAMES = ("tree-egreedy", "tree-linucb")


@pytest.fixture(scope="module")
def problem() -> banditsrl.FiniteProblem:
    return banditsrl.make_problem("wheel", n_contexts=10)


@pytest.fixture(scope="module")
def egreedy(problem: banditsrl.FiniteProblem) -> TreeEGreedy:
    made = banditsrl.make_policy("tree-egreedy", problem, epsilon=0.3, **SMALL)
    assert isinstance(made, TreeEGreedy)
    return made


@pytest.fixture(scope="module")
def linucb(problem: banditsrl.FiniteProblem) -> TreeLinUCB:
    made = banditsrl.make_policy("tree-linucb", problem, **SMALL, **LEAVES)
    assert isinstance(made, TreeLinUCB)
    return made


ROUNDS = [
    (int(x), int(a), float(y))
    for x, a, y in zip(
        np.random.default_rng(1).integers(0, 10, 60),
        np.random.default_rng(2).integers(0, 5, 60),
        np.random.default_rng(3).normal(size=60),
        strict=True,
    )
]


@in_float64
def make_history(rounds: list[tuple[int, int, float]]) -> History:
    history = empty_history(jnp.asarray(0), 100)
    for x, a, y in rounds:
        history = append_round(history, x, a, y)
    return history


@in_float64
def refresh(policy: Any) -> Any:
    compiled = jax.jit(lambda state, history: policy.refresh(state, history, KEY))
    return compiled(policy.init(KEY), make_history(ROUNDS))


@in_float64
def test_the_greedy_action_of_the_trees_has_the_rest_of_the_probability(
    egreedy: TreeEGreedy,
) -> None:
    state = refresh(egreedy)
    mask = np.array([True, True, False, True, True])
    for x in range(10):
        values = np.asarray(egreedy.tree_learner.predict(state.weights, x))
        best = np.flatnonzero(mask & (values > values[mask].max() - 1e-12))
        expected = 0.3 * mask / 4
        expected[best] += 0.7 / len(best)
        np.testing.assert_allclose(egreedy.act(state, x, mask, KEY).pmf, expected, atol=1e-12)


@in_float64
def test_the_index_is_that_of_ridge_regression_on_what_the_trees_leave_over(
    linucb: TreeLinUCB,
) -> None:
    state = refresh(linucb)
    x_new, a_new, y_new = 4, 2, 1.5
    state = linucb.learn(state, x_new, a_new, y_new)
    rounds = [*ROUNDS, (x_new, a_new, y_new)]
    fitted = np.stack([linucb.tree_learner.predict(state.weights, x) for x in range(10)])
    psi = np.stack([slow_embedding(linucb, state.weights, x) for x in range(10)])
    scale = linucb.ucb_scale * np.std([y for _, _, y in ROUNDS])
    index = np.zeros((10, 5))
    for a in range(5):
        V, b = linucb.lam * np.eye(linucb.dim), np.zeros(linucb.dim)
        for x, _, y in (one for one in rounds if one[1] == a):
            V += np.outer(psi[x], psi[x])
            b += psi[x] * (y - fitted[x, a])
        widths = np.sqrt((psi * np.linalg.solve(V, psi.T).T).sum(1))
        index[:, a] = fitted[:, a] + psi @ np.linalg.solve(V, b) + scale * widths
    act = jax.jit(lambda x: linucb.act(state, x, None, KEY).action)
    assert [int(act(x)) for x in range(10)] == list(index.argmax(1))
    assert len(set(index.argmax(1))) > 1


def slow_embedding(policy: TreeLinUCB, weights: Any, context: int) -> Any:
    """Return the coarse leaves of a context, by asking the first questions of each tree."""
    row = np.asarray(policy.tree_learner.columns.rows(context))[0]
    psi = np.zeros(policy.dim)
    psi[0] = 1.0
    for g in range(policy.n_leaf_trees):
        answers = row[weights.which[g]] >= np.asarray(weights.cuts[g])
        leaf = sum(int(bit) * 2**k for k, bit in enumerate(answers[: policy.leaf_depth][::-1]))
        psi[1 + g * 2**policy.leaf_depth + leaf] = 1.0
    return psi / np.sqrt(1 + policy.n_leaf_trees)


@pytest.mark.parametrize("name", NAMES)
def test_the_policies_keep_the_contract(problem: banditsrl.FiniteProblem, name: str) -> None:
    policy = banditsrl.make_policy(name, problem, **SMALL, **(LEAVES if "lin" in name else {}))
    assert "compiles" in banditsrl.check_policy(policy, problem)


@pytest.mark.parametrize("name", NAMES)
def test_the_policies_learn_the_wheel(name: str) -> None:
    problem = banditsrl.make_problem("wheel")
    policy = banditsrl.make_policy(name, problem, n_trees=20, n_questions=32, gamma=1.5)
    learned = banditsrl.simulate(problem, policy, horizon=600, seeds=1)
    random = banditsrl.make_policy("uniform", problem)
    chance = banditsrl.simulate(problem, random, horizon=600, seeds=1)
    assert learned.mean[-1] < 2 / 3 * chance.mean[-1]  # what was lost before learning included


def test_inputs_that_depend_on_the_action_are_read_row_by_row() -> None:
    problem = banditsrl.make_problem("vardim-realizable")
    policy = banditsrl.make_policy("tree-egreedy", problem, **SMALL)
    assert isinstance(policy, TreeEGreedy)
    learner = policy.tree_learner
    weights = learner.trees.init()._replace(
        values=jnp.asarray(np.random.default_rng(0).normal(size=(4, 8, learner.trees.n_actions)))
    )
    rows = np.asarray(learner.columns.rows(3))
    expected = [float(learner.trees.predict(weights, row)[a]) for a, row in enumerate(rows)]
    np.testing.assert_allclose(learner.predict(weights, 3), expected, rtol=1e-6)


def test_a_coarse_leaf_cannot_have_more_questions_than_a_tree(
    problem: banditsrl.FiniteProblem,
) -> None:
    with pytest.raises(InvalidArgument, match="leaf_depth must be at most 3, got 4"):
        banditsrl.make_policy("tree-linucb", problem, n_trees=8, depth=3)
    with pytest.raises(InvalidArgument, match="n_leaf_trees must be at most 4, got 8"):
        banditsrl.make_policy("tree-linucb", problem, n_trees=4)


def test_an_unknown_schedule_is_refused(problem: banditsrl.FiniteProblem) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be t\\^-1/3, t\\^-1/2, a number"):
        banditsrl.make_policy("tree-egreedy", problem, epsilon="1/t")
