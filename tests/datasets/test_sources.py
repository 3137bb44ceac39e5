"""Is a data file looked for in the right order, always checked, and never half-written?"""

import gzip
import hashlib
import io
import socket
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from banditsrl.core.files import cache_dir
from banditsrl.datasets import downloads
from banditsrl.datasets.downloads import DataFile
from banditsrl.datasets.sources import DataNotFound, find
from banditsrl.errors import InvalidArgument, InvalidProblem

CONTENT = b"1,-2,1\n300,4,2\n5,6,1\n"
PACKED = gzip.compress(CONTENT)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no named folder, and a pip that downloads nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("BANDITSRL_DATA", raising=False)
    monkeypatch.setattr(sys, "executable", script(tmp_path, "echo 'no index' >&2; exit 1"))
    return tmp_path / "cache" / "banditsrl"


def script(folder: Path, line: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return str(path)


class Server:
    """A web server on this machine that counts its requests."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}
        self.missing_bytes = 0
        self.asked: list[str] = []
        self.address = ""

    def url(self, name: str, answer: bytes | None = None) -> str:
        if answer is not None:
            self.answers[f"/{name}"] = answer
        return f"{self.address}/{name}"


@pytest.fixture
def server() -> Iterator[Server]:
    known = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked.append(self.path)
            answer = known.answers.get(self.path)
            if answer is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer) + known.missing_bytes))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield known
    http.shutdown()
    thread.join()
    http.server_close()


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as target:
        for name, content in members.items():
            target.writestr(name.replace("_", "."), content)
    return stream.getvalue()


def small(url: str = "http://127.0.0.1:9/none.zip") -> DataFile:
    return DataFile(
        "small.data",
        hashlib.sha256(CONTENT).hexdigest(),
        len(CONTENT),
        url=url,
        package="carrier==1.0",
        member="carrier/small.csv",
        page="https://example.org/small",
    )


def put(folder: Path, name: str = "small.data.gz", content: bytes = PACKED) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


def test_sources_are_asked_in_order(
    tmp_path: Path, cache: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = small(server.url("small.zip", archive(small_data_gz=PACKED)))
    given, named = put(tmp_path / "given", "small.data", CONTENT), put(tmp_path / "named")
    assert find(file).path == cache / "small.data.gz"
    assert server.asked == ["/small.zip"]
    assert find(file).path == cache / "small.data.gz"
    monkeypatch.setenv("BANDITSRL_DATA", str(named.parent))
    assert find(file).path == named
    found = find(file, data_dir=given.parent)
    assert (found.path, found.content) == (given, CONTENT)
    (tmp_path / "empty").mkdir()
    assert find(file, data_dir=tmp_path / "empty").path == cache / "small.data.gz"
    assert server.asked == ["/small.zip"]


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"other"), PACKED[:-9], b""],
    ids=["no gzip", "other content", "half", "empty"],
)
def test_a_wrong_file_is_refused_in_a_named_folder_and_replaced_in_the_cache(
    content: bytes, tmp_path: Path, cache: Path, server: Server
) -> None:
    file = small(server.url("small.zip", archive(small_data_gz=PACKED)))
    named, kept = put(tmp_path / "named", content=content), put(cache, content=content)
    with pytest.raises(
        InvalidProblem, match=rf"{named}: (must hold small\.data as|cannot be read)"
    ):
        find(file, data_dir=named.parent)
    assert not server.asked
    with pytest.warns(UserWarning, match=rf"{kept}: .* It is ignored"):
        assert find(file).content == CONTENT
    assert gzip.decompress(kept.read_bytes()) == CONTENT
    assert find(file).path == kept
    assert server.asked == ["/small.zip"]


def test_a_named_folder_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match=r"data_dir must be an existing folder, got '.*nowhe"):
        find(small(), data_dir=tmp_path / "nowhere")
    monkeypatch.setenv("BANDITSRL_DATA", "/nowhere/at/all")
    with pytest.raises(InvalidArgument, match="BANDITSRL_DATA must be an existing folder, got '/n"):
        find(small())


@pytest.mark.parametrize("members", [{"small_data": CONTENT}, {"small_data_gz": PACKED}])
def test_a_download_tells_its_progress_and_leaves_one_file(
    members: dict[str, bytes], cache: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = archive(**members)
    monkeypatch.setattr(downloads, "BLOCK", len(answer) // 3)
    told: list[tuple[int, int, str]] = []
    url = server.url("small.zip", answer)
    find(small(url), progress=lambda *report: told.append(report))
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
    assert len(told) >= 3
    assert told[-1] == (len(answer), len(answer), url)
    assert [path.name for path in cache.iterdir()] == ["small.data.gz"]


WRONG = [
    (b"<html>", 0, "File is not a zip file"),
    (archive(small_data=b"other"), 0, "not the published content"),
    (archive(small_data=CONTENT + b"more"), 0, "not the published content"),
    (archive(small_data_gz=PACKED[:20]), 0, "Compressed file ended"),
    (archive(another=CONTENT), 0, "no small.data in the archive"),
    (archive(small_data=CONTENT), 5, "the connection ended after"),
    (bytes(200_000), 0, "the archive is longer than 21 bytes"),
    (None, 0, "HTTP Error 404"),
]


@pytest.mark.parametrize(("answer", "missing", "reason"), WRONG)
def test_a_bad_answer_is_never_kept_and_its_reason_is_told(
    answer: bytes | None, missing: int, reason: str, cache: Path, server: Server
) -> None:
    server.missing_bytes = missing
    url = server.url("small.zip", answer)
    with pytest.raises(DataNotFound, match=rf"{url} \(.*{reason}"):
        find(small(url))
    assert list(cache.iterdir()) == []


def test_a_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/small.zip"
        with pytest.raises(DataNotFound, match="timed out"):
            find(small(url))


def test_when_nothing_can_be_reached_one_error_says_what_was_tried_and_what_to_do(
    cache: Path,
) -> None:
    with pytest.raises(OSError, match=r"small\.data was not found") as refused:
        find(small())
    message = str(refused.value)
    assert isinstance(refused.value, DataNotFound)
    for part in (
        "no such file in a named folder (data_dir, BANDITSRL_DATA)",
        f"no usable file in the cache {cache}",
        "http://127.0.0.1:9/none.zip (",
        "pip: carrier==1.0 (pip failed: no index)",
        "Put small.data.gz from https://example.org/small into a folder",
    ):
        assert part in message


def test_the_last_source_is_a_wheel_fetched_by_pip(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "carrier-1.0-cp37-cp37m-any.whl", "w") as wheel:
        wheel.writestr("carrier/small.csv", b"a,b,label\n" + CONTENT)
    copying = f'echo "$@" > {tmp_path}/words; while [ "$1" != --dest ]; do shift; done; '
    fake = script(tmp_path, f'{copying} cp {tmp_path}/*.whl "$2"')
    monkeypatch.setattr(sys, "executable", fake)
    assert find(small()).content == CONTENT
    assert gzip.decompress((cache / "small.data.gz").read_bytes()) == CONTENT
    words = (tmp_path / "words").read_text().split()
    assert words[:3] == ["-m", "pip", "download"]
    assert words[-1] == "carrier==1.0"
    wanted = "--no-deps --only-binary=:all: --python-version 3.7 --implementation cp --abi cp37m"
    assert {*wanted.split(), "--platform", "manylinux1_x86_64"} <= set(words)


def test_a_wheel_without_the_file_or_no_wheel_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", script(tmp_path, "exit 0"))
    with pytest.raises(DataNotFound, match=r"pip: carrier==1\.0 \(pip downloaded no wheel\)"):
        find(small())
    monkeypatch.setattr(sys, "executable", str(tmp_path / "not there"))
    with pytest.raises(DataNotFound, match=r"pip: carrier==1\.0 \(.*No such file"):
        find(small())
    monkeypatch.setattr(sys, "executable", script(tmp_path, "exec sleep 5"))
    monkeypatch.setattr(downloads, "PIP_TIMEOUT", 0.2)
    with pytest.raises(DataNotFound, match=r"pip: carrier==1\.0 \(.*timed out after 0\.2 seconds"):
        find(small())


def test_a_cache_that_can_not_be_written_is_told_before_anything_is_downloaded(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(DataNotFound, match="the cache must be a folder that can be written, got"):
        find(small(server.url("small.zip", archive(small_data=CONTENT))))
    assert not server.asked


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_only(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = small(server.url("small.zip", archive(small_data=CONTENT)))
    find(file)
    assert capfd.readouterr() == ("", "")
    (cache_dir() / "small.data.gz").unlink()
    monkeypatch.setattr(sys, "stderr", Terminal())
    find(file)
    assert "small.zip" in sys.stderr.getvalue()  # type: ignore[attr-defined]
