"""How does a long run survive being stopped? Its state is saved now and then.

`simulate` asks a checkpoint whether it is `due` at the end of a segment of steps, and hands it the
arrays of everything the run carries. All randomness is dealt from the seed and the step, so a run
that continues from those arrays ends with the same numbers as one that never stopped.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.core import archive
from banditsrl.errors import StateFileError
from banditsrl.numerics.draws import is_key, key_words

SCHEMA = 4
"""Raised whenever the layout of the file changes."""

REST_PER_SAVE = 50.0
"""After a save that took s seconds the next one waits at least this many times s."""


class Saved(NamedTuple):
    """What one batch of seeds needs in order to continue."""

    step: int  # the last step done
    arrays: list[NDArray[Any]]  # leaves of the reports so far and of the carry


class Checkpoint(Protocol):
    """Where a simulation keeps its state; `batch` counts its batches of seeds from zero."""

    def due(self) -> bool:
        """Return whether it is time to save."""

    def load(self, batch: int) -> Saved | None:
        """Return what was saved last, if it can be used."""

    def save(self, batch: int, saved: Saved) -> None:
        """Replace what was saved before by `saved`."""


class Slot(NamedTuple):
    """The place of one batch in a checkpoint, if there is one."""

    checkpoint: Checkpoint | None
    batch: int

    def load(self) -> Saved | None:
        """Return what was saved last."""
        return None if self.checkpoint is None else self.checkpoint.load(self.batch)

    def save_if_due(self, step: int, tree: Any) -> None:
        """Save the leaves of a pytree if it is time."""
        if self.checkpoint is not None and self.checkpoint.due():
            self.checkpoint.save(self.batch, Saved(step, pack(tree)))


class FileCheckpoint:
    """A checkpoint in a file that is replaced as a whole and carries a checksum.

    Args:
        path: The file; batches after the first get a number in its name.
        identity: What the state belongs to; a file of anything else is ignored.
        every: Seconds between two saves.
        say: Called with one sentence that says why a file was ignored.
    """

    def __init__(
        self,
        path: Path,
        *,
        identity: str,
        every: float = 30.0,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.path = path
        self.identity = identity
        self.every = every
        self.say = say
        self.spent = 0.0  # seconds before this start
        self._started = self._last = time.monotonic()
        self._cost = 0.0

    def due(self) -> bool:
        """Return whether `every` seconds have passed, or more if saving is slow."""
        return time.monotonic() - self._last >= max(self.every, REST_PER_SAVE * self._cost)

    def load(self, batch: int) -> Saved | None:
        """Return what was saved last; a file that is damaged or of another run is ignored."""
        path = self._file(batch)
        if not path.exists():
            return None
        try:
            header, arrays = archive.read(path)
        except (OSError, archive.Damaged):
            self.say(f"{path}: is damaged and is ignored; the run starts again.")
            return None
        if (header.get("schema"), header.get("identity")) != (SCHEMA, self.identity):
            self.say(f"{path}: is of another run or version and is ignored; the run starts again.")
            return None
        self.spent = float(header["seconds"])
        return Saved(int(header["step"]), arrays)

    def save(self, batch: int, saved: Saved) -> None:
        """Write the file in one piece."""
        began = time.monotonic()
        header = {
            "schema": SCHEMA,
            "identity": self.identity,
            "step": saved.step,
            "seconds": self.spent + began - self._started,
        }
        archive.write(self._file(batch), header, saved.arrays)
        self._last = time.monotonic()
        self._cost = self._last - began

    def _file(self, batch: int) -> Path:
        return self.path if batch == 0 else self.path.with_stem(f"{self.path.stem}-{batch}")


def drop_weak_types(tree: Any) -> Any:
    """Return the same arrays without weak types, which no file keeps."""

    def convert(leaf: Any) -> Any:
        weak = getattr(leaf, "weak_type", False)
        return jax.lax.convert_element_type(leaf, leaf.dtype) if weak else leaf

    return jax.tree.map(convert, tree)


def pack(tree: Any) -> list[NDArray[Any]]:
    """Return the leaves of a pytree as host arrays; random keys become their data."""
    return [np.asarray(key_words(leaf)) for leaf in jax.tree.leaves(tree)]


def unpack(example: Any, arrays: Sequence[NDArray[Any]]) -> tuple[Any, list[NDArray[Any]]]:
    """Return `arrays` in the structure of `example`, and the arrays that are left."""
    leaves = jax.tree.leaves(example)
    mine, rest = list(arrays[: len(leaves)]), list(arrays[len(leaves) :])
    wanted = [_shape(key_words(leaf)) for leaf in leaves]
    if [_shape(array) for array in mine] != wanted:
        raise StateFileError("checkpoint must hold the arrays of this policy, got other shapes.")
    restored = [_like(leaf, array) for leaf, array in zip(leaves, mine, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(example), restored), rest


def _shape(array: Any) -> tuple[tuple[int, ...], str]:
    return tuple(array.shape), str(array.dtype)


def _like(leaf: Any, array: NDArray[Any]) -> Any:
    if not isinstance(leaf, Array):
        return array
    restored = jax.device_put(array)
    return jax.random.wrap_key_data(restored) if is_key(leaf) else restored
