"""Does a row hold the context and the columns of each action where it should?"""

from typing import Any

import numpy as np
import pytest

from banditsrl.errors import InvalidArgument
from banditsrl.live.encoder import Encoder, change_actions, first_actions, make_mask, plain_context
from banditsrl.live.loop_config import read_config

CONFIG = read_config(
    {
        "name": "offers",
        "actions": {"red": {"price": 1}, "green": {"price": 2}},
        "action_columns": {
            "price": {"number": {"default": 0}},
            "new": {"flag": {"default": False}},
        },
        "columns": {
            "age": {"number": {"default": 40, "clip": [0, 120]}},
            "city": {"category": ["rome", "oslo"]},
        },
        "spare_actions": 1,
    }
)


def encode(context: dict[str, Any], **sent: dict[str, Any]) -> list[float]:
    actions = first_actions(CONFIG).values()
    return Encoder(CONFIG).encode(plain_context(context), actions, sent).tolist()


def test_a_row_is_the_context_then_each_slot_then_one() -> None:
    #                age  rome oslo missing  red     green   spare   constant
    assert encode({"age": 31, "city": "oslo"}) == [31, 0, 1, 0, 1, 0, 2, 0, 0, 0, 1]
    assert encode({}) == [40, 0, 0, 1, 1, 0, 2, 0, 0, 0, 1]
    assert encode({"city": "lima"}) == [40, 0, 0, 0, 1, 0, 2, 0, 0, 0, 1]


def test_columns_that_come_with_the_request_override_declared_ones() -> None:
    row = encode({}, green={"price": 5, "new": True})
    assert row[4:] == [1, 0, 5, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("value", "coded"),
    [(float("nan"), 40), (None, 40), (float("inf"), 120), (-1e300, 0), (10**400, 120)],
)
def test_odd_numbers_are_clipped_or_missing(value: Any, coded: float) -> None:
    assert encode({"age": value})[0] == coded
    assert np.isfinite(encode({"age": value})).all()


def test_a_number_beyond_the_floats_is_kept_as_the_largest_one() -> None:
    found = plain_context({"city": 10**400, "age": -(10**5000), "n": 10**300})
    assert found == {"city": 1.7976931348623157e308, "age": -1.7976931348623157e308, "n": 10**300}
    assert encode({"city": 10**400})[1:4] == [0, 0, 0]


def test_half_a_character_is_refused() -> None:
    assert plain_context({"city": "\U0001f389"}) == {"city": "\U0001f389"}
    with pytest.raises(InvalidArgument, match="city must be valid Unicode, got"):
        plain_context({"city": "\ud83c"})


def test_numpy_values_are_written_as_plain_ones() -> None:
    found = plain_context({"age": np.float32(1.5), "flag": np.bool_(True), "n": np.int64(3)})
    assert found == {"age": 1.5, "flag": True, "n": 3}
    assert [type(value) for value in found.values()] == [float, bool, int]


def test_a_new_action_takes_the_next_slot_and_a_mask_its_place() -> None:
    table = first_actions(CONFIG)
    table = change_actions(table, {"change": "add", "name": "blue"}, CONFIG.n_slots)
    assert [entry.slot for entry in table.values()] == [0, 1, 2]
    assert make_mask(3, [0, 2]).tolist() == [True, False, True]


def test_an_unknown_column_of_an_action_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="no column named 'prize'; did you mean 'price'"):
        Encoder(CONFIG).check_action_columns({"prize": 1})
    plain = read_config({"name": "offers", "actions": ["red"], "columns": {"age": "number"}})
    with pytest.raises(InvalidArgument, match=r"action_columns must be declared .*\['prize'\]"):
        Encoder(plain).check_action_columns({"prize": 1})
    Encoder(plain).check_action_columns({})
