"""Actions of another library keep their index, and those without room are refused."""

from typing import Any

import numpy as np
import pytest

from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.integrations.action_table import ActionTable


def test_it_agrees_with_a_plain_dictionary() -> None:
    rng = np.random.default_rng(2)
    offered: list[Any] = ["a", "b", 3, 4.5, (1, 0), (0, 1), ("x", 2)]
    table, places = ActionTable(n_actions=len(offered)), dict[Any, int]()
    for _ in range(100):
        chosen = [offered[i] for i in rng.permutation(len(offered))[: rng.integers(1, 7)]]
        for action in chosen:
            places.setdefault(action, len(places))
        indices = table.find(chosen)
        assert indices == [places[action] for action in chosen]
        mask = table.mask(indices)
        assert {i for i in range(len(offered)) if mask[i]} == {places[a] for a in chosen}
    assert len(places) == table.n_actions == 7


def test_equal_actions_count_as_one_however_they_are_written() -> None:
    table = ActionTable([0, 1, (1, 0), {"a": 1, "b": 2}])
    assert table.find([1.0, 0.0, [1, 0], {"b": 2, "a": 1}]) == [1, 0, 2, 3]
    assert table.find_one(np.array([1, 0])) == 2
    assert table.find_one(np.int64(1)) == 1


def test_the_first_round_decides_if_nothing_is_stated() -> None:
    table = ActionTable()
    assert table.n_actions is None
    assert table.find(["a", "b"]) == [0, 1]
    assert table.find(["b"]) == [1]
    with pytest.raises(InvalidArgument, match="got 2, which are used up at the new action 'c'"):
        table.find(["a", "c"])


def test_a_round_that_does_not_fit_adds_nothing() -> None:
    table = ActionTable(["a"], n_actions=2)
    with pytest.raises(InvalidArgument, match="used up at the new action 'c'"):
        table.find(["b", "c"])
    assert table.find(["c"]) == [1]


def test_actions_that_are_described_anew_are_refused() -> None:
    table = ActionTable()
    table.find([(0.1, 0.2), (0.3, 0.4)])
    with pytest.raises(InvalidArgument, match="described anew in every round cannot be learned"):
        table.find([(0.5, 0.6), (0.7, 0.8)])


@pytest.mark.parametrize("actions", [["a", "a"], [1, 1.0], []])
def test_equal_actions_in_one_round_are_refused(actions: Any) -> None:
    with pytest.raises(InvalidArgument, match="actions must be one or more different actions, got"):
        ActionTable().find(actions)


@pytest.mark.parametrize("actions", [None, "ab", 3, {"a": 1}])
def test_what_is_no_list_is_refused(actions: Any) -> None:
    with pytest.raises(InvalidType, match="actions must be a list of actions, got"):
        ActionTable().find(actions)


def test_an_action_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidType, match="action must be a number, a word, a tuple or a dict"):
        ActionTable().find([None, 1])


def test_learning_comes_first_only_with_stated_room() -> None:
    with pytest.raises(InvalidArgument, match="n_actions must be given where an action is learned"):
        ActionTable().find_one("a")
    assert ActionTable(n_actions=2).find_one("a") == 0
