"""How do several servers share a loop? PostgreSQL keeps the log and elects the learner.

A transaction that writes first locks the row of its loop (see `ledger`), so positions are in the
order of the commits. The learner holds an advisory lock on a connection of its own; the server
releases it when the connection ends, however it ends, and another process takes it.

A connection can be lost after COMMIT was sent and before its answer came. Each transaction
therefore counts itself in the row of its writer, and the row tells afterwards what became of it.
"""

import contextlib
import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg

from banditsrl.errors import OutcomeUnknown, StoreUnavailable
from banditsrl.live_store.loop_store import Cursor
from banditsrl.live_store.postgres_connections import (
    LARGEST_POOL,
    Connection,
    ConnectionDesk,
    PostgresCursor,
)
from banditsrl.live_store.schema import migrate
from banditsrl.live_store.store_copy import copy_to_file
from banditsrl.live_store.turns import Turns

BEGIN_WRITING = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
BEGIN_READING = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

LOCK_TABLES = "SELECT pg_advisory_xact_lock(?)"
MAKE_WRITERS = """CREATE TABLE IF NOT EXISTS writers (
    writer TEXT PRIMARY KEY, transactions BIGINT NOT NULL, seen TIMESTAMPTZ NOT NULL)"""
FORGET_WRITERS = "DELETE FROM writers WHERE seen < now() - interval '1 day'"

COUNT_TRANSACTION = """WITH mark AS (
    INSERT INTO writers (writer, transactions, seen) VALUES (?, ?, now())
    ON CONFLICT (writer) DO UPDATE SET transactions = excluded.transactions, seen = excluded.seen
    RETURNING 1) SELECT pg_notify(?, '') FROM mark"""
"""Counts the transaction and tells the other servers that the log may have grown."""

FIND_TRANSACTION = """INSERT INTO writers (writer, transactions, seen) VALUES (?, 0, now())
    ON CONFLICT (writer) DO UPDATE SET transactions = writers.transactions
    RETURNING transactions"""
"""Waits for a transaction of the writer that has not ended, which a plain SELECT would not do."""

CHANNEL = "banditsrl"

BROWSERS = 4
"""Connections for `browse`, so that long reads delay neither deciding nor learning."""

OUTCOME_SECONDS = 5.0
"""How long to look for the outcome of a commit whose answer was lost."""

LISTEN_SECONDS = 1.0
"""How often the listening thread checks whether the store was closed."""


