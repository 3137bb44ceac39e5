"""A context of another library becomes a vector, by the rules of the table in `column_table`."""

from typing import Any

import numpy as np
import pytest

from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.integrations.column_table import ColumnTable

CITIES = ("rome", "oslo", "lima")


def cities(word: str) -> tuple[str, ...]:
    return CITIES if word in CITIES else ()


def split_slowly(context: Any, place: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], float]:
    """The columns of a context as a plain dictionary from paths to numbers."""
    if isinstance(context, str):
        return {(*place, context): 1.0}
    if isinstance(context, dict):
        parts: Any = context.items()
    elif isinstance(context, tuple):
        parts = enumerate(context)
    else:
        return {place: float(context)}
    return {k: v for key, part in parts for k, v in split_slowly(part, (*place, key)).items()}


def draw_context(rng: np.random.Generator) -> Any:
    """A context with numbers, words, and a dictionary that has its keys now and then."""
    extra = {word: float(rng.normal()) for word in ("x", "y", "z") if rng.random() < 0.5}
    return (float(rng.normal()), str(rng.choice(CITIES)), (1, bool(rng.random() < 0.5)), extra)


def test_it_agrees_with_a_plain_dictionary_of_paths() -> None:
    rng = np.random.default_rng(4)
    table, places = ColumnTable(n_columns=12), dict[Any, int]()
    for _ in range(200):
        context = draw_context(rng)
        cells = split_slowly(context)
        for path in cells:
            places.setdefault(path, len(places))
        wanted = np.zeros(12)
        for path, value in cells.items():
            wanted[places[path]] = value
        np.testing.assert_array_equal(table.encode(context), wanted)
    assert len(table.names) == len(places) == 9


@pytest.mark.parametrize(
    ("context", "vector"),
    [
        (None, [1.0]),
        (2.5, [2.5]),
        (True, [1.0]),
        (np.float32(0.5), [0.5]),
        ((1, (2.0, 3)), [1.0, 2.0, 3.0]),
        (np.array([4.0, 5.0]), [4.0, 5.0]),
        ("oslo", [0.0, 1.0, 0.0]),
        ((7, "lima"), [7.0, 0.0, 0.0, 1.0]),
    ],
)
def test_the_first_context_decides_where_all_columns_show(context: Any, vector: Any) -> None:
    table = ColumnTable(levels=cities)
    for _ in range(2):
        assert table.encode(context).tolist() == vector
    assert table.n_columns == len(vector)


def test_a_missing_part_has_a_column_that_says_so() -> None:
    table = ColumnTable(n_columns=3)
    assert table.encode((1.0, 2.0)).tolist() == [1.0, 2.0, 0.0]
    assert table.encode((1.0, None)).tolist() == [1.0, 0.0, 1.0]
    assert table.names == ("0", "1", "1 is missing")


@pytest.mark.parametrize("context", ["high", (1.0, "high"), {"a": 1.0}, (1.0, {"a": 2}), (1, None)])
def test_words_gaps_and_dictionaries_need_stated_room(context: Any) -> None:
    with pytest.raises(InvalidArgument, match="n_columns must be given where contexts hold words"):
        ColumnTable().encode(context)


@pytest.mark.parametrize("other", [(1.0,), (1.0, 2.0, 3.0), 1.0, None, (1.0, (2.0,))])
def test_a_context_of_another_form_is_refused(other: Any) -> None:
    table = ColumnTable()
    table.encode((0.0, 0.0))
    with pytest.raises(InvalidArgument, match="context must have the 2 columns of the first one"):
        table.encode(other)
    assert table.encode((3.0, 4.0)).tolist() == [3.0, 4.0]


def test_columns_beyond_the_room_are_refused_and_nothing_is_added() -> None:
    table = ColumnTable(n_columns=3)
    table.encode({"a": 1, "b": 2})
    with pytest.raises(InvalidArgument, match=r"got 3, which are used up at the new column 'd'\."):
        table.encode({"c": 3, "d": 4})
    assert table.names == ("a", "b")
    assert table.encode({"b": 5, "c": 6}).tolist() == [0.0, 5.0, 6.0]


@pytest.mark.parametrize("context", [object(), (1.0, object()), 1j])
def test_other_things_are_refused(context: Any) -> None:
    with pytest.raises(InvalidType, match="context must be made of numbers, words, tuples and"):
        ColumnTable(n_columns=4).encode(context)


def test_an_empty_context_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"context must not be empty, got \(\)\."):
        ColumnTable().encode(())
