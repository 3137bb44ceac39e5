"""How is the service put together? The table of operations becomes an application of starlette."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_LATEST as TEXT
from starlette.applications import Starlette
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from banditsrl.errors import StoreUnavailable
from banditsrl.web import bodies
from banditsrl.web.dashboard import DASHBOARD_FILES, DashboardFile
from banditsrl.web.endpoints import Endpoint, Service, make_refusal
from banditsrl.web.gate import Gate
from banditsrl.web.limits import Limits, ThreadLimit
from banditsrl.web.loops import Loops
from banditsrl.web.managing import MANAGING
from banditsrl.web.metrics import Metrics
from banditsrl.web.openapi import describe_service
from banditsrl.web.operations import DECIDING, Call, Operation
from banditsrl.web.personalizer import PERSONALIZER
from banditsrl.web.reading import READING
from banditsrl.web.refusals import Refusal
from banditsrl.web.tokens import TokenFile


class WholeText(StringConvertor):
    """A parameter of a path that may hold any characters: ids may hold slashes and spaces."""

    regex = "(?s:.+)"


register_url_convertor("whole", WholeText())


def make_application(
    loops: Loops,
    *,
    tokens: TokenFile | None = None,
    limits: Limits | None = None,
) -> Starlette:
    """Return the service as an ASGI application.

    Args:
        loops: The loops. They are opened in the background when the application starts, and
            closed when it ends.
        tokens: The tokens that are accepted; None for a service without tokens, which answers
            requests for this machine only.
        limits: How much a request may ask; see `Limits`.
    """
    limits = limits or Limits()
    service = Service(
        loops=loops,
        gate=Gate(tokens),
        limits=limits,
        metrics=Metrics(loops),
        threads=ThreadLimit("decide", limits),
        readers=ThreadLimit("read", limits),
    )
    application = Starlette(
        routes=_list_routes(service),
        exception_handlers={HTTPException: _make_handler(service)},
        lifespan=_make_lifespan(service),
    )
    application.router.redirect_slashes = False
    return application


def list_operations(service: Service) -> tuple[Operation, ...]:
    """Return every operation of the service, those about itself included."""
    own = _list_own_operations(service)
    return (*DECIDING, *READING, *MANAGING, *PERSONALIZER, *own)


def _list_own_operations(service: Service) -> tuple[Operation, ...]:
    def health(_: Call) -> bodies.StateAnswer:
        return bodies.StateAnswer(True, "The service is running.")

    def ready(call: Call) -> bodies.StateAnswer:
        if not call.loops.ready:
            headers = {"Retry-After": "2"}
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, call.loops.state, headers)
        for name, loop in call.loops.opened.items():
            try:
                loop.status()
            except StoreUnavailable as error:
                raise StoreUnavailable(
                    f"The store of the loop {name!r} does not answer: {error}"
                ) from error
        return bodies.StateAnswer(True, call.loops.state)

    def metrics(_: Call) -> bytes:
        return service.metrics.write()

    return (
        Operation("GET", "/health", None, "Say whether it runs.", health, bodies.StateAnswer),
        Operation(
            *("GET", "/ready", None, "Say whether it can decide.", ready, bodies.StateAnswer),
            asks_store=True,
        ),
        Operation("GET", "/metrics", "read", "Metrics for Prometheus.", metrics, str, media=TEXT),
    )


def _list_routes(service: Service) -> list[BaseRoute]:
    operations = list_operations(service)
    by_path: dict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in operations:
        by_path[operation.path][operation.method] = operation
    description = describe_service(operations, tokens=service.gate.tokens is not None)

    def openapi(_: Call) -> dict[str, object]:
        return description

    own = Operation("GET", "/openapi.json", None, "This description.", openapi, bodies.Document)
    by_path[own.path]["GET"] = own
    routes: list[BaseRoute] = [
        Route(path.replace("}", ":whole}"), Endpoint(service, methods))
        for path, methods in by_path.items()
    ]
    return routes + [Route(file.path, DashboardFile(service, file)) for file in DASHBOARD_FILES]


def _make_handler(service: Service) -> Callable[[Request, Exception], Response]:
    """Return what answers requests that no endpoint has answered: those for unknown paths."""

    def handle(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        service.metrics.count_refusal(status)
        sentence = "There is nothing at this path; /openapi.json lists what there is."
        if status != HTTPStatus.NOT_FOUND:
            sentence = f"The request was refused: {HTTPStatus(status).phrase}."
        return make_refusal(Refusal(status, sentence))

    return handle


def _make_lifespan(service: Service) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def live(_: Starlette) -> AsyncIterator[None]:
        service.loops.start()
        try:
            yield
        finally:  # calls in progress end first, and then the loops
            service.threads.close()
            service.readers.close()
            service.loops.close()

    return live
