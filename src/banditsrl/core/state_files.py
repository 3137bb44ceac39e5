"""How does the state of a policy survive a restart? In one file, with a description of the policy.

A state means nothing without the policy that made it. The file therefore carries a schema version
and a description of the policy (its class, its settings, and digests of its arrays). A file of
another schema version or of another policy is refused.
"""

import dataclasses
import functools
import hashlib
import types
from pathlib import Path
from typing import Any, Protocol

import jax
import numpy as np
from jax import Array

from banditsrl.core import archive
from banditsrl.core.outside_policy import OutsidePolicy
from banditsrl.core.policy import State
from banditsrl.errors import StateFileError
from banditsrl.numerics.draws import is_key, key_words
from banditsrl.numerics.precision import holds_broken_numbers, in_float64

SCHEMA = 3
"""Raised whenever the layout of a state or of the file changes."""


class StateMaker(Protocol):
    """What a state belongs to: a policy, or an object around a policy that adds to its state."""

    def init(self, key: Array) -> State:
        """Return the initial state."""


@in_float64
def save_state(path: str | Path, policy: StateMaker, state: State) -> None:
    """Write `state` of `policy` to a file, in one piece or not at all.

    A state that holds broken numbers (see `holds_broken_numbers`) is refused, except in arrays that
    have some from the start.
    """
    path = Path(path)
    leaves = jax.tree.leaves(state)
    _check_arrays(path, policy, state)
    _check_sound(path, policy, state)
    header = {
        "schema": SCHEMA,
        "policy": describe(policy),
        "keys": [is_key(leaf) for leaf in leaves],
    }
    if not path.parent.is_dir():
        raise StateFileError(f"{path}: cannot be written (there is no folder {path.parent}).")
    try:
        archive.write(path, header, [np.asarray(key_words(leaf)) for leaf in leaves])
    except OSError as error:
        raise StateFileError(f"{path}: cannot be written ({error.strerror or error}).") from error


@in_float64
def load_state(path: str | Path, policy: StateMaker) -> State:
    """Return the state that `save_state` wrote for the same policy."""
    path = Path(path)
    try:
        header, leaves = archive.read(path)
    except OSError as error:
        raise StateFileError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except archive.Damaged:
        raise StateFileError(f"{path}: is not a state file, or is damaged.") from None
    _check_header(path, header, policy)
    restored = [
        jax.random.wrap_key_data(array) if key else array
        for array, key in zip(jax.device_put(leaves), header["keys"], strict=True)
    ]
    _check_arrays(path, policy, restored)
    structure = jax.tree.structure(jax.eval_shape(policy.init, jax.random.key(0)))
    return jax.tree.unflatten(structure, restored)


def _check_header(path: Path, header: dict[str, Any], policy: StateMaker) -> None:
    """Refuse a file of another schema version or of another policy."""
    if header.get("schema") != SCHEMA:
        raise StateFileError(
            f"{path}: schema must be {SCHEMA}, got {header.get('schema')!r}; "
            "it was written by another version."
        )
    written, expected = header.get("policy"), describe(policy)
    if written != expected:
        difference = _find_difference(written, expected)
        raise StateFileError(f"{path}: holds the state of another policy ({difference}).")


def _check_arrays(path: Path, policy: StateMaker, state: State) -> None:
    """Refuse a state whose arrays do not have the shapes of the policy's initial state.

    An array that is empty at first is a buffer that grows, so it may have any shape.
    """
    expected = jax.tree.leaves(jax.eval_shape(policy.init, jax.random.key(0)))
    found = jax.tree.leaves(state)
    if len(expected) != len(found):
        raise StateFileError(f"{path}: must hold {len(expected)} arrays, got {len(found)}.")
    for i, (wanted, leaf) in enumerate(zip(expected, found, strict=True)):
        shape = np.shape(leaf)
        if shape != wanted.shape and 0 not in wanted.shape:
            raise StateFileError(f"{path}: array {i} must have shape {wanted.shape}, got {shape}.")


