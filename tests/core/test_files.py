"""Files: whole or not at all, and the cache is where each system keeps it."""

import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from banditsrl.core.files import cache_dir, read_json, write_bytes, write_file, write_json
from banditsrl.errors import InvalidArgument


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["os.fsync", "pathlib.Path.replace"])
def test_a_write_that_is_interrupted_keeps_the_old_file_and_leaves_nothing_else(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")
    monkeypatch.setattr(place, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(path, b"new, half written")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_writer_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    def fail_half_way(stream: BinaryIO) -> None:
        stream.write(b"half")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        write_file(tmp_path / "file", fail_half_way)
    assert list(tmp_path.iterdir()) == []


def test_a_reader_never_sees_half_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")

    def write_and_look(stream: BinaryIO) -> None:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"

    write_file(path, write_and_look)
    assert path.read_bytes() == b"new"


def test_a_link_is_followed_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_bytes(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"content"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", lambda stream: stream.write(b"content"))
    assert os.read(reader, 100) == b"content"
    os.close(reader)


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_bytes(tmp_path, b"content")
    with pytest.raises(FileNotFoundError):
        write_bytes(tmp_path / "nowhere" / "file", b"content")
    assert list(tmp_path.iterdir()) == []


def test_json_comes_back_and_other_content_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    write_json(path, {"ε": [1, None]})
    assert path.read_text(encoding="utf-8") == '{\n "ε": [\n  1,\n  null\n ]\n}\n'
    assert read_json(path) == {"ε": [1, None]}
    for content, message in ((b"{", "is not valid JSON"), (b"[]", "must hold a JSON object")):
        path.write_bytes(content)
        with pytest.raises(InvalidArgument, match=f"{path}: {message}"):
            read_json(path)
    with pytest.raises(InvalidArgument, match=r"cannot be read \(No such file"):
        read_json(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", ".cache/banditsrl"),
        ("darwin", "Library/Caches/banditsrl"),
        ("win32", "AppData/Local/banditsrl/cache"),
    ],
)
def test_the_cache_is_where_each_system_keeps_it(
    platform: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_dir() == tmp_path / expected
