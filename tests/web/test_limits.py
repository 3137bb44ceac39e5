"""Are large, slow and too many requests cut off? On a real socket, byte by byte where needed."""

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from fake_loop import FakeLoop

from banditsrl.errors import InvalidArgument
from banditsrl.web.limits import Limits

SECONDS = 20.0
"""A test fails if the server has not answered by then; it answers in less than one."""


def exchange(client: Any, *parts: bytes, pause: float = 0.0) -> tuple[int, dict[str, Any]]:
    """Send bytes, then return the status and the document of the answer; the server must close."""
    place = urlsplit(str(client.base_url))
    with socket.create_connection((place.hostname, place.port), SECONDS) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def head(client: Any, length: int) -> bytes:
    lines = [
        "POST /v1/decide HTTP/1.1", f"Host: {client.base_url.netloc.decode()}",
        "Content-Type: application/json", f"Content-Length: {length}", "", "",
    ]  # fmt: skip
    return "\r\n".join(lines).encode()


def test_a_slow_body_is_cut_off(start: Callable[..., Any], loop: FakeLoop) -> None:
    client = start(loop, limits=Limits(body_seconds=0.3))
    status, answer = exchange(client, head(client, 100), b'{"context"')
    assert status == 408
    assert answer["error"]["message"] == "The body must arrive within 0.3 seconds."
    assert loop.records == []


def test_slow_headers_are_cut_off(start: Callable[..., Any], loop: FakeLoop) -> None:
    client = start(loop, limits=Limits(header_seconds=0.3))
    status, answer = exchange(client, b"POST /v1/decide HTTP/1.1\r\nHost: x")
    assert status == 408
    assert answer["error"]["message"] == "The headers must arrive within 0.3 seconds."


