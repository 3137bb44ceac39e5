"""Which values may an argument take? Checks for public functions.

Each check returns the value in its final type, or raises an error that names the argument, the rule
and the value received.
"""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument, InvalidType

LARGEST_COUNT = 2**63 - 1

LARGEST_NUMBER = 1e19
"""Largest size of a column or a reward. Policies square them, and networks do so in float32, where
numbers above 3.4e38 are infinite; one of those would make all later sums infinite or NaN."""

LARGEST_INDEX = 2**31 - 1
"""Largest index of an action: indices are kept in 32 bits."""


def real(name: str, value: object) -> float:
    """Return a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidType(f"{name} must be a real number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidArgument(
            f"{name} must be finite, got a whole number that is larger than any float."
        ) from None
    if not math.isfinite(number):
        raise InvalidArgument(f"{name} must be finite, got {value!r}.")
    return number


def positive(name: str, value: object) -> float:
    """Return a real number above zero."""
    return above(name, value, 0.0)


def positive_or_none(name: str, value: object) -> float | None:
    """Return a real number above zero, or None if there is no value."""
    return None if value is None else positive(name, value)


def above(name: str, value: object, low: float) -> float:
    """Return a real number strictly above `low`."""
    number = real(name, value)
    if number <= low:
        raise InvalidArgument(f"{name} must be greater than {low:g}, got {value!r}.")
    return number


def at_least(name: str, value: object, low: float) -> float:
    """Return a real number that is at least `low`."""
    number = real(name, value)
    if number < low:
        raise InvalidArgument(f"{name} must be at least {low:g}, got {value!r}.")
    return number


def check_range(value: Any) -> tuple[float, float]:
    """Return the least and the largest possible reward; they must be two numbers that increase."""
    ends = tuple(value) if isinstance(value, Iterable) else (value,)
    if len(ends) != 2 or not real("reward_range", ends[0]) < real("reward_range", ends[1]):
        got = " ".join(f"{end:g}" if isinstance(end, int | float) else repr(end) for end in ends)
        raise InvalidArgument(f"reward range must be LOW HIGH with LOW < HIGH, got {got}.")
    return float(ends[0]), float(ends[1])


def probability(name: str, value: object) -> float:
    """Return a real number strictly between zero and one."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise InvalidArgument(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    return number


def count(name: str, value: object, low: int = 1) -> int:
    """Return an integer that is at least `low` and fits into 64 bits, like the size of an array."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidType(f"{name} must be an integer, got {value!r}.")
    if value < low:
        raise InvalidArgument(f"{name} must be at least {low}, got {value!r}.")
    if int(value) > LARGEST_COUNT:
        raise InvalidArgument(f"{name} must be at most 2^63 - 1, got {value!r}.")
    return int(value)


def flag(name: str, value: object) -> bool:
    """Return True or False; other values that Python treats as true or false are refused."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidType(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def one_of(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return one of the allowed words."""
    if value not in allowed:
        raise InvalidArgument(f"{name} must be one of {', '.join(allowed)}, got {value!r}.")
    return str(value)


