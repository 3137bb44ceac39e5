"""How is a data file brought from elsewhere? From an archive on the web, or out of a wheel by pip.

Both return the content, decompressed and unchecked, or raise one of `UNREACHABLE` with a message
that says in a few words why not; checking and keeping it is the business of `sources`.
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
"""Seconds without an answer after which a download is given up."""

PIP_TIMEOUT = 600.0
"""Seconds after which pip is given up."""

BLOCK = 1 << 16
"""Bytes between two reports of progress."""

SLACK = 1 << 16
"""Bytes by which an archive may exceed the content of its file before it is cut off."""

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

Progress = Callable[[int, int, str], None]
"""Called with the bytes done, the bytes in all (0 if unknown) and what is being fetched."""


@dataclass(frozen=True)
class DataFile:
    """One file: its name, the SHA-256 and the length of its content, and who else has it.

    Attributes:
        name: Its name without compression.
        sha256: Of the decompressed content.
        n_bytes: Length of the decompressed content.
        url: A zip archive that holds the file, compressed or not; a file without one is shipped.
        package: A requirement for pip whose wheel holds the content behind a header line.
        member: The path of that copy inside the wheel.
        page: Where people get the file by hand.
    """

    name: str
    sha256: str
    n_bytes: int
    url: str = ""
    package: str = ""
    member: str = ""
    page: str = ""


def downloaded(file: DataFile, report: Progress) -> bytes:
    """The content of the file inside the archive at its URL."""
    with zipfile.ZipFile(io.BytesIO(_answer(file, report))) as archive:
        names = {name.rsplit("/", 1)[-1]: name for name in archive.namelist()}
        if file.name in names:
            return _read(archive, names[file.name], file.n_bytes)
        if f"{file.name}.gz" not in names:
            raise LookupError(f"no {file.name} in the archive")
        with archive.open(names[f"{file.name}.gz"]) as packed, gzip.open(packed) as stream:
            return stream.read(file.n_bytes + 1)


def from_package(file: DataFile, report: Progress) -> bytes:
    """The content of the file inside a wheel of the Python package index."""
    report(0, 0, f"pip download {file.package}")
    with tempfile.TemporaryDirectory() as folder:
        _pip_download(file.package, folder)
        wheels = sorted(Path(folder).glob("*.whl"))
        if not wheels:
            raise LookupError("pip brought no wheel")
        with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(file.member) as stream:
            stream.readline()  # the header
            content = stream.read(file.n_bytes + 1)
    report(len(content), len(content), f"pip download {file.package}")
    return content


@contextmanager
def reporting(progress: Progress | None) -> Iterator[Progress]:
    """The caller's progress function, or a bar on a terminal, or silence."""
    if progress is not None:
        yield progress
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield lambda *_: None


def _answer(file: DataFile, report: Progress) -> bytes:
    """What the URL answers, never much longer than the content itself."""
    # Addresses are ours, or the person's own: hence S310 is silenced.
    request = urllib.request.Request(file.url, headers={"User-Agent": "banditsrl"})  # noqa: S310
    answer = io.BytesIO()
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310
        total = int(response.headers.get("Content-Length") or 0)
        while block := response.read(BLOCK):
            answer.write(block)
            report(answer.tell(), total, file.url)
            if answer.tell() > file.n_bytes + SLACK:
                raise ValueError(f"an archive of more than {file.n_bytes} bytes")
    if answer.tell() < total:
        raise ValueError(f"broke off after {answer.tell()} of {total} bytes")
    return answer.getvalue()


def _read(archive: zipfile.ZipFile, member: str, n_bytes: int) -> bytes:
    with archive.open(member) as stream:
        return stream.read(n_bytes + 1)


def _pip_download(package: str, folder: str) -> None:
    """Let pip fetch the wheel, built for another Python if need be: only its data are used."""
    target = "--python-version 3.7 --implementation cp --abi cp37m --platform manylinux1_x86_64"
    options = f"--quiet --no-input --disable-pip-version-check --no-deps {target}"
    command = [sys.executable, "-m", "pip", "download", *options.split(), "--only-binary=:all:"]
    done = subprocess.run(  # noqa: S603 - no shell, and no word of it comes from outside
        [*command, "--dest", folder, package],
        capture_output=True,
        text=True,
        timeout=PIP_TIMEOUT,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise OSError(f"pip failed: {last}")


@contextmanager
def _bar() -> Iterator[Progress]:
    """A progress bar on stderr, gone when done."""
    from rich.console import Console  # noqa: PLC0415 - only where it is shown
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total or None, description=what)

        yield report
