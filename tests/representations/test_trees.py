"""Do boosted trees agree with a slow direct computation, and do they ignore what they should?"""

from typing import Any

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.representations.tree_growth import (
    BLOCK,
    draw_rows,
    make_table,
    pad_rows,
    place_blocks,
)
from banditsrl.representations.trees import Trees, TreeWeights

N, M, A = 300, 4, 3
Floats = NDArray[np.float64]
Rows = tuple[Floats, NDArray[np.int64], Floats]

fit_compiled = jax.jit(Trees.fit, static_argnums=0)
predict_compiled = jax.jit(jax.vmap(Trees.predict, in_axes=(None, None, 0)), static_argnums=0)


def make_rows(seed: int = 0, n: int = N) -> Rows:
    """Return rows of two numbers, a code and a flag, whose rewards have interactions."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2))
    columns = np.column_stack([numbers, rng.integers(0, 5, n), rng.random(n) < 0.1])
    actions = rng.integers(0, A, n)
    signal = (numbers[:, 0] * numbers[:, 1] > 0) * (actions == 1) + 0.2 * columns[:, 2] * actions
    return columns, actions, signal + 0.1 * rng.normal(size=n)


def make_trees(**settings: Any) -> Trees:
    small: dict[str, Any] = {"n_trees": 5, "depth": 3, "n_questions": 12}
    return Trees(A, M, **{**small, **settings})


@in_float64
def fit(trees: Trees, rows: Rows, weight: Floats | None = None, seed: int = 0) -> TreeWeights:
    mass = np.ones(len(rows[0])) if weight is None else weight
    weights = fit_compiled(trees, jax.random.key(seed), *rows, mass)
    return TreeWeights(*jax.device_get(weights))


@in_float64
def predict(trees: Trees, weights: TreeWeights, columns: Floats) -> Floats:
    return np.asarray(predict_compiled(trees, weights, columns))


def read_leaf(row: Floats, which: NDArray[np.int32], cuts: Floats) -> int:
    """Return the leaf as a number whose binary digits are the answers."""
    return int("".join("1" if row[j] >= c else "0" for j, c in zip(which, cuts, strict=True)), 2)


def gain_of(
    questions: list[tuple[int, float]], rows: Rows, residuals: Floats, l2: float
) -> tuple[float, Floats]:
    """Return the gain of a list of questions and the values of the cells, by plain loops."""
    cells: dict[tuple[int, int], list[float]] = {}
    for row, action, residual in zip(rows[0], rows[1], residuals, strict=True):
        leaf = read_leaf(row, *map(np.asarray, zip(*questions, strict=True)))
        cells.setdefault((leaf, int(action)), []).append(float(residual))
    values = np.zeros((2 ** len(questions), A))
    for cell, found in cells.items():
        values[cell] = sum(found) / (len(found) + l2)
    return sum(sum(f) ** 2 / (len(f) + l2) for f in cells.values()), values


def test_values_and_predictions_are_those_of_a_slow_boosting_with_the_same_questions() -> None:
    trees, rows = make_trees(), make_rows()
    weights = fit(trees, rows)
    columns, actions, rewards = rows
    targets = (rewards - rewards.mean()) / rewards.std()
    base = np.array([targets[actions == a].sum() / ((actions == a).sum() + 3.0) for a in range(A)])
    guesses = np.tile(base, (N, 1))
    for which, cuts, values in zip(weights.which, weights.cuts, weights.values, strict=True):
        residuals = targets - guesses[np.arange(N), actions]
        _, slow = gain_of(list(zip(which, cuts, strict=True)), rows, residuals, 3.0)
        np.testing.assert_allclose(values / rewards.std(), trees.rate * slow, atol=2e-6)
        guesses += trees.rate * slow[[read_leaf(row, which, cuts) for row in columns]]
    expected = rewards.mean() + rewards.std() * guesses
    np.testing.assert_allclose(predict(trees, weights, columns), expected, atol=1e-5)


def test_every_level_asks_the_question_of_largest_gain() -> None:
    # A flag has one cut only. With one column of numbers and two flags the best first question is
    # known whenever each flag is drawn: it is the flag that decides the reward.
    rng = np.random.default_rng(3)
    columns = np.column_stack([rng.normal(size=N), rng.random((N, 2)) < 0.5]).astype(float)
    actions = rng.integers(0, A, N)
    rewards = columns[:, 2] * (actions == 0) + 0.5 * columns[:, 1] + 0.01 * rng.normal(size=N)
    rows = columns, actions, rewards
    trees = Trees(A, 3, n_trees=1, depth=2, n_questions=6)
    weights = fit(trees, rows)
    targets = (rewards - rewards.mean()) / rewards.std()
    base = [targets[actions == a].sum() / ((actions == a).sum() + 3.0) for a in range(A)]
    residuals = targets - np.asarray(base)[actions]
    asked: list[tuple[int, float]] = []
    for which, cut in zip(weights.which[0], weights.cuts[0], strict=True):
        chosen = gain_of([*asked, (which, cut)], rows, residuals, 3.0)[0]
        flags = [gain_of([*asked, (j, 1.0)], rows, residuals, 3.0)[0] for j in (1, 2)]
        assert chosen >= max(flags) - 1e-4
        asked.append((which, cut))
    assert {which for which, _ in asked} == {1, 2}


def test_leaves_are_the_answers_read_as_binary_digits() -> None:
    trees, rows = make_trees(), make_rows()
    weights = fit(trees, rows)
    for row in rows[0][:20]:
        with jax.enable_x64(True):
            found = np.asarray(trees.leaves(weights, row))
        expected = [read_leaf(row, *tree) for tree in zip(weights.which, weights.cuts, strict=True)]
        np.testing.assert_array_equal(found, expected)


def test_rows_are_counted_by_leaf_and_action_whether_or_not_all_are_drawn() -> None:
    rows = make_rows()
    trees, few = make_trees(), make_trees(n_rows=100, n_rows_of_tree=100)
    weights, drawn = fit(trees, rows), fit(few, rows)
    for row in rows[0][:10]:
        with jax.enable_x64(True):
            found = np.asarray(trees.count_near(weights, row))
        for tree, near in zip(zip(weights.which, weights.cuts, strict=True), found, strict=True):
            leaf = read_leaf(row, *tree)
            alike = np.array([read_leaf(other, *tree) == leaf for other in rows[0]])
            np.testing.assert_allclose(near, np.bincount(rows[1][alike], minlength=A))
    np.testing.assert_allclose(drawn.masses.sum(axis=(1, 2)), N, rtol=1e-5)
    assert (drawn.alike >= drawn.masses).all()


def test_rows_are_alike_if_no_question_that_is_better_than_chance_divides_them() -> None:
    """Up to two levels of a tree are better than chance; the other ones divide noise."""
    rng = np.random.default_rng(1)
    n, K, l2 = 600, 12, 3.0
    columns, actions = rng.normal(size=(n, M)), rng.integers(0, A, n)
    rewards = 2.0 * (columns[:, 1] > 0.3) * (actions == 1) + rng.normal(size=n)
    trees, rows = Trees(A, M, n_trees=4, depth=3, n_questions=K), (columns, actions, rewards)
    weights = fit(trees, rows)
    targets = (rewards - rewards.mean()) / rewards.std()
    base = np.array([targets[actions == a].sum() / ((actions == a).sum() + l2) for a in range(A)])
    residuals, explained, first, n_levels = targets - base[actions], [], [], []
    for t, (which, cuts) in enumerate(zip(weights.which, weights.cuts, strict=True)):
        questions = list(zip(which, cuts, strict=True))
        gains, chances = zip(
            *(judge_level(rows, residuals, questions, d, K, l2) for d in range(3)), strict=True
        )
        found = max([d + 1 for d in range(3) if gains[d] > chances[d]], default=0)
        explained.append(sum(gains[:found]))
        first.append(chances[0])
        n_levels.append(found)
        leaf = np.array([read_leaf(row, which, cuts) for row in columns])
        for i in range(0, n, 50):
            same = leaf >> (3 - found) == leaf[i] >> (3 - found)
            expected = np.bincount(actions[same], minlength=A)
            np.testing.assert_allclose(weights.alike[t, leaf[i]], expected)
        residuals = residuals - weights.values[t, leaf, actions] / rewards.std()
    assert 0 < sum(n_levels) < 3 * 4
    shares = np.array(explained) / (sum(explained) + np.mean(first))
    np.testing.assert_allclose(weights.shares, shares, rtol=1e-4)


def judge_level(
    rows: Rows,
    residuals: Floats,
    questions: list[tuple[int, float]],
    d: int,
    n_questions: int,
    l2: float,
) -> tuple[float, float]:
    """Return the gain of the question of a level, and what chance would let it gain."""
    columns, actions, _ = rows
    leaf = np.zeros(len(columns), dtype=int)
    for j, cut in questions[:d]:
        leaf = 2 * leaf + (columns[:, j] >= cut)
    yes, gain, free = columns[:, questions[d][0]] >= questions[d][1], 0.0, 0.0
    for cell in set(zip(leaf.tolist(), actions.tolist(), strict=True)):
        here = (leaf == cell[0]) & (actions == cell[1])
        for part, sign in ((here & yes, 1), (here & ~yes, 1), (here, -1)):
            gain += sign * residuals[part].sum() ** 2 / (part.sum() + l2)
            free += sign * part.sum() / (part.sum() + l2)
    x = np.log(n_questions / 0.01)
    return gain / (residuals**2).mean(), free + 2 * np.sqrt(free * x) + 2 * x


def test_the_trees_do_not_know_what_is_alike_in_noise() -> None:
    columns, actions, _ = make_rows()
    weights = fit(make_trees(), (columns, actions, np.random.default_rng(2).normal(size=N)))
    everything = np.broadcast_to(np.bincount(actions, minlength=A), weights.alike.shape)
    np.testing.assert_array_equal(weights.alike, everything)
    np.testing.assert_array_equal(weights.shares, np.zeros(5))


def test_only_the_order_of_a_column_matters() -> None:
    trees, rows = make_trees(), make_rows()
    stretched = np.column_stack([np.exp(rows[0][:, 0]), 1e9 + 1e-3 * rows[0][:, 1], rows[0][:, 2:]])
    plain, other = fit(trees, rows), fit(trees, (stretched, *rows[1:]))
    np.testing.assert_array_equal(plain.which, other.which)
    np.testing.assert_array_equal(predict(trees, plain, rows[0]), predict(trees, other, stretched))


@pytest.mark.parametrize(("a", "b"), [(1e-6, 0.0), (1e6, 1e6), (3.0, 3e6)])
def test_rewards_in_other_units_give_the_same_predictions_in_those_units(
    a: float, b: float
) -> None:
    trees, rows = make_trees(), make_rows()
    plain = predict(trees, fit(trees, rows), rows[0])
    other = predict(trees, fit(trees, (*rows[:2], a * rows[2] + b)), rows[0])
    np.testing.assert_allclose((other - b) / a, plain, atol=1e-5)


def test_rows_of_weight_zero_are_ignored_whatever_they_hold() -> None:
    trees, rows = make_trees(), make_rows()
    weight = (np.arange(N) < 200).astype(float)
    spoilt = rows[0].copy(), rows[1].copy(), rows[2].copy()
    spoilt[0][200:], spoilt[1][200:], spoilt[2][200:] = np.nan, 0, np.inf
    for one, other in zip(fit(trees, rows, weight), fit(trees, spoilt, weight), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_row_of_weight_two_counts_like_two_rows() -> None:
    # One tree whose questions do not depend on the draw: a single flag has a single cut.
    flag = (np.arange(40) % 2).astype(float)[:, None]
    actions, rewards = np.arange(40) // 2 % 2, np.sin(np.arange(40.0))
    trees = Trees(2, 1, n_trees=1, depth=1, n_questions=1)
    weight = np.where(np.arange(40) < 10, 2.0, 1.0)
    twice = np.concatenate([np.arange(40), np.arange(10)])
    once = fit(trees, (flag, actions, rewards), weight)
    both = fit(trees, (flag[twice], actions[twice], rewards[twice]))
    np.testing.assert_allclose(once.values, both.values, atol=1e-6)
    np.testing.assert_allclose(once.base, both.base, atol=1e-6)


def test_trees_without_rows_and_fresh_trees_predict_zero() -> None:
    trees, rows = make_trees(), make_rows()
    empty = fit(trees, rows, np.zeros(N))
    assert not predict(trees, empty, rows[0]).any()
    assert not predict(trees, trees.init(), rows[0]).any()


def test_constant_rewards_are_predicted_exactly() -> None:
    trees, rows = make_trees(), make_rows()
    weights = fit(trees, (*rows[:2], np.full(N, 7.0)))
    np.testing.assert_allclose(predict(trees, weights, rows[0]), 7.0, rtol=1e-12)


def test_trees_learn_a_product_of_signs_and_a_table_of_categories() -> None:
    rng = np.random.default_rng(5)
    table = rng.random((10, 10, 2))
    for kind in ("signs", "categories"):
        columns = rng.normal(size=(5000, 2)) if kind == "signs" else rng.integers(0, 10, (5000, 2))
        actions = rng.integers(0, 2, 5000)
        positive = (columns[:, 0] * columns[:, 1] > 0)[:, None] == np.arange(2)
        means = positive * 1.0 if kind == "signs" else table[columns[:, 0], columns[:, 1]]
        rewards = means[np.arange(5000), actions] + 0.1 * rng.normal(size=5000)
        trees = Trees(2, 2, n_trees=40, n_questions=32, n_rows_of_tree=1024)
        rows = columns[:4000].astype(float), actions[:4000], rewards[:4000]
        found = predict(trees, fit(trees, rows), columns[4000:].astype(float))
        error = ((found - means[4000:]) ** 2).mean() / means[4000:].var()
        assert error < 0.3, kind


def test_more_rows_than_allowed_are_drawn_at_random() -> None:
    trees, rows = make_trees(n_rows=100, n_rows_of_tree=50), make_rows()
    one, other = fit(trees, rows, seed=0), fit(trees, rows, seed=1)
    assert not np.allclose(one.base, other.base)
    assert np.isfinite(predict(trees, one, rows[0])).all()


def test_rare_rows_are_drawn_first_and_all_rows_are_counted() -> None:
    rng = np.random.default_rng(3)
    n, most_rare, n_rows = 500, 40, 120
    for n_rare in (0, 30, 120):
        rare = np.zeros(n, dtype=bool)
        rare[rng.choice(n, n_rare, replace=False)] = True
        weight = rng.integers(0, 3, n).astype(float)
        drawn = draw_rows(jax.random.key(n_rare), weight, rare, n_rows=n_rows, most_rare=most_rare)
        order, counts = np.asarray(drawn.order), np.asarray(drawn.counts)
        first = min(most_rare, int((rare & (weight > 0)).sum()))
        assert int(drawn.n_first) == first
        assert len(set(order.tolist())) == n_rows
        assert rare[order[:first]].all()
        assert rare[order[first:]].any() == (n_rare == 120)
        np.testing.assert_allclose(counts[:first], weight[order[:first]])
        np.testing.assert_allclose(counts.sum(), weight.sum(), rtol=1e-5)


def test_every_tree_looks_at_all_rare_rows_and_at_no_row_twice() -> None:
    n, size = 10 * BLOCK + 17, 4 * BLOCK
    columns = pad_rows(np.arange(n, dtype=float)[:, None])
    ones = pad_rows(np.ones(n))
    actions = np.zeros(len(columns), dtype=np.int32)
    for n_first, n_rare_blocks in ((0, 0), (1, 1), (2 * BLOCK, 2)):
        table = make_table(columns, actions, ones, ones, np.asarray(n_first))
        seen = set()
        for seed in range(50):
            places = np.asarray(place_blocks(jax.random.key(seed), table, size))
            rows = (places[:, None] + np.arange(BLOCK)).ravel()
            assert len(set(rows.tolist())) == size
            assert set(range(n_first)) <= set(rows.tolist())
            assert rows.max() < n
            seen |= set(rows[n_rare_blocks * BLOCK :].tolist())
        assert len(seen) > 0.9 * (n - n_rare_blocks * BLOCK)


def test_trees_find_an_action_that_was_hardly_played_if_these_rows_are_rare() -> None:
    """Where the first column is positive, action 0 was played 8 times in 20,000 rounds."""
    rng = np.random.default_rng(0)
    columns, n = rng.normal(size=(20_000, 2)), 20_000
    best = (columns[:, 0] > 0).astype(np.int64)
    rare = np.zeros(n, dtype=bool)
    rare[rng.choice(np.flatnonzero(best == 1), 8, replace=False)] = True
    actions = np.where(rare, 0, best)
    rewards = 1.0 - 0.5 * rare + 0.2 * rng.normal(size=n)
    trees = Trees(2, 2, n_rows=4096, n_rows_of_tree=1024)
    with jax.enable_x64(True):
        known, blind = (
            fit_compiled(trees, jax.random.key(0), columns, actions, rewards, np.ones(n), first)
            for first in (rare, None)
        )
        found = [float(predict(trees, w, np.array([[1.0, 0.0]]))[0, 0]) for w in (known, blind)]
    assert abs(found[0] - 0.5) < 0.15 < abs(found[1] - 0.5)


@pytest.mark.parametrize("name", ["n_trees", "depth", "n_questions", "n_rows", "n_rows_of_tree"])
def test_sizes_below_one_are_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name} must be at least 1, got 0"):
        make_trees(**{name: 0})


def test_rate_and_shrinkage_must_be_positive() -> None:
    with pytest.raises(InvalidArgument, match="rate must be greater than 0, got 0"):
        make_trees(rate=0.0)
    with pytest.raises(InvalidArgument, match="l2 must be greater than 0, got -1"):
        make_trees(l2=-1.0)
