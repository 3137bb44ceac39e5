"""Does a name stand for one object, and does a slip of the pen get the nearest name?"""

import pytest

from banditsrl.errors import InvalidArgument, UnknownName
from banditsrl.registry import Registry


def colours() -> Registry[int]:
    registry = Registry[int]("colour")
    registry.add("red", 1)
    registry.add("green", 2)
    return registry


def test_an_entry_is_found_by_its_name() -> None:
    registry = colours()
    assert registry["red"] == 1
    assert registry.add("blue", 3) == 3
    assert registry["blue"] == 3


def test_a_name_can_be_taken_once() -> None:
    registry = colours()
    with pytest.raises(InvalidArgument, match="There is already a colour named 'red'"):
        registry.add("red", 7)
    assert registry["red"] == 1


def test_an_unknown_name_gives_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"no colour named 'gren'; did you mean 'green'\?"):
        colours()["gren"]


def test_a_name_near_to_none_lists_them_all() -> None:
    with pytest.raises(UnknownName, match=r"no colour named 'xyz'; known: red, green\."):
        colours()["xyz"]


def test_the_decorator_enters_and_returns_what_it_decorates() -> None:
    registry = Registry[object]("rule")

    @registry.named("double")
    def doubled(x: int) -> int:
        return 2 * x

    assert registry["double"] is doubled
    assert doubled(3) == 6


def test_a_registry_is_counted_searched_and_listed_in_order() -> None:
    registry = colours()
    assert len(registry) == 2
    assert list(registry) == ["red", "green"]
    assert "red" in registry
    assert "blue" not in registry
    assert 3 not in registry


def test_a_temporary_entry_is_there_inside_the_block_only() -> None:
    registry = colours()
    with registry.temporary("blue", 3) as entry:
        assert (entry, registry["blue"], list(registry)) == (3, 3, ["red", "green", "blue"])
    assert "blue" not in registry


def test_a_temporary_entry_stands_in_for_another_and_leaves_after_an_error() -> None:
    registry = colours()

    def fail_with_another_red() -> None:
        with registry.temporary("red", 7), registry.temporary("red", 8):
            assert registry["red"] == 8
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        fail_with_another_red()
    assert registry["red"] == 1
    assert list(registry) == ["red", "green"]


def test_registries_do_not_share_entries() -> None:
    colours().add("blue", 3)
    assert "blue" not in colours()


def test_it_prints_its_names() -> None:
    colours: Registry[int] = Registry("colour")
    for number, name in enumerate(["red", "green", "blue"]):
        colours.add(name, number)
    assert repr(colours) == "Registry of 3 names, each a colour:\n    red, green, blue"
