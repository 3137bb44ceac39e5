"""How is a state kept in a store? As bytes that name their schema, the policy and the build.

A state can always be computed from the log and is kept only to save time. A state of another schema
or of other settings is therefore never an error: `unpack_state` returns None, and the loop is
computed again from the log.
"""

import hashlib
import json
import os
import platform
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from banditsrl.core import archive
from banditsrl.core.policy import Policy, State
from banditsrl.core.state_files import SCHEMA, describe
from banditsrl.experiments.environment import read_versions
from banditsrl.numerics.draws import is_key, key_words
from banditsrl.numerics.precision import in_float64

PROCESSOR_FILE = Path("/proc/cpuinfo")
"""Where Linux says which instructions the processor has."""


@lru_cache(maxsize=1)
def describe_build() -> str:
    """Return what decides the last bit of a number: versions, processor and compiler options."""
    words = [f"{name} {version}" for name, version in read_versions()]
    words += [platform.machine(), _digest_processor(), os.environ.get("XLA_FLAGS", "")]
    config: Any = jax.config
    if config.read("jax_disable_most_optimizations"):
        words.append("not optimised")
    return ", ".join(word for word in words if word)


def _digest_processor() -> str:
    """Return a digest of the instructions that the processor has, for which XLA compiles."""
    try:
        lines = PROCESSOR_FILE.read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return platform.processor()
    named = {line.partition(":")[0].strip(): line for line in reversed(lines)}
    features = named.get("flags") or named.get("Features") or ""
    return hashlib.sha256(features.encode()).hexdigest()[:8] if features else platform.processor()


def digest_settings(policy: Policy[Any]) -> str:
    """Return a digest of the policy with all its settings, and of the layout of states."""
    text = json.dumps([SCHEMA, describe(policy)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@in_float64
def pack_state(state: State) -> bytes:
    """Return a state as bytes."""
    leaves = jax.tree.leaves(state)
    header = {"schema": SCHEMA, "keys": [is_key(leaf) for leaf in leaves]}
    return archive.pack(header, [np.asarray(key_words(leaf)) for leaf in leaves])


def digest_content(content: bytes) -> str:
    """Return a digest of the arrays of a state, which two states share only if all bits agree."""
    header, _ = archive.unpack(content)
    return str(header["digest"])


@in_float64
def lay_out_state(policy: Policy[Any]) -> State:
    """Return a state without values: the shapes and types of its arrays."""
    return jax.eval_shape(policy.init, jax.random.key(0))


@in_float64
def unpack_state(content: bytes, layout: State) -> State | None:
    """Return the state in bytes, or None if it does not fit a layout (see `lay_out_state`)."""
    try:
        header, arrays = archive.unpack(content)
    except archive.Damaged:
        return None
    expected, structure = jax.tree.flatten(layout)
    if header.get("schema") != SCHEMA or len(arrays) != len(expected):
        return None
    leaves = [
        jax.random.wrap_key_data(array) if key else array
        for array, key in zip(jax.device_put(arrays), header["keys"], strict=True)
    ]
    fits = [
        leaf.shape == wanted.shape or 0 in wanted.shape
        for leaf, wanted in zip(leaves, expected, strict=True)
    ]
    return jax.tree.unflatten(structure, leaves) if all(fits) else None
