"""How is a policy handed to a compiled program? Split once into arrays and static settings.

A policy or a problem has numbers (arrays, and bounds such as L and B), which a program takes as
inputs, and settings, for which it is compiled. `partition` separates the two once. A call then
looks at a list of arrays and at one hash, instead of at every field of every module; and problems
that differ in numbers only share a program.
"""

from collections.abc import Hashable
from typing import Any, Generic, TypeVar

import jax
import numpy as np

from banditsrl.numerics.precision import in_float64

T = TypeVar("T")


class StaticPart:
    """All but the arrays: the structure, and every other leaf, with None in place of numbers."""

    def __init__(self, structure: Any, leaves: tuple[Any, ...]) -> None:
        self.structure, self.leaves = structure, leaves
        self._hash = hash((structure, leaves))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, StaticPart):
            return self is other
        return self.structure == other.structure and self.leaves == other.leaves


@jax.tree_util.register_pytree_node_class
class Partitioned(Generic[T]):
    """An object split into arrays and settings; `jax.jit` compiles for the settings."""

    def __init__(self, arrays: tuple[Any, ...], static: StaticPart) -> None:
        self.arrays, self.static = arrays, static

    def combine(self) -> T:
        """Return the object that was split."""
        arrays = iter(self.arrays)
        leaves = [next(arrays) if leaf is None else _unwrap(leaf) for leaf in self.static.leaves]
        whole: T = jax.tree.unflatten(self.static.structure, leaves)
        return whole

    def tree_flatten(self) -> tuple[tuple[Any, ...], StaticPart]:
        """Return what a program takes, and what it is compiled for."""
        return self.arrays, self.static

    @classmethod
    def tree_unflatten(cls, static: StaticPart, arrays: tuple[Any, ...]) -> "Partitioned[T]":
        """Undo `tree_flatten`."""
        return cls(arrays, static)


@in_float64
def partition(thing: T) -> Partitioned[T]:
    """Split a policy or a problem; NumPy arrays become arrays of JAX, once."""
    leaves, structure = jax.tree.flatten(thing)
    arrays = [
        np.float64(leaf) if isinstance(leaf, float) else leaf for leaf in leaves if _is_number(leaf)
    ]
    rest = [None if _is_number(leaf) else _make_hashable(leaf) for leaf in leaves]
    return Partitioned(tuple(jax.device_put(arrays)), StaticPart(structure, tuple(rest)))


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | float)


class _Identity:
    """Wraps something that has no hash, such as a plain dataclass: it equals only itself."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.thing is other.thing


def _make_hashable(leaf: Any) -> Any:
    return leaf if isinstance(leaf, Hashable) else _Identity(leaf)


def _unwrap(leaf: Any) -> Any:
    return leaf.thing if isinstance(leaf, _Identity) else leaf
