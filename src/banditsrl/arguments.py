"""Which values may an argument take? Checks at the border, each one sentence when it fails."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument, InvalidType


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
    """An integer not below `low`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidType(f"{name} must be an integer, got {value!r}.")
    if value < low:
        raise InvalidArgument(f"{name} must be at least {low}, got {value!r}.")
    return int(value)


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
        raise InvalidArgument(f"{name} must be finite, got {number}.")


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
