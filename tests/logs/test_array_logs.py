"""Are arrays in memory the log that they describe, and are wrong ones refused by their row?"""

from typing import Any

import numpy as np
import pytest

import banditsrl
from banditsrl import Log
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.logs.log import BATCH_ROWS

ROUNDS: dict[str, Any] = {
    "contexts": [[0.1, 1.0], [0.7, 0.0], [0.4, 1.0]],
    "actions": [0, 1, 0],
    "rewards": [1.0, 0.0, 1.0],
    "propensities": [0.5, 0.25, 0.9],
}


def test_a_log_holds_what_it_was_given() -> None:
    log = Log.from_arrays(**ROUNDS, action_names=["red", "green", "blue"], columns=["age", "paid"])
    rounds = log.collect()
    assert log.name == "arrays"
    assert log.schema.actions == ("red", "green", "blue")
    assert log.schema.columns == ("age", "paid")
    assert rounds.rows.tolist() == [1, 2, 3]
    assert rounds.contexts.tolist() == ROUNDS["contexts"]
    assert rounds.actions.tolist() == [0, 1, 0]
    assert rounds.rewards.tolist() == [1.0, 0.0, 1.0]
    assert rounds.propensities.tolist() == [0.5, 0.25, 0.9]
    assert rounds.pmf is None
    assert log.skipped.count == 0


def test_actions_are_counted_if_nobody_says_how_many_there_are() -> None:
    assert Log.from_arrays(**ROUNDS).schema.actions == ("0", "1")
    assert Log.from_arrays(**ROUNDS, n_actions=4).schema.n_actions == 4


def test_propensities_are_taken_from_the_pmf() -> None:
    laws = [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.9, 0.05, 0.05]]
    rest = {name: ROUNDS[name] for name in ("contexts", "actions", "rewards")}
    rounds = Log.from_arrays(**rest, pmf=laws).collect()
    assert rounds.propensities.tolist() == [0.5, 0.3, 0.9]
    assert rounds.pmf is not None
    assert rounds.pmf.tolist() == laws


def test_a_long_log_comes_in_batches_whenever_it_is_asked_for() -> None:
    n = BATCH_ROWS + 10
    log = Log.from_arrays(
        contexts=np.arange(n)[:, None], actions=np.zeros(n, int), rewards=np.ones(n)
    )
    for _ in range(2):
        batches = list(log.batches())
        assert [len(batch.rows) for batch in batches] == [BATCH_ROWS, 10]
    assert log.collect().contexts[:, 0].tolist() == list(range(n))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rewards": [1.0, float("nan"), 0.0]}, "row 2: reward must be a number, got none."),
        (
            {"rewards": [1.0, 0.0, 1e20]},
            "row 3: reward must be at most 1e\\+19 in size, got 1e\\+20.",
        ),
        (
            {"propensities": [0.5, 0.0, 0.5]},
            "row 2: propensity must be above 0 and at most 1, got 0.",
        ),
        (
            {"propensities": [0.5, 0.5, 1.5]},
            "row 3: propensity must be above 0 and at most 1, got 1.5",
        ),
        ({"actions": [0, 5, 1]}, "row 2: action must be an index below 3, got 5."),
        ({"contexts": [[0, 0], [0, np.inf], [0, 0]]}, "row 2: x1 must be finite, got inf."),
        ({"pmf": [[0.5, 0.5, 0.1]] * 3}, "row 1: pmf must sum to 1, got 1.1."),
        (
            {"pmf": [[0.5, 0.5, 0.0]] * 3},
            "row 2: propensity must agree with the pmf, got 0.25 and 0.5",
        ),
        ({"pmf": [[1.5, -0.5, 0.0]] * 3}, "row 1: pmf must hold probabilities, got 1.5."),
        (
            {"available": [[1, 1, 1], [1, 0, 1], [1, 1, 1]]},
            "row 2: action must be available, got '1', which was not.",
        ),
    ],
)
def test_a_round_that_cannot_be_is_refused_by_its_row(change: Any, sentence: str) -> None:
    with pytest.raises(InvalidArgument, match=f"^arrays: {sentence}"):
        Log.from_arrays(**{**ROUNDS, "n_actions": 3, **change})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"contexts": [1.0, 2.0]}, "contexts must have 2 axes, got shape"),
        ({"rewards": [1.0]}, "rewards must have shape"),
        ({"actions": [0.5, 1.0, 0.0]}, "actions must be an integer index"),
        ({"rewards": ["a", "b", "c"]}, "rewards must be an array of numbers, got list."),
        ({"n_actions": 2, "action_names": ["a", "b", "c"]}, "n_actions must be the number of"),
        ({"action_names": ["a", "a"]}, "action_names must be one or more different names"),
        ({"columns": ["a"]}, "columns must be 2 names, one per entry, got 1."),
    ],
)
def test_arrays_of_another_shape_are_refused(change: Any, sentence: str) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match=sentence):
        Log.from_arrays(**{**ROUNDS, **change})


def test_rounded_laws_are_divided_by_their_sum() -> None:
    rounds = Log.from_arrays(**{**ROUNDS, "propensities": None}, pmf=[[0.333, 0.333, 0.333]] * 3)
    law = rounds.collect().pmf
    assert law is not None
    np.testing.assert_allclose(law, 1 / 3)


def test_the_log_is_imported_only_if_it_is_used() -> None:
    assert "Log" in banditsrl.__all__
    assert banditsrl.Log is Log
