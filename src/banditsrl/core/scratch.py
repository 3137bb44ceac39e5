"""How is a temporary folder removed even if its process is killed? By the next process that asks.

A process holds a lock on its scratch folder for as long as it lives; the operating system releases
the lock when the process ends, however it ends. Whoever makes a scratch folder first removes the
folders whose lock is free. Where there are no such locks (Windows), nothing is removed this way.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PREFIX = "banditsrl-scratch-"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder in the temporary directory and remove it, with its content, afterwards."""
    _remove_abandoned_folders()
    folder, lock = _make_locked_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _remove_abandoned_folders() -> None:
    """Remove the scratch folders of this user whose process has ended without removing them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = _lock(folder, wait=False)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _make_locked_folder() -> tuple[Path, int | None]:
    """Make a folder and lock it; without locks, return None in place of one."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = _lock(folder, wait=True)
        if folder.exists():
            return folder, lock
        if lock is not None:  # another process removed the folder before it was locked
            os.close(lock)


def _lock(folder: Path, *, wait: bool) -> int | None:
    """Return a descriptor that locks a folder of this user, or None if it cannot be locked."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return descriptor
    except OSError:
        pass  # in use, or a file system without locks
    os.close(descriptor)
    return None
