"""How is a policy handed to a compiled program without being taken apart at each call? Held.

A policy or a problem has numbers (arrays, and bounds such as L and B), which a program takes as
inputs, and settings, for which it is compiled. `hold` separates the two once. A call then looks at
a list of arrays and at one hash, instead of at every field of every module; and problems that
differ in numbers only share a program.
"""

from collections.abc import Hashable
from typing import Any

import jax
import numpy as np

from banditsrl.numerics.seed_axis import double


class Settings:
    """All but the arrays: the structure, and every other leaf, with None in place of numbers."""

    def __init__(self, structure: Any, leaves: tuple[Any, ...]) -> None:
        self.structure, self.leaves = structure, leaves
        self._hash = hash((structure, leaves))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Settings):
            return self is other
        return self.structure == other.structure and self.leaves == other.leaves


@jax.tree_util.register_pytree_node_class
class Held:
    """Something with arrays and settings, separated; `jax.jit` compiles for the settings."""

    def __init__(self, arrays: tuple[Any, ...], settings: Settings) -> None:
        self.arrays, self.settings = arrays, settings

    def whole(self) -> Any:
        """What was held, put together again."""
        arrays = iter(self.arrays)
        leaves = [next(arrays) if leaf is None else _opened(leaf) for leaf in self.settings.leaves]
        return jax.tree.unflatten(self.settings.structure, leaves)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Settings]:
        """The arrays are what a program takes, the settings what it is compiled for."""
        return self.arrays, self.settings

    @classmethod
    def tree_unflatten(cls, settings: Settings, arrays: tuple[Any, ...]) -> "Held":
        """The reverse."""
        return cls(arrays, settings)


@double
def hold(thing: Any) -> Held:
    """`thing`, a policy or a problem, separated; NumPy's arrays become JAX's, once."""
    leaves, structure = jax.tree.flatten(thing)
    arrays = [
        np.float64(leaf) if isinstance(leaf, float) else leaf for leaf in leaves if _is_number(leaf)
    ]
    rest = [None if _is_number(leaf) else _hashable(leaf) for leaf in leaves]
    return Held(tuple(jax.device_put(arrays)), Settings(structure, tuple(rest)))


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | float)


class _Itself:
    """Something that has no hash, such as a plain dataclass: it is only equal to itself."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.thing is other.thing


def _hashable(leaf: Any) -> Any:
    return leaf if isinstance(leaf, Hashable) else _Itself(leaf)


def _opened(leaf: Any) -> Any:
    return leaf.thing if isinstance(leaf, _Itself) else leaf
