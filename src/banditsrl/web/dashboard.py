"""Which files make up the dashboard? A page, a style and two scripts, all from this package.

The page holds no data: its script asks for it with the reader's token. The policy of the page lets
it load nothing from elsewhere and run nothing but its own scripts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from banditsrl.reports.colours import define_palette
from banditsrl.web.endpoints import Service, make_refusal
from banditsrl.web.refusals import Refusal, refuse

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True)
class StaticFile:
    """A file of the dashboard: its path, its type, and what returns its content."""

    path: str
    media: str
    read: Callable[[], str]


def _read(name: str) -> Callable[[], str]:
    return lambda: files("banditsrl.web").joinpath(name).read_text(encoding="utf-8")


def _read_style() -> str:
    """Return the style of report pages with the additions of the dashboard."""
    page = files("banditsrl.reports").joinpath("page.css").read_text(encoding="utf-8")
    return define_palette() + page + _read("dashboard.css")()


DASHBOARD_FILES = (
    StaticFile("/", "text/html", _read("dashboard.html")),
    StaticFile("/dashboard.css", "text/css", _read_style),
    StaticFile("/charts.js", "text/javascript", _read("charts.js")),
    StaticFile("/dashboard.js", "text/javascript", _read("dashboard.js")),
)


class DashboardFile:
    """Answers requests for one file of the dashboard."""

    def __init__(self, service: Service, file: StaticFile) -> None:
        self.service = service
        self.media = file.media
        self.content = file.read()
        if service.gate.tokens is not None:  # the page then asks for a token first of all
            self.content = self.content.replace("<html ", '<html data-tokens="yes" ', 1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        response = Response(self.content, headers=HEADERS, media_type=self.media)
        try:
            self.service.gate.check(request.headers, None)
            if request.method not in ("GET", "HEAD"):
                sentence = f"This path takes GET, HEAD, not {request.method}."
                allow = {"Allow": "GET, HEAD"}
                raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, sentence, allow)
        except Refusal as error:
            self.service.metrics.count_refusal(error.status)
            response = make_refusal(refuse(error))
        await response(scope, receive, send)