class PostgresStore:
    """Loops in a PostgreSQL database.

    Args:
        url: Address of the database, as libpq reads it.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._desk = ConnectionDesk(url, size=LARGEST_POOL - BROWSERS)
        self._browse_desk = ConnectionDesk(url, size=BROWSERS)
        self._write_desk = ConnectionDesk(url, size=1)  # writing must not wait for many readers
        self._writing = Turns()
        self._writer, self._n_transactions = secrets.token_hex(8), 0
        self._seats: dict[str, Connection] = {}  # connections that hold the lock of a learner
        self._seating = threading.Lock()
        self._ends = False
        self._listener: threading.Thread | None = None
        with self._desk.refusals():
            connection = self._desk.begin(BEGIN_WRITING)
            try:
                prepare_tables(PostgresCursor(connection))
                connection.execute("COMMIT")
            finally:
                self._desk.give_back(connection)

    @contextlib.contextmanager
    def write(self) -> Iterator[Cursor]:
        """Open a transaction that writes; it is on disk when the block ends without an error."""
        with self._writing, self._write_desk.refusals():
            connection = self._write_desk.begin(BEGIN_WRITING)
            try:
                yield PostgresCursor(connection)
                self._commit(connection)
            finally:
                self._write_desk.give_back(connection)

    @contextlib.contextmanager
    def read(self) -> Iterator[Cursor]:
        """Open a transaction that reads one consistent state."""
        with read_at(self._desk) as cursor:
            yield cursor

    @contextlib.contextmanager
    def browse(self) -> Iterator[Cursor]:
        """Open a transaction for long reads; they can only delay one another."""
        with read_at(self._browse_desk) as cursor:
            yield cursor

    def _commit(self, connection: Connection) -> None:
        number = self._n_transactions = self._n_transactions + 1
        values = (self._writer, number, CHANNEL)
        PostgresCursor(connection).execute(COUNT_TRANSACTION, values)
        try:
            ended = connection.execute("COMMIT").statusmessage
        except psycopg.OperationalError as error:
            connection.close()
            if not self._is_committed(number, error):
                raise
            return
        if ended != "COMMIT":  # PostgreSQL answers ROLLBACK if a statement before had failed
            raise StoreUnavailable(f"The store {self._desk.name} has not written the change.")

    def _is_committed(self, number: int, lost: Exception) -> bool:
        """Return whether a transaction is in the store although its answer was lost."""
        end = time.monotonic() + OUTCOME_SECONDS
        while time.monotonic() < end and not self._ends:
            try:
                with contextlib.closing(self._desk.connect()) as connection:
                    cursor = PostgresCursor(connection)
                    cursor.execute("SET lock_timeout = '2s'")
                    found = cursor.execute(FIND_TRANSACTION, (self._writer,))
                    return bool(found[0][0] == number)
            except (psycopg.Error, StoreUnavailable):
                time.sleep(0.1)
        raise OutcomeUnknown(
            f"The store {self._desk.name} was lost during a commit, so the change may or may not "
            "be in it."
        ) from lost

    def lead(self, loop: str) -> bool:
        """Become or remain the learner of a loop."""
        with self._seating, self._desk.refusals():
            seat = self._seats.get(loop)
            try:
                if seat is not None:
                    seat.execute("SELECT 1")
                    return True
            except psycopg.Error:
                self._seats.pop(loop).close()
            return self._take_seat(loop)

    def _take_seat(self, loop: str) -> bool:
        """Try to get the lock of a learner, and reserve its connection if that succeeds."""
        connection, key = self._desk.begin(b"SELECT 1"), lock_number(f"learner {loop}")
        try:
            cursor = PostgresCursor(connection)
            taken = bool(cursor.execute("SELECT pg_try_advisory_lock(?)", (key,))[0][0])
        except BaseException:
            self._desk.give_back(connection)
            raise
        if not taken:
            self._desk.give_back(connection)
            return False
        self._desk.keep()
        self._seats[loop] = connection
        return True

    def listen(self, heard: Callable[[], None]) -> None:
        """Call a function whenever another process has written, until the store is closed."""
        self._listener = threading.Thread(
            target=self._listen, args=(heard,), name="listener", daemon=True
        )
        self._listener.start()

    def _listen(self, heard: Callable[[], None]) -> None:
        while not self._ends:
            try:
                with contextlib.closing(self._desk.connect()) as connection:
                    connection.execute(f"LISTEN {CHANNEL}".encode())
                    while not self._ends:
                        for _ in connection.notifies(timeout=LISTEN_SECONDS, stop_after=1):
                            heard()
            except (psycopg.Error, StoreUnavailable):
                time.sleep(LISTEN_SECONDS)  # followers also poll the log

    def _wake_listener(self) -> None:
        with contextlib.suppress(psycopg.Error, StoreUnavailable):  # it ends a little later
            connection = self._desk.begin(f"NOTIFY {CHANNEL}".encode())
            self._desk.give_back(connection)

    def drop_old_rows(self) -> None:
        """Leave it to the server, which removes old versions of rows when it vacuums."""

    def backup(self, path: Path) -> None:
        """Copy everything to a new SQLite file while the loops run; the file is a store too."""
        with self.browse() as cursor:
            copy_to_file(cursor, path)

    def close(self) -> None:
        """Close all connections and give up being the learner."""
        self._ends = True
        with self._writing, self._seating:
            if self._listener is not None:
                self._wake_listener()
            self._desk.close()
            self._browse_desk.close()
            self._write_desk.close()
            for seat in self._seats.values():
                seat.close()
            self._seats.clear()
        if self._listener is not None:
            self._listener.join()


@contextlib.contextmanager
def read_at(desk: ConnectionDesk) -> Iterator[Cursor]:
    """Open a transaction that reads one consistent state on a connection of a desk."""
    with desk.refusals():
        connection = desk.begin(BEGIN_READING)
        try:
            yield PostgresCursor(connection)
        finally:
            desk.give_back(connection)


def prepare_tables(cursor: Cursor) -> None:
    """Create missing tables; servers that start at the same time do this one by one."""
    cursor.execute(LOCK_TABLES, (lock_number("tables"),))
    migrate(cursor, "BYTEA")
    cursor.execute(MAKE_WRITERS)
    cursor.execute(FORGET_WRITERS)


def lock_number(subject: str) -> int:
    """Return the number of an advisory lock: 64 bits with a sign, as PostgreSQL has them."""
    digest = hashlib.sha256(f"banditsrl {subject}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
