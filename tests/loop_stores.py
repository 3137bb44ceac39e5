"""Stores that tests of loops share: a file each, and databases of one PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from postgres_server import PostgresServer

NewStore = Callable[[], str]
"""Returns the address of a new, empty store."""


@pytest.fixture(scope="session")
def postgres_programs() -> None:
    """Skip a test where PostgreSQL or its driver is not installed."""
    pytest.importorskip("psycopg", reason="The package psycopg is not installed.")
    from postgres_server import MISSING, find_programs

    if find_programs() is None:
        pytest.skip(MISSING)


@pytest.fixture(scope="session")
def postgres(postgres_programs: None) -> "Iterator[PostgresServer]":
    """A PostgreSQL server that is shared by all tests."""
    from postgres_server import run_postgres

    with run_postgres(syncs=False) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> NewStore:
    """Give the addresses of new stores, of either kind."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        return server.new_database
    numbers = iter(range(1000))
    return lambda: str(tmp_path / f"store-{next(numbers)}.db")
