"""How does the service run? On one address, until it is told to stop; then it finishes its work.

SIGTERM and Ctrl+C stop it: it takes no new connection, answers every request that it has begun, and
closes its loops, so that whatever was acknowledged is in the store.
"""

import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from banditsrl.errors import InvalidArgument
from banditsrl.web.application import make_application
from banditsrl.web.connections import limit_headers
from banditsrl.web.gate import is_loopback
from banditsrl.web.limits import Limits
from banditsrl.web.loops import Loops
from banditsrl.web.tokens import TokenFile

if TYPE_CHECKING:
    from banditsrl.live.live_loop import Loop

BACKLOG = 2048
GRACE_SECONDS = 5
"""Time beyond the longest call that requests in progress are given when the service stops."""


def serve(
    openers: "Sequence[Callable[[], Loop]]",
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    tokens: str | Path | None = None,
    limits: Limits | None = None,
    announce: Callable[[str], object] = print,
) -> None:
    """Serve loops over HTTP until the process is told to stop.

    Args:
        openers: Functions that each open one loop, for example
            `functools.partial(Loop.open, "offers.db", warm_up=False)`.
        host: Address to listen on. Without tokens it must be one of this machine only.
        port: Port to listen on; 0 for any free one.
        tokens: File of tokens; see `make_token`.
        limits: How much a request may ask; see `Limits`.
        announce: Receives sentences for the person who started the service.

    Raises:
        InvalidArgument: If the address needs tokens, cannot be used, or a loop cannot be opened.
    """
    service = HttpService(openers, host=host, port=port, tokens=tokens, limits=limits)
    announce(f"The dashboard is at {service.address}/")
    if tokens is None:
        announce("No tokens were given, so only this machine can connect.")
    service.run()


class HttpService:
    """A service that has its address and is about to run; for the arguments see `serve`."""

    def __init__(
        self,
        openers: "Sequence[Callable[[], Loop]]",
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tokens: str | Path | None = None,
        limits: Limits | None = None,
    ) -> None:
        limits = limits or Limits()
        if tokens is None and not is_loopback(host):
            raise InvalidArgument(f"host must be a loopback address without tokens, got {host!r}.")
        accepted = None if tokens is None else TokenFile(Path(tokens))
        self.loops = Loops(openers, on_failure=self.stop)
        application = make_application(self.loops, tokens=accepted, limits=limits)
        self._server = uvicorn.Server(_configure(application, limits))
        self._socket = listen(host, port)

    @property
    def address(self) -> str:
        """The address of the service, without a slash at its end."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def stop(self) -> None:
        """Ask the service to finish what it has begun and end."""
        self._server.should_exit = True

    def run(self) -> None:
        """Serve until `stop`, SIGTERM or Ctrl+C."""
        with _no_second_signal():
            self._server.run(sockets=[self._socket])
        if self.loops.failure is not None:
            raise InvalidArgument(f"every loop must open, got {self.loops.failure}")

    @contextmanager
    def run_beside(self) -> Iterator[str]:
        """Serve in a thread while the block runs; gives the address once the loops are ready."""
        thread = threading.Thread(target=self._server.run, args=([self._socket],), name="http")
        thread.start()
        try:
            self.loops.wait()
            if self.loops.failure is not None:
                raise InvalidArgument(f"every loop must open, got {self.loops.failure}")
            yield self.address
        finally:
            self.stop()
            thread.join()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only if the protocol is named; otherwise the body of an
    # answer waits 40 ms for the acknowledgement of its headers.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise InvalidArgument(
            f"host and port must be free to listen on, got {host}:{port} ({error})."
        ) from None
    listening.listen(BACKLOG)
    return listening


def _configure(application: object, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        application,  # type: ignore[arg-type]
        http=limit_headers(limits.header_seconds),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_keep_alive=limits.keep_alive_seconds,
        timeout_graceful_shutdown=int(limits.call_seconds) + GRACE_SECONDS,
        backlog=BACKLOG,
    )


@contextmanager
def _no_second_signal() -> Iterator[None]:
    """Ignore signals outside the server, which raises those that have stopped it once more."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, _ignore) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore(_: int, __: object) -> None:
    """Do nothing: the server has its own handler while it runs."""
