"""How is a request carried out? Gate, limits, decoding, the call in a thread, and the answer.

There is one endpoint per path. Everything that can go wrong on the way becomes a `Refusal`, and
nothing is called before the whole request has been checked.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from banditsrl.web.gate import Gate
from banditsrl.web.limits import Limits, ThreadLimit, check_headers, read_body
from banditsrl.web.loops import Loops
from banditsrl.web.metrics import Metrics
from banditsrl.web.operations import Call, Operation
from banditsrl.web.refusals import Refusal, refuse

JSON = "application/json"
ENCODER = msgspec.json.Encoder()
UNKNOWN_FIELD = re.compile(r"Object contains unknown field `[^`]*`")  # not of an object inside it
PATTERN = re.compile(r"`str` matching regex '.*'", re.DOTALL)  # only ids have one
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True)
class Service:
    """What all endpoints share."""

    loops: Loops
    gate: Gate
    limits: Limits
    metrics: Metrics
    threads: ThreadLimit  # for what decides, learns and changes
    readers: ThreadLimit  # for what only reads, so that a long history delays no decision


class Endpoint:
    """Answers the requests to one path."""

    def __init__(self, service: Service, operations: Mapping[str, Operation]) -> None:
        self.service = service
        self.operations = dict(operations)
        self._decoders = {
            method: msgspec.json.Decoder(operation.body)
            for method, operation in operations.items()
            if operation.body is not None
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        started = time.perf_counter()
        method = "GET" if request.method == "HEAD" else request.method
        operation = self.operations.get(method)
        try:
            if operation is None:
                raise self._refuse_method(request.method)
            response = await self._carry_out(operation, request)
        except Exception as error:
            response = make_refusal(refuse(error))
        name = "unknown" if operation is None else operation.name
        self.service.metrics.count(name, response.status_code, time.perf_counter() - started)
        await response(scope, receive, send)

    def _refuse_method(self, method: str) -> Refusal:
        allowed = [*self.operations, "HEAD"] if "GET" in self.operations else [*self.operations]
        names = ", ".join(sorted(allowed))
        sentence = f"This path takes {names}, not {method}."
        return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, sentence, {"Allow": names})

    async def _carry_out(self, operation: Operation, request: Request) -> Response:
        service = self.service
        check_headers(request, service.limits)
        service.gate.check(request.headers, operation.scope)
        query = decode_query(operation, request)
        path = {name: decode_text(operation.path_types[name], name, text)
                for name, text in request.path_params.items()}  # fmt: skip
        body = await self._decode_body(operation, request)
        call = Call(service.loops, body, query, path)
        if operation.asks_store:  # in a thread of its own, however busy the others are
            return make_answer(operation, await to_thread.run_sync(operation.run, call))
        if operation.scope is None:  # answered without a thread, however busy the service is
            return make_answer(operation, operation.run(call))
        threads = service.readers if operation.scope == "read" else service.threads
        answer = await threads.run(operation.run, call)
        service.metrics.count_decisions(call.decisions)
        return make_answer(operation, answer)

    async def _decode_body(self, operation: Operation, request: Request) -> Any:
        if operation.body is None:
            return None
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            sentence = f"The body must be {JSON}, got {kind or 'no content type'}."
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, sentence, {"Connection": "close"})
        raw = await read_body(request, self.service.limits)
        try:
            return self._decoders[operation.method].decode(raw)
        except msgspec.ValidationError as error:
            raise unfit("The body", error, operation.body) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            sentence = f"The body must be JSON: {' '.join(str(error).split())}."
            raise Refusal(HTTPStatus.BAD_REQUEST, sentence) from None


def decode_query(operation: Operation, request: Request) -> Any:
    """Return the query parameters as their struct; refuse unknown and repeated ones."""
    items = request.query_params.multi_items()
    given = dict(items)
    if len(given) < len(items):
        sentence = "A query parameter must be given once, got one of them twice."
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, sentence)
    if operation.query is None:
        if given:
            sentence = "This path takes no query parameters."
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, sentence)
        return None
    try:
        return msgspec.convert(given, operation.query, strict=False)
    except msgspec.ValidationError as error:
        raise unfit("The query", error, operation.query) from None


def decode_text(kind: Any, name: str, text: str) -> Any:
    """Return a parameter of a path as its type."""
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        raise unfit(f"The {name} in the path", error) from None


def unfit(what: str, error: Exception, struct: type[msgspec.Struct] | None = None) -> Refusal:
    """Return the refusal of something that has the wrong shape; `struct` is the right one."""
    reason = PATTERN.sub("printable characters", str(error))
    if struct is not None and UNKNOWN_FIELD.fullmatch(reason):
        known = [field.encode_name for field in msgspec.structs.fields(struct)]
        reason = f"{reason} (known: {', '.join(known)})"
    sentence = f"{what} does not fit: {reason[:1].lower()}{reason[1:]}."
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, sentence)


def make_answer(operation: Operation, answer: Any) -> Response:
    """Return the response with an answer."""
    if operation.answer is None:
        return Response(status_code=operation.status, headers=HEADERS)
    media = operation.media
    content = ENCODER.encode(answer) if media is None else answer
    return Response(content, operation.status, HEADERS, media_type=media or JSON)


def make_refusal(refusal: Refusal) -> Response:
    """Return the response with a refusal."""
    headers = {**HEADERS, **refusal.headers}
    return Response(refusal.encode(), refusal.status, headers, media_type=JSON)
