"""How is a file written so that a reader sees all of it or none of it? And where is the cache?

A file is written under a temporary name in the same folder, synced, and then renamed. If anything
fails on the way, the temporary file is removed and the old file stays as it was.
"""

import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from banditsrl.errors import InvalidArgument

PARTIAL = ".partial"
"""Ending of a file that is still being written."""


def write_file(path: Path, write: Callable[[BinaryIO], object], *, sync: bool = True) -> None:
    """Create or replace a file with what `write` puts into the stream that it is given.

    Args:
        path: The file. A link is followed, and a device or a pipe is written to directly.
        write: Receives the open file. Large content need not be held in memory as a whole.
        sync: Whether the content must be on disk before the file appears under its name. Without
            it a power cut may leave an empty file, which is fine for what is easily made again.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            write(stream)
        return
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}{PARTIAL}")
    stream = partial.open("xb")
    try:
        with stream:
            write(stream)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Create or replace a file with `content`, in one piece; see `write_file`."""
    write_file(path, lambda stream: stream.write(content), sync=sync)


def write_json(path: Path, document: Mapping[str, Any], *, sync: bool = True) -> None:
    """Create or replace a file with a JSON object, in one piece; see `write_file`."""
    content = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    write_bytes(path, content.encode(), sync=sync)


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, and refuse a file that holds anything else."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path}: cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InvalidArgument(f"{path}: is not valid JSON ({error}).") from error
    if not isinstance(document, dict):
        found = type(document).__name__
        raise InvalidArgument(f"{path}: must hold a JSON object, got {found}.")
    return document


def sync_file(path: Path) -> None:
    """Wait until a file that was written without `sync` is on disk."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def cache_dir() -> Path:
    """Return the folder of this user for downloads, compiled programs and other reusable files."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named:
        return Path(named) / "banditsrl"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "banditsrl" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "banditsrl"
    return Path.home() / ".cache" / "banditsrl"
