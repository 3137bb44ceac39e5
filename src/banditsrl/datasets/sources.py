"""Where is the content of a data file found? In the package, a folder, the cache, or elsewhere.

A file that is not shipped is looked for in this order: a folder the user names (`data_dir`, or
BANDITSRL_DATA), the user's cache, a download, and a copy inside a package of the Python index.
Whatever brings it, its content is checked by SHA-256 after decompression. A wrong file in a folder
the user named is refused; a wrong one in the cache is named in a warning, passed over, and
replaced by the next good one.
"""

import gzip
import hashlib
import os
import tempfile
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

from banditsrl.core.files import cache_dir, write_bytes
from banditsrl.datasets.downloads import (
    UNREACHABLE,
    DataFile,
    Progress,
    downloaded,
    from_package,
    reporting,
)
from banditsrl.errors import BanditSRLError, InvalidArgument, InvalidProblem

SHIPPED = Path(__file__).parent / "data"

COMPRESSION = 3
"""Six times as fast as the default level, for a tenth more bytes."""


class DataNotFound(BanditSRLError, OSError):
    """A data file could be reached nowhere; the message lists what was tried and what to do."""


class Found(NamedTuple):
    """A checked copy: where it lies and what it holds, decompressed."""

    path: Path
    content: bytes


def find(
    file: DataFile, *, data_dir: str | Path | None = None, progress: Progress | None = None
) -> Found:
    """A checked copy of a file, from the first source that has one."""
    if not file.url:
        path = SHIPPED / f"{file.name}.gz"
        return Found(path, _checked(path, file))
    found = in_folder(file, data_dir)
    if found:
        return found
    tried = ["no such file in a named folder (data_dir, BANDITSRL_DATA)"]
    folder = cache_dir()
    try:
        found = _in(folder, file)
    except InvalidProblem as error:
        warnings.warn(f"{error} It is passed over.", stacklevel=2)
    if found:
        return found
    tried.append(f"no usable file in the cache {folder}")
    return _fetched(file, folder, tried, progress)


def in_folder(file: DataFile, data_dir: str | Path | None) -> Found | None:
    """The copy in the folder the user names, if it has one; a wrong one is refused."""
    folder, name = data_dir, "data_dir"
    if folder is None:
        folder, name = os.environ.get("BANDITSRL_DATA") or None, "BANDITSRL_DATA"
    if folder is None:
        return None
    if not Path(folder).is_dir():
        raise InvalidArgument(f"{name} must be an existing folder, got {str(folder)!r}.")
    return _in(Path(folder), file)


def _in(folder: Path, file: DataFile) -> Found | None:
    for path in (folder / f"{file.name}.gz", folder / file.name):
        if path.is_file():
            return Found(path, _checked(path, file))
    return None


def _checked(path: Path, file: DataFile) -> bytes:
    """The decompressed content of a file on disk, refused unless it is the right one."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            content = stream.read(file.n_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidProblem(f"{path}: cannot be read ({error}).") from error
    if not _right(content, file):
        raise InvalidProblem(
            f"{path}: must hold {file.name} as published (SHA-256 {file.sha256[:12]}...), "
            "got another content."
        )
    return content


def _right(content: bytes, file: DataFile) -> bool:
    return hashlib.sha256(content).hexdigest() == file.sha256


def _fetched(file: DataFile, folder: Path, tried: list[str], progress: Progress | None) -> Found:
    """Bring a file from elsewhere and keep it in the cache."""
    _writable(folder)
    with reporting(progress) as report:
        for what, source in ((file.url, downloaded), (f"pip: {file.package}", from_package)):
            try:
                content = source(file, report)
            except UNREACHABLE as error:
                tried.append(f"{what} ({error})")
                continue
            if _right(content, file):
                target = folder / f"{file.name}.gz"
                packed = gzip.compress(content, COMPRESSION, mtime=0)
                write_bytes(target, packed, sync=False)  # it is checked when it is read
                return Found(target, content)
            tried.append(f"{what} (not the published content)")
    raise DataNotFound(
        f"{file.name} was found nowhere: {'; '.join(tried)}. Put {file.name}.gz from {file.page} "
        "into a folder and name that folder by data_dir or BANDITSRL_DATA."
    )


def _writable(folder: Path) -> None:
    """Refuse a cache that can not be written before anything is downloaded into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise DataNotFound(
            f"the cache must be a folder that can be written, got {folder} ({error.strerror}); "
            "name another one by XDG_CACHE_HOME."
        ) from error
