"""How do arrays and a few words about them go to disk? One file, in one piece or not at all.

The file is written under another name, synced and renamed, and carries a checksum: who reads it
gets what was written, or is told that it is damaged.
"""

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = "header"

DAMAGE = (
    EOFError,
    KeyError,
    NotImplementedError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a file that is none of ours may raise: NumPy and zipfile have no error for it."""


class Damaged(Exception):
    """The file is not what `write` wrote."""


def write(path: Path, header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    """Write the arrays and a header of plain JSON in place of what is there."""
    words = json.dumps({**header, "n": len(arrays), "digest": _digest(arrays)})
    named = {f"a{i}": array for i, array in enumerate(arrays)}
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **{HEADER: np.array(words), **named})
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The header and the arrays; `Damaged` if they are not as they were written.

    Files of version 0.1 had no checksum: of those only the header is given.
    """
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            header: dict[str, Any] = dict(json.loads(str(file[HEADER])))
            if "digest" not in header:
                return header, []
            arrays = [file[f"a{i}"] for i in range(header["n"])]
            intact = header["digest"] == _digest(arrays)
    except DAMAGE as error:
        raise Damaged(str(path)) from error
    if not intact:
        raise Damaged(str(path))
    return header, arrays


def _digest(arrays: Sequence[NDArray[Any]]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
