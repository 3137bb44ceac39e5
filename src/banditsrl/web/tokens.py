"""Who may do what? Tokens with scopes, stored as hashes and compared in constant time.

A token is 32 random bytes, so a plain SHA-256 cannot be reversed by guessing; the slow hashes that
passwords need would only slow the service down. The file is read again when it changes, so that a
token can be added or removed without a restart.
"""

import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from banditsrl.core.files import write_json
from banditsrl.errors import InvalidArgument

SCOPES = ("decide", "reward", "read", "admin")
"""decide: ask for decisions. reward: report and activate. read: see everything. admin: change."""

PREFIX = "banditsrl_"
CHECK_SECONDS = 1.0
"""Time between two looks at whether the file has changed."""

log = logging.getLogger("banditsrl.web")


@dataclass(frozen=True)
class TokenEntry:
    """What the file holds about one token; the token itself is not among it."""

    name: str
    sha256: str
    scopes: tuple[str, ...]


def make_token(file: Path, scopes: Iterable[str], *, name: str | None = None) -> str:
    """Add a new token to a file and return it; this is the only time that it can be seen."""
    entries = read_entries(file) if file.exists() else ()
    name = name or f"token-{len(entries) + 1}"
    if any(entry.name == name for entry in entries):
        raise InvalidArgument(f"name must be new in {file.name}, got {name!r}.")
    token = PREFIX + secrets.token_urlsafe(32)
    entry = TokenEntry(name, _hash(token), _check_scopes(scopes))
    _write(file, (*entries, entry))
    return token


def remove_token(file: Path, name: str) -> None:
    """Remove the token of a name from a file."""
    entries = read_entries(file)
    kept = tuple(entry for entry in entries if entry.name != name)
    if len(kept) == len(entries):
        known = ", ".join(entry.name for entry in entries)
        raise InvalidArgument(f"name must be one of {known}, got {name!r}.")
    _write(file, kept)


def read_entries(file: Path) -> tuple[TokenEntry, ...]:
    """Return what a file of tokens holds."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        rows = document["tokens"]
        return tuple(TokenEntry(r["name"], r["sha256"], _check_scopes(r["scopes"])) for r in rows)
    except FileNotFoundError:
        raise InvalidArgument(f"tokens must be an existing file, got {file}.") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidArgument(f"tokens must be a readable file of tokens, got {file}.") from error


def _write(file: Path, entries: Iterable[TokenEntry]) -> None:
    write_json(file, {"tokens": [asdict(entry) for entry in entries]})
    file.chmod(0o600)


def _check_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(scopes))
    if not given or not set(given) <= set(SCOPES):
        raise InvalidArgument(f"scopes must be some of {', '.join(SCOPES)}, got {given}.")
    return given


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class TokenFile:
    """The tokens of a file, read again whenever it changes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._entries = read_entries(file)
        self._stamp = self._read_stamp()
        self._checked = time.monotonic()

    def find_scopes(self, token: str) -> frozenset[str] | None:
        """Return the scopes of a token, or None for an unknown one."""
        self._refresh()
        digest, found = _hash(token), None
        for entry in self._entries:  # all of them, so that the time does not tell which one fits
            if hmac.compare_digest(entry.sha256, digest):
                found = frozenset(entry.scopes)
        return found

    def _refresh(self) -> None:
        if time.monotonic() - self._checked < CHECK_SECONDS:
            return
        self._checked = time.monotonic()
        if (stamp := self._read_stamp()) == self._stamp:
            return
        self._stamp = stamp
        try:
            self._entries = read_entries(self.file)
        except InvalidArgument:
            self._entries = ()  # a file that cannot be read lets nobody in
            log.exception("The file of tokens cannot be read, so every request is refused.")

    def _read_stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
