"""Which store does an address mean? A path is a SQLite file; PostgreSQL has a URL."""

from pathlib import Path

from banditsrl.errors import InvalidArgument
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.live_store.sqlite_store import SqliteStore


def open_store(url: str | Path, *, create: bool) -> LoopStore:
    """Return the store at a path or a URL; with `create` a file that is not there is made."""
    text = str(url)
    scheme, found, rest = text.partition("://")
    if not found:
        return SqliteStore(Path(text), create=create)
    if scheme == "sqlite":
        return SqliteStore(Path(rest.removeprefix("/")), create=create)
    if scheme in ("postgresql", "postgres"):
        # The package psycopg of the extra `postgres` may be absent.
        from banditsrl.live_store.postgres_store import PostgresStore  # noqa: PLC0415

        return PostgresStore(text)
    raise InvalidArgument(
        f"url must be a path or begin with sqlite:// or postgresql://, got {scheme}://."
    )