def _check_sound(path: Path, policy: StateMaker, state: State) -> None:
    """Refuse a state that is broken where the policy's initial state is not."""
    broken = [name for name, leaf in _name_leaves(state) if _is_broken(leaf)]
    if not broken:
        return
    start = policy.init(jax.random.key(0))
    usual = [name for name, leaf in _name_leaves(start) if _is_broken(leaf)]
    if unusual := [name for name in broken if name not in usual]:
        raise StateFileError(
            f"{path}: state must be finite to be saved, got NaN or infinity in {unusual[0]}."
        )


def _name_leaves(state: State) -> list[tuple[str, Any]]:
    """Return the arrays of a state with their names, such as .ridge.theta."""
    found, _ = jax.tree_util.tree_flatten_with_path(state)
    return [(jax.tree_util.keystr(place) or "the state", leaf) for place, leaf in found]


def _is_broken(leaf: Any) -> bool:
    return not is_key(leaf) and bool(holds_broken_numbers(np.asarray(leaf)))


def _find_difference(written: Any, expected: dict[str, Any]) -> str:
    """Name the first thing in which two descriptions of policies differ."""
    found = written.get("class") if isinstance(written, dict) else written
    if not isinstance(written, dict) or found != expected.get("class"):
        return f"{found}, not {expected.get('class')}"
    names = {**written, **expected}
    name = next(name for name in names if written.get(name) != expected.get(name))
    before, now = written.get(name), expected.get(name)
    if (
        isinstance(before, dict)
        and isinstance(now, dict)
        and now.get("class") not in (None, "partial")
    ):
        return f"{name}: {_find_difference(before, now)}"
    return f"{name} is not the same"


def describe(thing: Any) -> Any:
    """Return what makes two objects the same, as JSON: class, settings and digests of arrays.

    An outside policy counts as the object that it adapts.
    """
    if isinstance(thing, OutsidePolicy):
        return describe(thing.inner)
    if isinstance(thing, np.generic):
        return thing.item()
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, list | tuple):
        return [describe(item) for item in thing]
    return _describe_object(thing)


def _describe_object(thing: Any) -> dict[str, Any]:
    if isinstance(thing, np.ndarray | Array):
        array = np.ascontiguousarray(key_words(thing))
        digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
        return {"array": [str(array.dtype), list(array.shape), digest]}
    wrapped = getattr(thing, "__wrapped__", None)  # Python's mark of compiled and other wrappers
    if callable(wrapped):
        return _describe_object(wrapped)
    if isinstance(thing, functools.partial):
        parts = {"of": thing.func, "args": thing.args, "keywords": thing.keywords}
        return {"class": "partial", **{name: describe(part) for name, part in parts.items()}}
    if isinstance(thing, types.FunctionType | types.MethodType):
        return _describe_function(thing)
    settings = _read_settings(thing)
    named = {str(k): describe(v) for k, v in sorted(settings.items(), key=lambda kv: str(kv[0]))}
    return {"class": type(thing).__qualname__, **named}


def _read_settings(thing: Any) -> dict[Any, Any]:
    """Return the attributes of an object, or the items of a dictionary."""
    if isinstance(thing, dict):
        return thing
    if dataclasses.is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    return dict(getattr(thing, "__dict__", {}))  # objects with slots have none


def _describe_function(function: Any) -> dict[str, Any]:
    """Describe a function by its name, a digest of its code, and the values it closes over."""
    code = hashlib.sha256(repr(_describe_code(function.__code__)).encode())
    cells = [describe(cell.cell_contents) for cell in function.__closure__ or ()]
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if given:
        cells.append({"defaults": describe(given)})
    return {"function": function.__qualname__, "code": code.hexdigest()[:16], "closure": cells}


def _describe_code(code: types.CodeType) -> list[Any]:
    """Describe a code object by its instructions, names and constants, without addresses."""
    constants = [
        _describe_code(constant) if isinstance(constant, types.CodeType) else repr(constant)
        for constant in code.co_consts
    ]
    return [code.co_code.hex(), list(code.co_names), constants]
