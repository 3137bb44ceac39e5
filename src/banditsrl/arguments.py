"""Which values may an argument take? Checks at the border, each one sentence when it fails."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument, InvalidType

LARGEST_COUNT = 2**63 - 1

LARGEST_INDEX = 2**31 - 1
"""Indices of actions are kept in 32 bits."""


def real(name: str, value: object) -> float:
    """A finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidType(f"{name} must be a real number, got {value!r}.")
    if not math.isfinite(value):
        raise InvalidArgument(f"{name} must be finite, got {value!r}.")
    return float(value)


def positive(name: str, value: object) -> float:
    """A real number above zero."""
    return above(name, value, 0.0)


def positive_or_none(name: str, value: object) -> float | None:
    """A real number above zero, or None."""
    return None if value is None else positive(name, value)


def above(name: str, value: object, low: float) -> float:
    """A real number strictly above `low`."""
    number = real(name, value)
    if number <= low:
        raise InvalidArgument(f"{name} must be greater than {low:g}, got {value!r}.")
    return number


def at_least(name: str, value: object, low: float) -> float:
    """A real number not below `low`."""
    number = real(name, value)
    if number < low:
        raise InvalidArgument(f"{name} must be at least {low:g}, got {value!r}.")
    return number


def probability(name: str, value: object) -> float:
    """A real number strictly between zero and one."""
    number = real(name, value)
    if not 0.0 < number < 1.0:
        raise InvalidArgument(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    return number


def count(name: str, value: object, low: int = 1) -> int:
    """An integer not below `low`, and not so large that an array could not have as many entries."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidType(f"{name} must be an integer, got {value!r}.")
    if value < low:
        raise InvalidArgument(f"{name} must be at least {low}, got {value!r}.")
    if int(value) > LARGEST_COUNT:
        raise InvalidArgument(f"{name} must be at most 2^63 - 1, got {value!r}.")
    return int(value)


def flag(name: str, value: object) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidType(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def one_of(name: str, value: object, allowed: Sequence[str]) -> str:
    """One of a few words."""
    if value not in allowed:
        raise InvalidArgument(f"{name} must be one of {', '.join(allowed)}, got {value!r}.")
    return str(value)


def finite_array(name: str, value: Any, shape: str) -> NDArray[np.float64]:
    """A float64 array without NaN or infinity whose number of axes is that of `shape`.

    `shape` is written for people, like ``"(n_contexts, n_actions, dim)"``.
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
    """Refuse NaN and infinity in a value that is known now (traced values pass)."""
    if isinstance(value, jax.core.Tracer):
        return
    number = np.asarray(value)
    if number.dtype.kind not in "buif":
        raise InvalidType(f"{name} must be a number, got {value!r}.")
    if not np.isfinite(number).all():
        raise InvalidArgument(f"{name} must be finite, got {number[~np.isfinite(number)][0]}.")


def booleans(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """An array of True and False (or 1 and 0) of this shape."""
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
    """Refuse anything but one index in 0 .. size - 1, where it is known now."""
    if np.shape(value) != ():
        raise InvalidArgument(f"{name} must be one index, got shape {np.shape(value)}.")
    known_index(name, value, size)


def known_index(name: str, value: Any, size: int) -> None:
    """Refuse an index outside 0 .. size - 1, or none, where it is known now."""
    if isinstance(value, jax.core.Tracer):
        return
    known = np.asarray(value)
    if known.dtype.kind not in "ui":
        raise InvalidType(f"{name} must be an integer index, got {value!r}.")
    if known.size and not ((known >= 0) & (known < size)).all():
        outside = known.ravel()[np.argmax((known.ravel() < 0) | (known.ravel() >= size))]
        raise InvalidArgument(f"{name} must be an index below {size}, got {outside}.")


def check_action(action: Any, n_actions: int | None) -> Any:
    """Return the action as it is; what is known not to be the index of an action is refused."""
    one_index("action", action, LARGEST_INDEX if n_actions is None else n_actions)
    return action


def check_reward(reward: Any) -> Any:
    """Return the reward as a float64 scalar; NaN and infinity are refused where they are known."""
    if np.shape(reward) != ():
        raise InvalidArgument(f"reward must be one number, got shape {np.shape(reward)}.")
    finite_value("reward", reward)
    known = not isinstance(reward, jax.core.Tracer)
    return np.float64(reward) if known else reward.astype(jnp.float64)


def check_mask(mask: Any, n_actions: int) -> jax.Array:
    """Return the mask as a boolean (A,) array; None means every action is available.

    A mask whose values are known now is verified.
    """
    if not isinstance(mask, jax.core.Tracer):
        return jnp.asarray(check_known_mask(mask, n_actions))
    if mask.shape != (n_actions,):
        raise InvalidArgument(f"mask must have shape ({n_actions},), got shape {mask.shape}.")
    return mask.astype(bool)


def check_known_mask(mask: Any, n_actions: int) -> NDArray[np.bool_]:
    """Return a mask whose values are known now as a NumPy array, without using a device."""
    if mask is None:
        return np.ones(n_actions, dtype=bool)
    known = booleans("mask", mask, (n_actions,))
    if not known.any():
        raise InvalidArgument("mask must leave at least one available action, got none.")
    return known
