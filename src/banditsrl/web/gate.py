"""May this request pass? Its token must have the scope; without tokens it must come from here.

A server without tokens listens on the loopback address only. That alone does not keep out a web
page in a browser on the same machine, so the name of the host and the origin are checked as well.
"""

from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from banditsrl.web.refusals import Refusal
from banditsrl.web.tokens import TokenFile

PERSONALIZER_HEADER = "ocp-apim-subscription-key"
"""Where clients of Azure Personalizer send their key."""

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="banditsrl"'}


class Gate:
    """Decides whether a request may pass.

    Args:
        tokens: The tokens, or None for a service on the loopback address without tokens.
    """

    def __init__(self, tokens: TokenFile | None = None) -> None:
        self.tokens = tokens

    def check(self, headers: Headers, scope: str | None) -> None:
        """Refuse a request that may not pass; `scope` is None for what everybody may see."""
        _check_origin(headers)
        if self.tokens is None:
            _check_host(headers)
            return
        if scope is None:
            return
        token = read_token(headers)
        if token is None:
            sentence = "This needs a token in the header Authorization, after the word Bearer."
            raise Refusal(HTTPStatus.UNAUTHORIZED, sentence, CHALLENGE)
        scopes = self.tokens.find_scopes(token)
        if scopes is None:
            raise Refusal(HTTPStatus.UNAUTHORIZED, "The token is not known.", CHALLENGE)
        if scope not in scopes:
            raise Refusal(HTTPStatus.FORBIDDEN, f"The token lacks the scope {scope}.")


def read_token(headers: Headers) -> str | None:
    """Return the token of a request, from either of the headers that may carry it."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get(PERSONALIZER_HEADER) or None


def is_loopback(host: str) -> bool:
    """Return whether a name or an address means this machine only.

    Example:
        >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "shop.com")]
        [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_host(headers: Headers) -> None:
    """Refuse other names of this machine, which a page elsewhere could have pointed at it."""
    if not is_loopback(_parse_host(headers.get("host", ""))):
        sentence = "A service without tokens answers only requests for localhost."
        raise Refusal(HTTPStatus.FORBIDDEN, sentence)


def _check_origin(headers: Headers) -> None:
    """Refuse requests that a page of another origin has sent."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
        raise Refusal(HTTPStatus.FORBIDDEN, "Pages of another origin may not call this service.")


def _parse_host(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
