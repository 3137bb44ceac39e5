"""Scratch folders: removed afterwards, and by the next process if theirs was killed."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from banditsrl.core.scratch import PREFIX, scratch_folder

PROGRAM = """
import time
from banditsrl.core.scratch import scratch_folder

with scratch_folder() as folder:
    (folder / "file").write_text("content")
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary directory for this test and the processes that it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_removed_even_if_the_block_fails(temporary: Path) -> None:
    def fail() -> None:
        with scratch_folder() as folder:
            (folder / "inner").mkdir()
            (folder / "inner" / "file").write_text("content")
            assert list(temporary.iterdir()) == [folder]
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(temporary.iterdir()) == []


def test_folders_in_use_and_folders_of_others_are_left_alone(temporary: Path) -> None:
    (temporary / "banditsrl-results").mkdir()
    (temporary / f"{PREFIX}link").symlink_to(temporary / "banditsrl-results")
    with scratch_folder() as outer:
        with scratch_folder() as inner:
            assert outer != inner
            assert outer.is_dir()
        assert outer.is_dir()
    names = sorted(path.name for path in temporary.iterdir())
    assert names == ["banditsrl-results", f"{PREFIX}link"]


def test_what_a_killed_process_left_is_removed_by_the_next_one(temporary: Path) -> None:
    process = subprocess.Popen(  # noqa: S603  (our own program)
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    (left,) = temporary.iterdir()
    with scratch_folder() as folder:
        assert sorted(temporary.iterdir()) == sorted([left, folder])  # it is in use
    process.kill()
    process.wait()
    process.stdout.close()
    assert left.is_dir()
    with scratch_folder() as folder:
        assert list(temporary.iterdir()) == [folder]
