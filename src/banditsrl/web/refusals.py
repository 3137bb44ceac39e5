"""How does the service refuse a request? One sentence, a fitting status, always the same shape.

Everything that is wrong with a request is raised as a `Refusal`, and errors of the loop are turned
into one here. The shape is that of Azure Personalizer, so that its clients can read it too.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from banditsrl.errors import BanditSRLError, Conflict, LoopError, NotFound, StoreUnavailable

log = logging.getLogger("banditsrl.web")

INTERNAL = "The service failed for a reason of its own; its log has the details."

STATUSES: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (NotFound, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (StoreUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (LoopError, HTTPStatus.CONFLICT),
    (BanditSRLError, HTTPStatus.UNPROCESSABLE_ENTITY),
)
"""Status of each kind of error; the first kind that fits decides."""


class RefusalDetail(msgspec.Struct, frozen=True):
    """Why a request was refused."""

    code: str
    message: str


class RefusalAnswer(msgspec.Struct, frozen=True):
    """The answer to every request that is refused."""

    error: RefusalDetail


class Refusal(BanditSRLError):
    """A request that is not carried out; nothing was changed."""

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = int(status)
        self.headers = dict(headers or {})

    def encode(self) -> bytes:
        """Return the body of the answer."""
        return encode_refusal(self.status, str(self))


def encode_refusal(status: int, sentence: str) -> bytes:
    """Return the body of a refusal as JSON.

    Example:
        >>> encode_refusal(404, "There is nothing here.")
        b'{"error":{"code":"NotFound","message":"There is nothing here."}}'
    """
    code = "".join(word for word in HTTPStatus(status).phrase.title() if word.isalpha())
    return msgspec.json.encode(RefusalAnswer(RefusalDetail(code, sentence)))


def refuse(error: Exception) -> Refusal:
    """Return the refusal that stands for an error of any kind."""
    if isinstance(error, Refusal):
        return error
    for kind, status in STATUSES:
        if isinstance(error, kind):
            headers = {"Retry-After": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
            return Refusal(status, make_sentence(str(error)), headers)
    log.error("A request failed.", exc_info=error)
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL)


def make_sentence(text: str) -> str:
    """Return a message as one sentence on one line, with a full stop.

    Example:
        >>> make_sentence("value must be between 0 and 1, got 7")
        'value must be between 0 and 1, got 7.'
    """
    line = " ".join(text.split())
    return line if line.endswith((".", "!", "?")) else f"{line}."
