"""How much may one request ask of the service? Bytes, seconds, and calls at the same time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from banditsrl.errors import InvalidArgument
from banditsrl.web.refusals import Refusal

T = TypeVar("T")

CLOSE = {"Connection": "close"}
"""Sent where the rest of the request will not be read."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of the service.

    Attributes:
        body_bytes: Size of a body.
        header_bytes: Size of the request line and the headers.
        header_seconds: Time to send them in.
        body_seconds: Time to send a body in.
        call_seconds: Time after which the service stops waiting for the loop.
        keep_alive_seconds: Time that an idle connection stays open.
        n_threads: Number of calls of a loop at the same time. Reading has as many of its own.
        n_waiting: Number of calls that may wait for a thread.
    """

    body_bytes: int = 1 << 20
    header_bytes: int = 16 << 10
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    call_seconds: float = 30.0
    keep_alive_seconds: int = 30
    n_threads: int = 32
    n_waiting: int = 256

    def __post_init__(self) -> None:
        for field in fields(self):
            if not (value := getattr(self, field.name)) > 0:
                raise InvalidArgument(f"{field.name} must be positive, got {value}.")


def check_headers(request: Request, limits: Limits) -> None:
    """Refuse headers that are too large; the protocol notices only those that come in pieces."""
    scope = request.scope
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    size += sum(len(name) + len(value) for name, value in scope["headers"])
    if size > limits.header_bytes:
        sentence = f"The headers must have at most {limits.header_bytes:,} bytes."
        raise Refusal(HTTPStatus.BAD_REQUEST, sentence, CLOSE)


async def read_body(request: Request, limits: Limits) -> bytes:
    """Return the body of a request, or refuse one that is too large or comes too slowly."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal():
        raise Refusal(HTTPStatus.BAD_REQUEST, "Content-Length must be a number.", CLOSE)
    if int(declared) > limits.body_bytes:
        raise _too_large(limits)
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await _collect(request, limits)
    except TimeoutError:
        sentence = f"The body must arrive within {limits.body_seconds:g} seconds."
        raise Refusal(HTTPStatus.REQUEST_TIMEOUT, sentence, CLOSE) from None
    except ClientDisconnect:
        sentence = "The connection was closed before the body was complete."
        raise Refusal(HTTPStatus.BAD_REQUEST, sentence, CLOSE) from None


async def _collect(request: Request, limits: Limits) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limits.body_bytes:  # a body of unknown length is cut off here
            raise _too_large(limits)
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(limits: Limits) -> Refusal:
    sentence = f"The body must have at most {limits.body_bytes:,} bytes."
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence, CLOSE)


class ThreadLimit:
    """A few threads for calls that block, and a bounded number of calls that wait for them.

    Without the bound, an overload would become a queue that grows for ever and answers nobody in
    time. A call that finds the queue full is refused at once, and may be repeated.
    """

    def __init__(self, name: str, limits: Limits) -> None:
        self._pool = ThreadPoolExecutor(limits.n_threads, thread_name_prefix=name)
        self._most = limits.n_threads + limits.n_waiting
        self._seconds = limits.call_seconds
        self._n_calls = 0

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Return what the function returns, called in a thread."""
        if self._n_calls >= self._most:
            sentence = f"The service has {self._n_calls} calls in progress; try again soon."
            raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, sentence, {"Retry-After": "1"})
        self._n_calls += 1
        running = asyncio.get_running_loop().run_in_executor(self._pool, function, *args)
        running.add_done_callback(self._count_down)  # counts until it ends, waited for or not
        try:
            return await asyncio.wait_for(asyncio.shield(running), self._seconds)
        except TimeoutError:
            sentence = (
                f"The loop did not answer within {self._seconds:g} seconds; the request may still "
                "be carried out: repeat a decision with the same id, a reward with the same key."
            )
            raise Refusal(HTTPStatus.GATEWAY_TIMEOUT, sentence) from None

    def _count_down(self, running: "asyncio.Future[Any]") -> None:
        self._n_calls -= 1
        if not running.cancelled():
            running.exception()  # marks it as seen where nobody waits any more

    def close(self) -> None:
        """Wait until the calls in progress have ended."""
        self._pool.shutdown(wait=True)
