"""How long may a client take to send its headers? A connection that is too slow is closed.

The server's own protocol waits for ever for the end of the headers, so that a few hundred clients
that send one byte a minute could use up its connections. It also refuses what is not HTTP in plain
text; here it does so in the shape of every other refusal.
"""

import asyncio
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from banditsrl.web.refusals import encode_refusal

PHRASES = {status: HTTPStatus(status).phrase.encode() for status in (400, 408)}


class TimedProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the headers of each request."""

    header_seconds = 10.0
    _deadline: asyncio.TimerHandle | None = None
    _is_rest = False  # whether the clock runs for the rest of a body that nobody reads

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock: a client that connects must send a request."""
        super().connection_made(transport)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Stop the clock when the headers are complete, and start it when the next ones begin.

        A request may be refused before its body has come. The rest of it is not read, and must end
        within the same time.
        """
        super().data_received(data)
        is_rest = self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY
        waits = is_rest or self.conn.their_state is h11.IDLE
        if not waits or is_rest != self._is_rest or self.transport.is_closing():
            self._stop_clock()
        if (is_rest or (waits and not self._is_rest)) and self._deadline is None:
            self._start_clock()
        self._is_rest = is_rest

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or has too large headers."""
        self._refuse(400, msg)

    def _start_clock(self) -> None:
        self._deadline = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self._is_rest:
            self.transport.close()
        elif self.conn.our_state is h11.IDLE and not self.transport.is_closing():
            self._refuse(408, f"The headers must arrive within {self.header_seconds:g} seconds.")

    def _refuse(self, status: int, sentence: str) -> None:
        body = encode_refusal(status, sentence)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        response = h11.Response(status_code=status, headers=headers, reason=PHRASES[status])
        try:
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        except h11.LocalProtocolError:  # an answer is already under way
            pass
        self.transport.close()


def limit_headers(seconds: float) -> type[TimedProtocol]:
    """Return the protocol with a deadline for the headers."""
    return type("LimitedProtocol", (TimedProtocol,), {"header_seconds": seconds})
