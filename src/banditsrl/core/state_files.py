"""How does a policy's state survive a restart? One file with a schema version and a fingerprint.

A state means nothing without the policy that made it, so the file carries a description of that
policy (class, settings, and a digest of its arrays); a file of another schema version or of
another policy is refused rather than half understood.
"""

import dataclasses
import functools
import hashlib
import types
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array

from banditsrl.core import archive
from banditsrl.errors import StateFileError
from banditsrl.numerics.draws import is_key, key_words
from banditsrl.numerics.precision import in_float64

SCHEMA = 3
"""Raised whenever the layout of a state or of the file changes."""


@in_float64
def save_state(path: str | Path, policy: Any, state: Any) -> None:
    """Write `state` of `policy` to a file, in one piece or not at all."""
    path = Path(path)
    leaves = jax.tree.leaves(state)
    _verify(path, policy, state)
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
def load_state(path: str | Path, policy: Any) -> Any:
    """Read the state that `save_state` wrote for the same policy."""
    path = Path(path)
    try:
        header, leaves = archive.read(path)
    except OSError as error:
        raise StateFileError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except archive.Damaged:
        raise StateFileError(f"{path}: is not a state file, or is damaged.") from None
    if header.get("schema") != SCHEMA:
        raise StateFileError(
            f"{path}: schema must be {SCHEMA}, got {header.get('schema')!r}; "
            "it was written by another version."
        )
    written = header.get("policy")
    if written != describe(policy):
        raise StateFileError(
            f"{path}: holds the state of another policy ({difference(written, policy)})."
        )
    restored = [
        jax.random.wrap_key_data(array) if key else array
        for array, key in zip(jax.device_put(leaves), header["keys"], strict=True)
    ]
    _verify(path, policy, restored)
    structure = jax.tree.structure(jax.eval_shape(policy.init, jax.random.key(0)))
    return jax.tree.unflatten(structure, restored)


def _verify(path: Path, policy: Any, state: Any) -> None:
    """Refuse a state whose arrays are not those of the policy; buffers that start empty grow."""
    expected = jax.tree.leaves(jax.eval_shape(policy.init, jax.random.key(0)))
    found = jax.tree.leaves(state)
    if len(expected) != len(found):
        raise StateFileError(f"{path}: must hold {len(expected)} arrays, got {len(found)}.")
    for i, (wanted, leaf) in enumerate(zip(expected, found, strict=True)):
        shape = np.shape(leaf)
        if shape != wanted.shape and 0 not in wanted.shape:
            raise StateFileError(f"{path}: array {i} must have shape {wanted.shape}, got {shape}.")


def describe(thing: Any) -> Any:
    """What makes two policies the same: classes, settings, and digests of arrays, as JSON."""
    if isinstance(thing, np.generic):
        return thing.item()
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, list | tuple):
        return [describe(item) for item in thing]
    return _described_object(thing)


def _described_object(thing: Any) -> dict[str, Any]:
    if isinstance(thing, np.ndarray | Array):
        array = np.ascontiguousarray(key_words(thing))
        digest = hashlib.sha256(array.tobytes()).hexdigest()[:16]
        return {"array": [str(array.dtype), list(array.shape), digest]}
    if callable(getattr(thing, "__wrapped__", None)):  # a compiled function: by what it compiles
        return _described_object(thing.__wrapped__)
    if isinstance(thing, functools.partial):
        parts = {"of": thing.func, "args": thing.args, "keywords": thing.keywords}
        return {"class": "partial", **{name: describe(part) for name, part in parts.items()}}
    if hasattr(thing, "__code__"):
        return _described_function(thing)
    if isinstance(thing, dict):
        settings = thing
    elif dataclasses.is_dataclass(thing):
        settings = {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing)}
    else:
        settings = getattr(thing, "__dict__", {})
    named = {str(k): describe(v) for k, v in sorted(settings.items(), key=lambda kv: str(kv[0]))}
    return {"class": type(thing).__qualname__, **named}


def _described_function(function: Any) -> dict[str, Any]:
    """A function by its name, a digest of its code, and what it closes over."""
    code = hashlib.sha256(repr(_described_code(function.__code__)).encode())
    cells = [describe(cell.cell_contents) for cell in function.__closure__ or ()]
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if given:
        cells.append({"defaults": describe(given)})
    return {"function": function.__qualname__, "code": code.hexdigest()[:16], "closure": cells}


def _described_code(code: types.CodeType) -> list[Any]:
    """A code object without addresses: its instructions, names and constants."""
    constants = [
        _described_code(constant) if isinstance(constant, types.CodeType) else repr(constant)
        for constant in code.co_consts
    ]
    return [code.co_code.hex(), list(code.co_names), constants]


def difference(written: Any, policy: Any) -> str:
    """The first thing in which a written description and a policy differ, in words."""
    wanted = describe(policy)
    if not isinstance(written, dict) or written.get("class") != wanted.get("class"):
        found = written.get("class") if isinstance(written, dict) else written
        return f"{found}, not {wanted.get('class')}"
    name = next(k for k in {**written, **wanted} if written.get(k) != wanted.get(k))
    return f"{name} is not the same"
