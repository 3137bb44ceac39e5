"""Familiarity: the counts against plain loops over rounds, and what becomes of new values."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.numerics.precision import in_float64
from banditsrl.selection.familiarity import (
    FEWEST,
    MORE_OFTEN,
    MOST_PAIRS,
    N_COARSE,
    N_FINE,
    RANGE,
    SLACK,
    ValueCounts,
    add_fitted,
    add_values,
    choose_pairs,
    count_anew,
    empty_counts,
    is_familiar,
    is_late,
)


def bin_of(value: float, n_bins: int) -> int:
    edges = np.linspace(-RANGE, RANGE, n_bins + 1)[1:-1]
    return int(np.searchsorted(edges, value, side="right"))


def is_rare(fitted: list[bool], since: list[bool]) -> bool:
    """Whether what some rounds had came much more often in the rounds since the fit."""
    return sum(since) > MORE_OFTEN * sum(fitted) * len(since) / len(fitted) + SLACK


def familiar_by_hand(fitted: np.ndarray, since: np.ndarray, x: np.ndarray) -> bool:
    def same(rounds: np.ndarray, columns: tuple[int, ...], n_bins: int) -> list[bool]:
        return [
            all(bin_of(row[j], n_bins) == bin_of(x[j], n_bins) for j in columns) for row in rounds
        ]

    columns = range(len(x))
    known = all(sum(same(fitted, (j,), N_COARSE)) >= FEWEST for j in columns)
    asked = [((j,), N_FINE) for j in columns]
    asked += [(pair, N_COARSE) for pair in itertools.combinations(columns, 2)]
    return known and not any(is_rare(same(fitted, *one), same(since, *one)) for one in asked)


def counts_of(fitted: np.ndarray, since: np.ndarray) -> ValueCounts:
    all_of_them = jnp.ones(len(fitted), dtype=bool)
    counts = add_fitted(empty_counts(fitted.shape[1]), jnp.asarray(fitted), all_of_them)
    for row in since:
        counts = add_values(counts, jnp.asarray(row))
    return counts


@in_float64
@pytest.mark.parametrize("seed", range(3))
def test_a_context_is_familiar_by_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fitted = np.clip(rng.normal(size=(300, 3)), -RANGE, RANGE)
    since = np.clip(rng.normal([1.0, 0.0, 0.0], [0.1, 1.0, 1.0], size=(60, 3)), -RANGE, RANGE)
    counts = counts_of(fitted, since)
    asked = np.concatenate([fitted[:100], since, rng.uniform(-3.0, 3.0, size=(40, 3))])
    wanted = [familiar_by_hand(fitted, since, x) for x in asked]
    assert [bool(is_familiar(counts, jnp.asarray(x))) for x in asked] == wanted
    assert 0 < sum(wanted) < len(wanted)


@in_float64
def test_nothing_is_familiar_before_the_first_fit() -> None:
    counts = empty_counts(2)
    for _ in range(10):
        counts = add_values(counts, jnp.zeros(2))
    assert not is_familiar(counts, jnp.zeros(2))


@in_float64
def test_rounds_that_do_not_exist_are_not_counted() -> None:
    counts = add_fitted(empty_counts(1), jnp.zeros((6, 1)), jnp.arange(6) < 2)
    assert int(counts.n_fitted) == 2
    assert int(counts.fitted.sum()) == 2 * 2  # one coarse and one fine bin each


@in_float64
def test_a_rare_value_that_becomes_frequent_stops_being_familiar() -> None:
    common, rare = np.zeros((1000, 1)), np.full((10, 1), 2.0)
    fitted = np.concatenate([common, rare])
    as_before = counts_of(fitted, np.concatenate([common[:100], rare[:1]]))
    more_often = counts_of(fitted, np.concatenate([common[:50], rare, rare]))
    assert bool(is_familiar(as_before, jnp.array([2.0])))
    assert not is_familiar(more_often, jnp.array([2.0]))
    assert bool(is_familiar(more_often, jnp.array([0.0])))


@in_float64
def test_a_new_code_among_known_ones_is_noticed_after_a_few_rounds() -> None:
    fitted = np.array([[0.1], [0.5]] * 100)
    new = jnp.array([0.3])  # in the same coarse bin
    assert bool(is_familiar(counts_of(fitted, np.full((5, 1), 0.3)), new))
    assert not is_familiar(counts_of(fitted, np.full((6, 1), 0.3)), new)


@in_float64
def test_a_value_that_is_far_from_all_others_is_new_at_once() -> None:
    fitted = np.zeros((1000, 1))
    assert not is_familiar(counts_of(fitted, fitted[:0]), jnp.array([RANGE]))


@in_float64
def test_familiar_values_that_come_together_for_the_first_time_are_noticed() -> None:
    fitted = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0]] * 100)
    both = np.array([[2.0, 2.0]])
    assert bool(is_familiar(counts_of(fitted, both), jnp.asarray(both[0])))
    assert not is_familiar(counts_of(fitted, np.repeat(both, 6, axis=0)), jnp.asarray(both[0]))


@in_float64
def test_what_once_became_more_frequent_is_late_even_after_it_was_fitted() -> None:
    fitted = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0]] * 100)
    both, usual = np.array([[2.0, 2.0]] * 6), jnp.zeros(2)
    counts = counts_of(fitted, both)
    assert not is_late(counts, jnp.asarray(both[0]))
    everything = np.concatenate([fitted, both, both])
    counts = add_fitted(
        count_anew(counts), jnp.asarray(everything), jnp.ones(len(everything), dtype=bool)
    )
    assert (int(counts.n_fitted), int(counts.n_since)) == (len(everything), 0)
    assert bool(is_familiar(counts, jnp.asarray(both[0])))
    assert bool(is_late(counts, jnp.asarray(both[0])))
    assert not is_late(counts, usual)
    assert bool(is_late(count_anew(counts), jnp.asarray(both[0])))


@in_float64
def test_nothing_is_late_at_the_first_fit() -> None:
    counts = empty_counts(2)
    for _ in range(10):
        counts = add_values(counts, jnp.zeros(2))
    assert not count_anew(counts).grown.any()


def test_pairs_are_all_pairs_of_few_columns_and_different_ones_of_many() -> None:
    assert [tuple(pair) for pair in choose_pairs(4)] == list(itertools.combinations(range(4), 2))
    assert len(choose_pairs(16)) == MOST_PAIRS
    many = choose_pairs(60)
    assert len({tuple(pair) for pair in many}) == MOST_PAIRS
    assert (many[:, 0] < many[:, 1]).all()