def test_the_second_request_of_a_connection_has_a_deadline_too(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    client = start(loop, limits=Limits(header_seconds=0.3))
    place = urlsplit(str(client.base_url))
    with socket.create_connection((place.hostname, place.port), SECONDS) as connection:
        connection.sendall(f"GET /health HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
        assert receive(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /hea")
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    assert received.startswith(b"HTTP/1.1 408")


def test_the_rest_of_a_refused_request_has_a_deadline(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    client = start(loop, limits=Limits(header_seconds=0.3, keep_alive_seconds=60))
    place = urlsplit(str(client.base_url))
    lines = f"POST /v1/models/resume?x=1 HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 9000"
    with socket.create_connection((place.hostname, place.port), SECONDS) as connection:
        connection.sendall(lines.encode() + b"\r\n\r\n")
        assert receive(connection).startswith(b"HTTP/1.1 422")
        with pytest.raises(ConnectionError):
            drip(connection)


def receive(connection: socket.socket) -> bytes:
    """Return one answer, which may come in several parts; its body is a JSON object."""
    received = b""
    while not received.endswith(b"}"):
        chunk = connection.recv(65536)
        assert chunk, received
        received += chunk
    return received


def drip(connection: socket.socket) -> None:
    """Send one byte at a time until the other side has had enough."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        connection.sendall(b"a")
        time.sleep(0.05)


def test_a_refused_request_whose_body_comes_later_keeps_its_connection(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    client = start(loop, limits=Limits(header_seconds=0.5))
    place = urlsplit(str(client.base_url))
    lines = f"POST /v1/models/resume?x=1 HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 4"
    with socket.create_connection((place.hostname, place.port), SECONDS) as connection:
        connection.sendall(lines.encode() + b"\r\n\r\n")
        assert receive(connection).startswith(b"HTTP/1.1 422")
        connection.sendall(b"ab")
        time.sleep(0.1)
        connection.sendall(b"cd")
        time.sleep(1.0)  # idle, and longer than headers may take
        connection.sendall(f"GET /health HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
        assert receive(connection).startswith(b"HTTP/1.1 200")


def test_a_connection_that_sends_nothing_is_closed(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    client = start(loop, limits=Limits(header_seconds=0.3))
    status, _ = exchange(client)
    assert status == 408


def test_what_is_not_http_is_refused_in_the_same_shape(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    status, answer = exchange(start(loop), b"\x16\x03\x01\x02\x00 hello\r\n\r\n")
    assert status == 400
    assert answer["error"]["code"] == "BadRequest"


def test_large_headers_are_refused(start: Callable[..., Any], loop: FakeLoop) -> None:
    client = start(loop, limits=Limits(header_bytes=4096))
    lines = f"GET /health HTTP/1.1\r\nHost: {client.base_url.netloc.decode()}\r\nX: "
    status, answer = exchange(client, lines.encode(), b"a" * 5000)
    assert status == 400
    assert set(answer["error"]) == {"code", "message"}
    status, answer = exchange(client, lines.encode() + b"a" * 4096 + b"\r\n\r\n")  # in one piece
    assert status == 400
    assert answer["error"]["message"] == "The headers must have at most 4,096 bytes."
    assert client.get("/health", headers={"X": "a" * 3000}).status_code == 200


def test_a_large_body_is_refused_before_it_is_read(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    client = start(loop, limits=Limits(body_bytes=1000))
    status, answer = exchange(client, head(client, 1001))
    assert status == 413
    assert answer["error"]["message"] == "The body must have at most 1,000 bytes."


def test_a_large_body_of_unknown_length_is_cut_off(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    client = start(loop, limits=Limits(body_bytes=1000))
    first = head(client, 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunk = b"200\r\n" + b"a" * 512 + b"\r\n"
    status, _ = exchange(client, first, chunk, chunk)
    assert status == 413
    assert loop.records == []


def test_a_body_of_exactly_the_limit_is_read(start: Callable[..., Any], loop: FakeLoop) -> None:
    body = json.dumps({"context": {"a": "x" * 100}}).encode()
    client = start(loop, limits=Limits(body_bytes=len(body)))
    kind = {"Content-Type": "application/json"}
    assert client.post("/v1/decide", content=body, headers=kind).status_code == 200
    assert client.post("/v1/decide", content=body + b" ", headers=kind).status_code == 413


def test_calls_beyond_the_limit_are_refused_and_the_others_answered(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    client = start(loop, limits=Limits(n_threads=2, n_waiting=1))
    loop.delay = 0.5
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(client.post("/v1/decide", json={"context": {}}).status_code)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(statuses)) == [200, 429]
    assert statuses.count(200) == len(loop.records)
    loop.delay = 0.0
    assert client.post("/v1/decide", json={"context": {}}).status_code == 200


def test_a_call_that_takes_too_long_is_answered_and_does_not_hold_others_up(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    client = start(loop, limits=Limits(call_seconds=0.2))
    loop.delay = 1.0
    answer = client.post("/v1/decide", json={"context": {}, "id": "slow"})
    assert answer.status_code == 504
    assert (
        "repeat a decision with the same id, a reward with the same key"
        in answer.json()["error"]["message"]
    )
    assert client.get("/health").status_code == 200


def test_stopping_answers_what_was_begun(start: Callable[..., Any], loop: FakeLoop) -> None:
    from banditsrl.web.server import HttpService

    loop.delay = 0.5
    service = HttpService([lambda: loop])
    import httpx

    statuses: list[int] = []
    with service.run_beside() as address, httpx.Client(base_url=address, trust_env=False) as client:
        asking = threading.Thread(
            target=lambda: statuses.append(
                client.post("/v1/decide", json={"context": {}}).status_code
            )
        )
        asking.start()
        time.sleep(0.2)
        service.stop()
        asking.join()
    assert statuses == [200]
    assert loop.closed


@pytest.mark.parametrize("name", ["body_bytes", "n_threads", "call_seconds"])
def test_limits_must_be_positive(name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name} must be positive, got 0"):
        Limits(**{name: 0})
