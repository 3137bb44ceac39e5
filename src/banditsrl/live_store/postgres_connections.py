"""How does a process access PostgreSQL? Over connections that are checked, pooled and replaced.

A connection that was lost is dropped, and the next transaction makes a new one. While the server
cannot be reached, callers are refused at once instead of waiting for one timeout after another.
"""

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from banditsrl.errors import BanditSRLError, StoreUnavailable

try:
    import psycopg
except ImportError as error:
    raise StoreUnavailable(
        "A store on PostgreSQL needs the package psycopg: pip install 'banditsrl[postgres]', "
        "or pip install '.[postgres]' in a clone."
    ) from error

CONNECT_SECONDS = 5
"""How long a new connection may take, unless the URL sets `connect_timeout`."""

LARGEST_POOL = 12
"""Connections of one process at a time, besides those that listen and that hold a lock; a server
takes 100 from all processes, unless it is set otherwise."""

PAUSE_SECONDS = 0.25
"""How long callers are refused after a connection could not be made."""

SESSION = """SELECT
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),
    set_config('lock_timeout', '30s', false),
    set_config('idle_in_transaction_session_timeout', '30s', false),
    set_config('tcp_keepalives_idle', '5', false),
    set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false)"""
"""A commit is answered once it is on disk. A server that hangs in a transaction, or whose machine
is gone, must not keep the others waiting, nor stay the learner."""

KEEP_ALIVE = {
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""The same from this side: a database whose machine is gone must not keep a call for minutes."""

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresCursor:
    """Runs statements on one connection."""

    for_update = " FOR UPDATE"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        cursor = self._connection.execute(translate(sql), parameters)
        return [] if cursor.description is None else cursor.fetchall()

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""
        with self._connection.cursor() as cursor:
            cursor.executemany(translate(sql), rows)


@lru_cache(maxsize=1000)
def translate(sql: str) -> bytes:
    """Return a statement with the parameters written as psycopg expects them.

    Example:
        >>> translate("SELECT 7 % 2 WHERE 1 = ?")
        b'SELECT 7 %% 2 WHERE 1 = %s'
    """
    return sql.replace("%", "%%").replace("?", "%s").encode()


class ConnectionDesk:
    """Hands out connections to one database, each to one user at a time.

    Args:
        url: Address of the database.
        size: Most connections that are in use at a time.
    """

    def __init__(self, url: str, size: int) -> None:
        self._url, self.name = url, describe_url(url)
        self._idle: list[Connection] = []
        self._free = threading.BoundedSemaphore(size)
        self._closed = False
        self._pause = threading.Lock()
        self._retry_at, self._reason = 0.0, ""

    def connect(self) -> Connection:
        """Return a new connection; each of its statements is a transaction until one begins."""
        with self._pause:
            if self._closed:
                raise StoreUnavailable(f"The store {self.name} is closed.")
            if time.monotonic() < self._retry_at:
                raise StoreUnavailable(self._reason)
        try:
            connection = psycopg.connect(self._url, autocommit=True, **self._options())
            connection.execute(SESSION)
        except psycopg.Error as error:
            with self._pause:
                self._retry_at = time.monotonic() + PAUSE_SECONDS
                self._reason = describe_error(self.name, error)
            raise StoreUnavailable(self._reason) from error
        return connection

    def _options(self) -> dict[str, Any]:
        chosen = {
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "banditsrl",
            **KEEP_ALIVE,
        }
        return {key: value for key, value in chosen.items() if f"{key}=" not in self._url}

    def begin(self, statement: bytes) -> Connection:
        """Return a connection on which a statement has begun a transaction.

        The caller must call `give_back` or `keep`. An idle connection may have been lost in the
        meantime; then another one is tried.
        """
        self._free.acquire()
        try:
            while (connection := self._pop_idle()) is not None:
                if self._begins(connection, statement):
                    return connection
            connection = self.connect()
            connection.execute(statement)
        except BaseException:
            self._free.release()
            raise
        return connection

    def _pop_idle(self) -> Connection | None:
        with contextlib.suppress(IndexError):  # another thread may take the last one
            return self._idle.pop()
        return None

    def _begins(self, connection: Connection, statement: bytes) -> bool:
        """Begin a transaction, and return whether the connection was still there."""
        try:
            connection.execute(statement)
        except psycopg.Error:
            connection.close()
            return False
        return True

    def give_back(self, connection: Connection) -> None:
        """Take a connection back, without the transaction on it; a lost one is dropped."""
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()
        if connection.closed or self._closed:
            connection.close()
        else:
            self._idle.append(connection)
        self._free.release()

    def keep(self) -> None:
        """Leave a connection to its caller permanently, and let the pool open another one."""
        self._free.release()

    def close(self) -> None:
        """Close the connections that nobody uses, and make no new ones."""
        with self._pause:
            self._closed = True
        while self._idle:
            self._idle.pop().close()

    @contextlib.contextmanager
    def refusals(self) -> Iterator[None]:
        """Raise errors of PostgreSQL as `StoreUnavailable`."""
        try:
            yield
        except BanditSRLError:
            raise
        except psycopg.Error as error:
            raise StoreUnavailable(describe_error(self.name, error)) from error


def describe_url(url: str) -> str:
    """Return an address without its user and password.

    Example:
        >>> describe_url("postgresql://ann:secret@db.example:5433/offers?sslmode=require")
        'postgresql://db.example:5433/offers'
    """
    parts = urlsplit(url)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def describe_error(name: str, error: Exception) -> str:
    """Return one sentence about an error of PostgreSQL."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"The store {name} cannot be used ({lines[0].strip().rstrip('.')})."
