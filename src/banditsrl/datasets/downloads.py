"""How is a data file downloaded? From an archive on the web, or from a Python wheel by pip.

Both functions return the content, decompressed and not yet checked. If they fail they raise one of
`UNREACHABLE` with a short reason. `sources` checks the content and stores it in the cache.
"""

import gzip
import io
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

TIMEOUT = 30.0
"""Seconds without an answer after which a download fails."""

PIP_TIMEOUT = 600.0
"""Seconds after which pip is stopped."""

BLOCK = 1 << 16
"""Bytes between two reports of progress."""

SLACK = 1 << 16
"""Bytes by which an archive may be longer than the content of its file; more is refused."""

UNREACHABLE = (
    OSError,
    HTTPException,
    ValueError,
    LookupError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
    subprocess.SubprocessError,
)
"""What a download raises when it fails."""

Progress = Callable[[int, int, str], None]
"""Called with the bytes received, the bytes in total (0 if unknown) and what is downloaded."""


@dataclass(frozen=True)
class DataFile:
    """One file: its name, the SHA-256 and the length of its content, and where to get it.

    Attributes:
        name: Name of the file without compression.
        sha256: SHA-256 of the decompressed content.
        n_bytes: Length of the decompressed content.
        url: Zip archive that holds the file, compressed or not; a file without a URL is part of the
            package.
        package: Requirement for pip whose wheel holds the content after a header line.
        member: Path of that copy inside the wheel.
        page: Web page from which people can download the file themselves.
    """

    name: str
    sha256: str
    n_bytes: int
    url: str = ""
    package: str = ""
    member: str = ""
    page: str = ""


def download_archive(file: DataFile, report: Progress) -> bytes:
    """Return the content of the file inside the archive at its URL."""
    with zipfile.ZipFile(io.BytesIO(_request(file, report))) as archive:
        names = {name.rsplit("/", 1)[-1]: name for name in archive.namelist()}
        if file.name in names:
            return _read_member(archive, names[file.name], file.n_bytes)
        if f"{file.name}.gz" not in names:
            raise LookupError(f"no {file.name} in the archive")
        with archive.open(names[f"{file.name}.gz"]) as packed, gzip.open(packed) as stream:
            return stream.read(file.n_bytes + 1)


def download_wheel(file: DataFile, report: Progress) -> bytes:
    """Return the content of the file inside a wheel from the Python package index."""
    report(0, 0, f"pip download {file.package}")
    with tempfile.TemporaryDirectory() as folder:
        _pip_download(file.package, folder)
        wheels = sorted(Path(folder).glob("*.whl"))
        if not wheels:
            raise LookupError("pip downloaded no wheel")
        with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(file.member) as stream:
            stream.readline()  # skips the header
            content = stream.read(file.n_bytes + 1)
    report(len(content), len(content), f"pip download {file.package}")
    return content


@contextmanager
def open_progress(progress: Progress | None) -> Iterator[Progress]:
    """Return the caller's progress function; without one, a bar on a terminal, or no output."""
    if progress is not None:
        yield progress
    elif sys.stderr.isatty():
        with _open_bar() as report:
            yield report
    else:
        yield lambda *_: None


def _request(file: DataFile, report: Progress) -> bytes:
    """Return what the URL answers; an answer much longer than the content is refused."""
    # S310 is silenced because addresses come from our own table of data sets.
    request = urllib.request.Request(file.url, headers={"User-Agent": "banditsrl"})  # noqa: S310
    answer = io.BytesIO()
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310
        total = int(response.headers.get("Content-Length") or 0)
        while block := response.read(BLOCK):
            answer.write(block)
            report(answer.tell(), total, file.url)
            if answer.tell() > file.n_bytes + SLACK:
                raise ValueError(f"the archive is longer than {file.n_bytes} bytes")
    if answer.tell() < total:
        raise ValueError(f"the connection ended after {answer.tell()} of {total} bytes")
    return answer.getvalue()


def _read_member(archive: zipfile.ZipFile, member: str, n_bytes: int) -> bytes:
    with archive.open(member) as stream:
        return stream.read(n_bytes + 1)


def _pip_download(package: str, folder: str) -> None:
    """Download a wheel by pip. It may be built for another Python, since only its data are used."""
    target = "--python-version 3.7 --implementation cp --abi cp37m --platform manylinux1_x86_64"
    options = f"--quiet --no-input --disable-pip-version-check --no-deps {target}"
    command = [sys.executable, "-m", "pip", "download", *options.split(), "--only-binary=:all:"]
    process = subprocess.run(  # noqa: S603 - no shell, and no argument comes from outside
        [*command, "--dest", folder, package],
        capture_output=True,
        text=True,
        timeout=PIP_TIMEOUT,
        check=False,
    )
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise OSError(f"pip failed: {last}")


@contextmanager
def _open_bar() -> Iterator[Progress]:
    """Draw a progress bar on stderr, which is removed at the end."""
    from rich.console import Console  # noqa: PLC0415 - imported only if a bar is drawn
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(received: int, total: int, what: str) -> None:
            bar.update(task, completed=received, total=total or None, description=what)

        yield report
