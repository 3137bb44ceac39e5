"""Is every bad argument refused in one sentence that names it, the rule and the value?"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.arguments import (
    above,
    at_least,
    booleans,
    count,
    finite_array,
    finite_value,
    flag,
    one_index,
    one_of,
    positive,
    probability,
    real,
)
from banditsrl.errors import InvalidArgument, InvalidType

NUMBERS: list[Callable[[str, Any], float]] = [
    real,
    positive,
    lambda name, value: above(name, value, 0.0),
    lambda name, value: at_least(name, value, 0.0),
    probability,
]


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2), np.float64(0.5)])
def test_any_real_number_is_returned_as_a_float(check: Any, value: Any) -> None:
    assert type(check("x", value)) is float
    assert check("x", value) == 0.5


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", ["0.5", None, True, [0.5], 1j])
def test_what_is_no_real_number_is_refused_by_name(check: Any, value: Any) -> None:
    with pytest.raises(InvalidType, match="sigma must be a real number, got") as refused:
        check("sigma", value)
    assert repr(value) in str(refused.value)


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_must_be_finite(check: Any, value: float) -> None:
    with pytest.raises(InvalidArgument, match=f"sigma must be finite, got {value}"):
        check("sigma", value)


@pytest.mark.parametrize("check", NUMBERS)
@pytest.mark.parametrize("value", [10**400, -(10**5000)], ids=["large", "very large"])
def test_an_integer_that_no_float_can_hold_is_refused(check: Any, value: int) -> None:
    with pytest.raises(InvalidArgument, match="sigma must be finite, got a whole number"):
        check("sigma", value)


def test_limits_are_part_of_the_message_and_strict_where_the_name_says_so() -> None:
    assert above("gamma", 1.5, 1.0) == 1.5
    assert at_least("scale", 0, 0.0) == 0.0
    with pytest.raises(InvalidArgument, match=r"gamma must be greater than 1, got 1\.0"):
        above("gamma", 1.0, 1.0)
    with pytest.raises(InvalidArgument, match=r"lam must be greater than 0, got 0"):
        positive("lam", 0)
    with pytest.raises(InvalidArgument, match=r"scale must be at least 0, got -0\.1"):
        at_least("scale", -0.1, 0.0)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, 2])
def test_a_probability_lies_strictly_inside(value: float) -> None:
    message = f"delta must lie strictly between 0 and 1, got {value}"
    with pytest.raises(InvalidArgument, match=message):
        probability("delta", value)


def test_a_count_is_an_integer_not_below_its_limit() -> None:
    assert count("seeds", np.int32(3)) == 3
    assert type(count("seeds", np.int64(3))) is int
    assert count("seed", 0, 0) == 0
    with pytest.raises(InvalidArgument, match="seeds must be at least 1, got 0"):
        count("seeds", 0)
    for value in (1.0, "1", True, None):
        with pytest.raises(InvalidType, match="seeds must be an integer, got"):
            count("seeds", value)


def test_one_of_lists_the_words_that_are_allowed() -> None:
    assert one_of("noise", "none", ("gaussian", "none")) == "none"
    for value in ("loud", None, 3, ["none"]):
        with pytest.raises(InvalidArgument, match="noise must be one of gaussian, none, got"):
            one_of("noise", value, ("gaussian", "none"))


def test_an_array_is_returned_in_float64() -> None:
    array = finite_array("phi", [[1, 2], [3, 4]], "(n_actions, dim)")
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(finite_array("theta", jnp.ones(2), "(dim,)"), [1.0, 1.0])
    assert finite_array("y", 3, "()").shape == ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], r"phi must have shape \(n_actions, dim\), got shape \(2,\)"),
        ([[[1.0]]], r"phi must have shape \(n_actions, dim\), got shape \(1, 1, 1\)"),
        ([[]], r"phi must not be empty, got shape \(1, 0\)"),
        ([[1.0, 2.0], [math.nan, math.inf]], r"phi must be finite, got nan at index \(1, 0\)"),
    ],
)
def test_an_array_of_another_shape_or_not_finite_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        finite_array("phi", value, "(n_actions, dim)")


@pytest.mark.parametrize("value", ["words", [["a", "b"]], [[1.0], [1.0, 2.0]], object(), {}])
def test_what_is_no_array_is_refused_with_its_kind(value: Any) -> None:
    message = rf"phi must be an array of numbers of shape \(n, d\), got {type(value).__name__}"
    with pytest.raises(InvalidType, match=message):
        finite_array("phi", value, "(n, d)")


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, np.array([0.0, np.nan]), jnp.asarray(jnp.nan)]
)
def test_a_value_that_is_known_must_be_finite(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="reward must be finite, got"):
        finite_value("reward", value)


def test_a_finite_value_and_a_traced_one_pass() -> None:
    finite_value("reward", 1.0)

    @jax.jit
    def traced(x: jax.Array) -> jax.Array:
        finite_value("reward", x)
        return x

    assert np.isnan(traced(jnp.asarray(jnp.nan)))


def test_a_flag_is_true_or_false_and_nothing_that_counts_as_one() -> None:
    assert flag("warm_start", True) is True
    assert flag("warm_start", np.False_) is False
    for value in ("no", 1, None, 0.0):
        with pytest.raises(InvalidType, match="warm_start must be True or False, got"):
            flag("warm_start", value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([True, True], r"mask must have shape \(3,\), got shape \(2,\)"),
        ([2, 0, 1], "mask must hold True and False only, got .*2"),
        ([math.nan, 1, 0], "mask must hold True and False only, got .*nan"),
        (["yes", "no", "no"], "mask must hold True and False only, got .*yes"),
        ([True, [False], 0], "mask must be an array of shape .*, got a ragged one"),
    ],
)
def test_a_mask_holds_true_and_false_only(value: Any, message: str) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        booleans("mask", value, (3,))


def test_ones_and_zeros_are_a_mask_too() -> None:
    np.testing.assert_array_equal(booleans("mask", [1, 0.0, True], (3,)), [True, False, True])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "action must be an index below 3, got 3"),
        (-1, "action must be an index below 3, got -1"),
        ([0, 1], r"action must be one index, got shape \(2,\)"),
        (1.5, "action must be an integer index, got 1.5"),
        (True, "action must be an integer index, got True"),
        (None, "action must be an integer index, got None"),
    ],
)
def test_one_index_is_one_of_those_that_there_are(value: Any, message: str) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        one_index("action", value, 3)


def test_a_count_has_an_end() -> None:
    with pytest.raises(InvalidArgument, match=r"horizon must be at most 2\^63 - 1, got 1"):
        count("horizon", 10**20)
