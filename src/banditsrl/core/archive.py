"""How are arrays and a small header kept in one file? As a NumPy archive with a checksum.

The file is written in one piece (see `core.files`). Whoever reads it gets exactly what was written,
or the exception `Damaged`.
"""

import hashlib
import io
import json
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from banditsrl.core.files import write_file

HEADER = "header"

READING_ERRORS = (
    EOFError,
    KeyError,
    NotImplementedError,
    SyntaxError,
    TypeError,
    ValueError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy and zipfile raise for a file that `write` did not write; they have no common error."""


class Damaged(Exception):
    """The content of a file is not what `write` wrote."""


def write(path: Path, header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> None:
    """Create or replace a file with arrays and a header of plain JSON, in one piece."""
    write_file(path, lambda stream: _write_entries(stream, header, arrays))


def pack(header: dict[str, Any], arrays: Sequence[NDArray[Any]]) -> bytes:
    """Return the content of the file that `write` would write."""
    stream = io.BytesIO()
    _write_entries(stream, header, arrays)
    return stream.getvalue()


def _write_entries(
    stream: BinaryIO, header: dict[str, Any], arrays: Sequence[NDArray[Any]]
) -> None:
    text = json.dumps({**header, "n": len(arrays), "digest": _digest(arrays)})
    named = {f"a{i}": array for i, array in enumerate(arrays)}
    np.savez(stream, allow_pickle=False, **{HEADER: np.array(text), **named})


def read(path: Path) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return the header and the arrays, or raise `Damaged` if they are not as they were written.

    Files of version 0.1 have no checksum. Of those only the header is returned, so that the caller
    can name the version.
    """
    with path.open("rb") as raw:
        return _read_entries(raw, str(path))


def unpack(content: bytes) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return the header and the arrays that `pack` was given, or raise `Damaged`."""
    return _read_entries(io.BytesIO(content), "the content")


def _read_entries(raw: BinaryIO, name: str) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    try:
        with np.load(raw, allow_pickle=False) as file:
            header: dict[str, Any] = dict(json.loads(str(file[HEADER])))
            if "digest" not in header:
                return header, []
            arrays = [file[f"a{i}"] for i in range(header["n"])]
            intact = header["digest"] == _digest(arrays)
    except READING_ERRORS as error:
        raise Damaged(name) from error
    if not intact:
        raise Damaged(name)
    return header, arrays


def _digest(arrays: Sequence[NDArray[Any]]) -> str:
    """Return a digest of the types, shapes and values of arrays."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
