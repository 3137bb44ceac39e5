"""Does a loop survive a PostgreSQL server that stops, crashes and comes back?"""

import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from waiting import wait_until

from banditsrl import Loop
from banditsrl.errors import StoreUnavailable

if TYPE_CHECKING:
    from postgres_server import PostgresServer

pytest.importorskip("psycopg", reason="The package psycopg is not installed.")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb",
    "spare_actions": 0,
}

pytestmark = pytest.mark.usefixtures("without_training")


@pytest.fixture
def server() -> "Iterator[PostgresServer]":
    from postgres_server import MISSING, find_programs, run_postgres

    if find_programs() is None:
        pytest.skip(MISSING)
    with run_postgres(syncs=True) as found:
        yield found


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_callers_are_refused_meanwhile_and_nothing_is_lost(
    server: "PostgresServer", how: signal.Signals
) -> None:
    with Loop.create(server.new_database(), CONFIG) as loop:
        decisions = [loop.decide({"age": i / 10}) for i in range(10)]
        loop.reward(decisions[0].id, 1.0)
        server.stop(how)
        for _ in range(5):
            with pytest.raises(StoreUnavailable, match=r"^The store postgresql://\S+ cannot"):
                loop.decide({})
            with pytest.raises(StoreUnavailable):
                loop.reward(decisions[1].id, 1.0)
        server.start()
        time.sleep(0.3)  # after a failure, callers are refused for a moment
        assert loop.decide({}).position == 13
        assert loop.reward(decisions[1].id, 1.0).counted
        assert not loop.reward(decisions[0].id, 1.0).counted
        assert loop.decisions(last=20)[1:] == decisions[::-1]
        wait_until(lambda: loop.status()["learner"] and not loop.status()["trouble"])
        loop.flush()
        assert loop.status()["rounds"] == 2
