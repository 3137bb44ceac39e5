"""How is a store of another kind copied to a file? Table by table, into a new SQLite store."""

import contextlib
from pathlib import Path

from banditsrl.errors import Conflict
from banditsrl.live_store.loop_store import Cursor
from banditsrl.live_store.sqlite_store import SqliteStore

ROWS_AT_ONCE = 500

TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
COLUMNS_OF = "SELECT name, pk FROM pragma_table_info(?) ORDER BY pk = 0, pk"
"""The columns of a table, with those of the primary key first."""


def copy_to_file(source: Cursor, path: Path) -> None:
    """Copy all tables, as one transaction sees them, to a new file that can be opened as a store.

    A file that could not be finished is removed.
    """
    if path.exists():
        raise Conflict(f"The backup {path} must be a new file, but it exists already.")
    with contextlib.closing(SqliteStore(path, create=True)) as copy:
        try:
            with copy.write() as target:
                for (table,) in target.execute(TABLES):
                    _copy_table(source, target, table)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _copy_table(source: Cursor, target: Cursor, table: str) -> None:
    """Copy one table in the order of its primary key, a few hundred rows at a time."""
    found = target.execute(COLUMNS_OF, (table,))
    names, n_keys = ", ".join(name for name, _ in found), sum(pk > 0 for _, pk in found)
    key = ", ".join(name for name, pk in found if pk > 0)
    marks, key_marks = ", ".join("?" for _ in found), ", ".join("?" for _ in range(n_keys))
    # Only names of tables and columns from our own schema are put into the statements.
    insert = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608
    first = f"SELECT {names} FROM {table} ORDER BY {key} LIMIT {ROWS_AT_ONCE}"  # noqa: S608
    later = first.replace(" ORDER BY", f" WHERE ({key}) > ({key_marks}) ORDER BY")
    target.execute(f"DELETE FROM {table}")  # noqa: S608 (a new store has its version already)
    rows = source.execute(first)
    while rows:
        target.execute_many(insert, rows)
        rows = source.execute(later, rows[-1][:n_keys])
