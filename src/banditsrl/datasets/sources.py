"""Where is a data file found? In the package, a folder, the cache, or by a download.

A file that is not part of the package is looked for in this order: a folder that the user names
(`data_dir`, or BANDITSRL_DATA), the user's cache, a download, and a copy inside a package of the
Python index. Its content is always checked by SHA-256 after decompression. A wrong file in a folder
that the user named is refused. A wrong file in the cache is ignored with a warning, and replaced by
the next correct one.
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
    download_archive,
    download_wheel,
    open_progress,
)
from banditsrl.errors import BanditSRLError, InvalidArgument, InvalidProblem

SHIPPED = Path(__file__).parent / "data"

COMPRESSION = 3
"""Level of gzip: six times as fast as the default level, and files are a tenth larger."""


class DataNotFound(BanditSRLError, OSError):
    """A data file was not found; the message lists what was tried and what to do."""


class LocalFile(NamedTuple):
    """A file on this machine whose content was checked: its path and decompressed content."""

    path: Path
    content: bytes


def find(
    file: DataFile, *, data_dir: str | Path | None = None, progress: Progress | None = None
) -> LocalFile:
    """Return a checked copy of a file from the first source that has one."""
    if not file.url:
        path = SHIPPED / f"{file.name}.gz"
        return LocalFile(path, _read_checked(path, file))
    found = find_in_folder(file, data_dir)
    if found:
        return found
    tried = ["no such file in a named folder (data_dir, BANDITSRL_DATA)"]
    folder = cache_dir()
    try:
        found = _look_in(folder, file)
    except InvalidProblem as error:
        warnings.warn(f"{error} It is ignored.", stacklevel=2)
    if found:
        return found
    tried.append(f"no usable file in the cache {folder}")
    return _download(file, folder, tried, progress)


def locate(file: DataFile, data_dir: str | Path | None = None) -> Path | None:
    """Return where a file is on this machine, without reading it; None if it is not here."""
    named = data_dir or os.environ.get("BANDITSRL_DATA") or None
    folders = [Path(named), cache_dir()] if named else [cache_dir()]
    for folder in folders if file.url else [SHIPPED]:
        for path in (folder / f"{file.name}.gz", folder / file.name):
            if path.is_file():
                return path
    return None


def find_in_folder(file: DataFile, data_dir: str | Path | None) -> LocalFile | None:
    """Return the copy in the folder that the user names, or None; a wrong copy is refused."""
    folder, name = data_dir, "data_dir"
    if folder is None:
        folder, name = os.environ.get("BANDITSRL_DATA") or None, "BANDITSRL_DATA"
    if folder is None:
        return None
    if not Path(folder).is_dir():
        raise InvalidArgument(f"{name} must be an existing folder, got {str(folder)!r}.")
    return _look_in(Path(folder), file)


def _look_in(folder: Path, file: DataFile) -> LocalFile | None:
    for path in (folder / f"{file.name}.gz", folder / file.name):
        if path.is_file():
            return LocalFile(path, _read_checked(path, file))
    return None


def _read_checked(path: Path, file: DataFile) -> bytes:
    """Return the decompressed content of a file on disk; refuse it if the SHA-256 is wrong."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            content = stream.read(file.n_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidProblem(f"{path}: cannot be read ({error}).") from error
    if not _is_published(content, file):
        raise InvalidProblem(
            f"{path}: must hold {file.name} as published (SHA-256 {file.sha256[:12]}...), "
            "got different content."
        )
    return content


def _is_published(content: bytes, file: DataFile) -> bool:
    return hashlib.sha256(content).hexdigest() == file.sha256


def _download(
    file: DataFile, folder: Path, tried: list[str], progress: Progress | None
) -> LocalFile:
    """Download a file and store it in the cache; `tried` lists the sources that had no copy."""
    _check_writable(folder)
    with open_progress(progress) as report:
        for what, source in (
            (file.url, download_archive),
            (f"pip: {file.package}", download_wheel),
        ):
            try:
                content = source(file, report)
            except UNREACHABLE as error:
                tried.append(f"{what} ({error})")
                continue
            if _is_published(content, file):
                target = folder / f"{file.name}.gz"
                packed = gzip.compress(content, COMPRESSION, mtime=0)
                write_bytes(target, packed, sync=False)  # its content is checked when it is read
                return LocalFile(target, content)
            tried.append(f"{what} (not the published content)")
    raise DataNotFound(
        f"{file.name} was not found: {'; '.join(tried)}. Put {file.name}.gz from {file.page} "
        "into a folder and name that folder by data_dir or BANDITSRL_DATA."
    )


def _check_writable(folder: Path) -> None:
    """Refuse a cache folder that cannot be written, before anything is downloaded."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise DataNotFound(
            f"the cache must be a folder that can be written, got {folder} ({error.strerror}); "
            "name another one by XDG_CACHE_HOME."
        ) from error