def finite_array(name: str, value: Any, shape: str) -> NDArray[np.float64]:
    """Return a float64 array without NaN or infinity that has as many axes as `shape`.

    `shape` is a text such as ``"(n_contexts, n_actions, dim)"``; it also appears in messages.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidType(
            f"{name} must be an array of numbers of shape {shape}, got {type(value).__name__}."
        ) from error
    n_axes = len([axis for axis in shape.strip("()").split(",") if axis.strip()])
    if array.ndim != n_axes:
        raise InvalidArgument(f"{name} must have shape {shape}, got shape {array.shape}.")
    if array.size == 0:
        raise InvalidArgument(f"{name} must not be empty, got shape {array.shape}.")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidArgument(f"{name} must be finite, got {array[where]} at index {where}.")
    return array


def finite_value(name: str, value: Any) -> None:
    """Refuse NaN and infinity; values that are being traced by JAX pass unchecked."""
    if isinstance(value, jax.core.Tracer):
        return
    number = np.asarray(value)
    if number.dtype.kind not in "buif":
        raise InvalidType(f"{name} must be a number, got {value!r}.")
    if not np.isfinite(number).all():
        raise InvalidArgument(f"{name} must be finite, got {number[~np.isfinite(number)][0]}.")


def moderate_value(name: str, value: Any) -> None:
    """Refuse NaN, infinity, and numbers above `LARGEST_NUMBER` in size; traced values pass."""
    finite_value(name, value)
    if isinstance(value, jax.core.Tracer):
        return
    largest = float(np.abs(np.asarray(value, dtype=np.float64)).max(initial=0.0))
    if largest > LARGEST_NUMBER:
        raise InvalidArgument(
            f"{name} must be at most {LARGEST_NUMBER:g} in size, so that its square fits into "
            f"float32, got {largest:g}."
        )


def booleans(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return a boolean array of this shape, from True and False or from 1 and 0."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidType(f"{name} must be an array of shape {shape}, got a ragged one.") from None
    if array.shape != shape:
        raise InvalidArgument(f"{name} must have shape {shape}, got shape {array.shape}.")
    if array.dtype.kind not in "buif" or not np.isin(array, (0, 1)).all():
        odd = array if array.dtype.kind not in "buif" else array[~np.isin(array, (0, 1))]
        raise InvalidType(f"{name} must hold True and False only, got {odd.ravel()[0]!r}.")
    return array.astype(bool)


def one_index(name: str, value: Any, size: int) -> None:
    """Refuse anything but one index in 0 .. size - 1; traced values are checked by shape only."""
    if np.shape(value) != ():
        raise InvalidArgument(f"{name} must be one index, got shape {np.shape(value)}.")
    known_index(name, value, size)


def known_index(name: str, value: Any, size: int) -> None:
    """Refuse indices outside 0 .. size - 1; values that are being traced by JAX pass unchecked."""
    if isinstance(value, jax.core.Tracer):
        return
    known = np.asarray(value)
    if known.dtype.kind not in "ui":
        raise InvalidType(f"{name} must be an integer index, got {value!r}.")
    if known.size and not ((known >= 0) & (known < size)).all():
        outside = known.ravel()[np.argmax((known.ravel() < 0) | (known.ravel() >= size))]
        raise InvalidArgument(f"{name} must be an index below {size}, got {outside}.")


def check_action(action: Any, n_actions: int | None) -> Any:
    """Return the action as it is, if it is the index of an action; refuse it otherwise."""
    one_index("action", action, LARGEST_INDEX if n_actions is None else n_actions)
    return action


def check_reward(reward: Any) -> Any:
    """Return the reward as a float64 scalar; refuse NaN, infinity and enormous numbers."""
    if np.shape(reward) != ():
        raise InvalidArgument(f"reward must be one number, got shape {np.shape(reward)}.")
    moderate_value("reward", reward)
    known = not isinstance(reward, jax.core.Tracer)
    return np.float64(reward) if known else reward.astype(jnp.float64)


def check_mask(mask: Any, n_actions: int) -> jax.Array:
    """Return the mask as a boolean (A,) array; None means that every action is available.

    The values are verified, unless they are being traced by JAX.
    """
    if not isinstance(mask, jax.core.Tracer):
        return jnp.asarray(check_known_mask(mask, n_actions))
    if mask.shape != (n_actions,):
        raise InvalidArgument(f"mask must have shape ({n_actions},), got shape {mask.shape}.")
    return mask.astype(bool)


def check_known_mask(mask: Any, n_actions: int) -> NDArray[np.bool_]:
    """Return a mask that is not being traced as a boolean NumPy array, without using a device."""
    if mask is None:
        return np.ones(n_actions, dtype=bool)
    known = booleans("mask", mask, (n_actions,))
    if not known.any():
        raise InvalidArgument("mask must leave at least one available action, got none.")
    return known
