"""How is a loop kept in one file? By SQLite, with a write-ahead log that is synced at each commit.

One connection writes, and each thread that reads takes a connection of its own from a pool. The
learner holds the lock of a second, empty database beside the first; the operating system releases
it when the process ends, however it ends.
"""

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from banditsrl.errors import Conflict, NotFound, StoreUnavailable
from banditsrl.live_store.schema import migrate
from banditsrl.live_store.turns import Turns

CHECKPOINT_SECONDS = 0.5
"""How often a thread copies the write-ahead log into the database."""

CHECKPOINT_PAGES = 50_000
"""Pages of the write-ahead log after which a commit copies them itself, which takes a while."""

BUSY_SECONDS = 30.0
"""How long a transaction waits for one of another process."""


class SqliteCursor:
    """Runs statements on one connection."""

    for_update = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        return self._connection.execute(sql, parameters).fetchall()

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""
        self._connection.executemany(sql, rows)


class SqliteStore:
    """Loops in one SQLite file.

    Args:
        path: The file.
        create: Whether to make the file if there is none.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        if not create and not path.is_file():
            raise NotFound(f"There is no store at {path}.")
        if not path.absolute().parent.is_dir():
            raise StoreUnavailable(f"The store {path} cannot be made: its folder does not exist.")
        self.path, self.url = path.absolute(), str(path.absolute())
        self._writing = Turns()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._n_commits = 0
        self._lock: sqlite3.Connection | None = None
        self._files: list[tuple[int, int] | None] = []  # known once they are made
        with _refusals(self.path):
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        try:
            with self.write() as cursor:
                migrate(cursor, "BLOB")
            self._files = self._identify()
        except BaseException:
            self._writer.close()
            raise
        self._ends = threading.Event()
        self._keeper = threading.Thread(
            target=self._keep_small, args=(self._connect(),), name="checkpoints", daemon=True
        )
        self._keeper.start()

    def _keep_small(self, connection: sqlite3.Connection) -> None:
        """Copy the write-ahead log into the database now and then; commits do not wait for it."""
        copied = 0
        while not self._ends.wait(CHECKPOINT_SECONDS):
            before, copied = copied, self._n_commits
            if before != copied:
                self._copy_log(connection)
        connection.close()

    def _copy_log(self, connection: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.Error):  # the next attempt copies it
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")  # what is erased is gone from the file
        return connection

    def _identify(self) -> list[tuple[int, int] | None]:
        """Return what tells the file and its write-ahead log from any others with their names."""
        found: list[tuple[int, int] | None] = []
        for name in (self.url, f"{self.url}-wal"):
            try:
                status = os.stat(name)
            except OSError:
                found.append(None)
            else:
                found.append((status.st_dev, status.st_ino))
        return found

    def _check_files(self) -> None:
        """Refuse to go on without the files: open connections would use ones that nobody finds."""
        if self._files and self._identify() != self._files:
            raise StoreUnavailable(f"The store {self.path} was removed or replaced.")

    @contextlib.contextmanager
    def write(self) -> Iterator[SqliteCursor]:
        """Open a transaction that writes; it is on disk when the block ends without an error."""
        with self._writing, _refusals(self.path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteCursor(self._writer)
                self._check_files()
                self._writer.execute("COMMIT")
                self._n_commits += 1
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def read(self) -> Iterator[SqliteCursor]:
        """Open a transaction that reads one consistent state."""
        with _refusals(self.path):
            if self._closed:
                raise StoreUnavailable(f"The store {self.path} is closed.")
            self._check_files()
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                connection.execute("BEGIN")
                yield SqliteCursor(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if self._closed:
                    connection.close()
                else:
                    self._idle.append(connection)

    def browse(self) -> AbstractContextManager[SqliteCursor]:
        """Open a transaction for long reads; it has its own connection, so it delays no other."""
        return self.read()

    def lead(self, loop: str) -> bool:
        """Become or remain the learner of a loop."""
        if self._lock is not None:
            return True
        digest = hashlib.sha256(loop.encode()).hexdigest()[:12]
        held = sqlite3.connect(
            f"{self.path}-{digest}.learner",
            timeout=0.0,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            held.close()
            return False
        self._lock = held
        return True

    def listen(self, heard: Callable[[], None]) -> None:
        """Do nothing: SQLite sends no notifications, so followers poll the log."""

    def drop_old_rows(self) -> None:
        """Empty the write-ahead log, which holds the pages of earlier commits.

        If a reader of another process stays in the way, the log is overwritten later.
        """
        with _refusals(self.path), contextlib.closing(self._connect()) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def backup(self, path: Path) -> None:
        """Copy everything to a new file while the loop runs."""
        if path.exists():
            raise Conflict(f"The backup {path} must be a new file, but it exists already.")
        with _refusals(path), contextlib.closing(sqlite3.connect(path)) as copy:
            source = self._connect()
            with contextlib.closing(source):
                source.backup(copy)

    def close(self) -> None:
        """Close all connections and give up being the learner."""
        self._ends.set()
        self._keeper.join()
        with self._writing:
            self._closed = True
            for connection in (*self._idle, self._writer):
                connection.close()
            self._idle.clear()
            if self._lock is not None:
                self._lock.close()
                self._lock = None


@contextlib.contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as `StoreUnavailable`."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise StoreUnavailable(f"The store {path} cannot be used ({error}).") from error
