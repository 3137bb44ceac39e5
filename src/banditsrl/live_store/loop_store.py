"""What does a loop need from a database? Transactions, consistent reads, and one learner at a time.

The rules of a loop are in `ledger`, in SQL that every dialect understands. A store only runs it:
parameters are written `?`, and a statement returns its rows.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol


class Cursor(Protocol):
    """Runs statements inside a transaction."""

    for_update: str
    """What a SELECT of a row that will be changed ends with: "" or " FOR UPDATE"."""

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""


class LoopStore(Protocol):
    """A database that holds loops.

    Every failure of the database is raised as `StoreUnavailable`, and then nothing was written;
    only `OutcomeUnknown` says that it cannot be known.
    """

    url: str

    def write(self) -> AbstractContextManager[Cursor]:
        """Open a transaction that writes; it is on disk when the block ends without an error."""

    def read(self) -> AbstractContextManager[Cursor]:
        """Open a transaction that reads one consistent state; several threads may read at once."""

    def browse(self) -> AbstractContextManager[Cursor]:
        """Open a transaction for long reads, such as histories; they never delay `read`."""

    def lead(self, loop: str) -> bool:
        """Become or remain the learner of a loop; False while another process is the learner."""

    def listen(self, heard: Callable[[], None]) -> None:
        """Call a function whenever another process may have written, if the store can tell."""

    def drop_old_rows(self) -> None:
        """Remove earlier contents of changed rows from the files, as far as the store can."""

    def backup(self, path: Path) -> None:
        """Copy everything to a new file while the loop runs."""

    def close(self) -> None:
        """Close all connections and give up being the learner."""


def take_loop(cursor: Cursor, loop: str) -> None:
    """Wait until no other transaction holds the row of the loop, and hold it."""
    cursor.execute(f"SELECT name FROM loops WHERE name = ?{cursor.for_update}", (loop,))  # noqa: S608
