"""Does PostgreSQL keep what it must when connections, commits and servers fail?"""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from waiting import WAIT_SECONDS, wait_until

from banditsrl import Loop
from banditsrl.errors import Conflict, OutcomeUnknown, StoreUnavailable
from banditsrl.live.loop_opening import find_config
from banditsrl.live.replay import Replay
from banditsrl.live_store.state_bytes import digest_content, pack_state
from banditsrl.live_store.store_address import open_store

if TYPE_CHECKING:
    from postgres_server import PostgresServer

psycopg = pytest.importorskip("psycopg", reason="The package psycopg is not installed.")
LARGEST_POOL, BROWSERS = 12, 4

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number"},
    "policy": "linucb",
    "spare_actions": 0,
}

pytestmark = pytest.mark.usefixtures("without_training")


class FailingConnection:
    """A connection whose n-th statement fails, or whose commit loses its answer."""

    def __init__(self, inner: Any, plan: "FaultPlan") -> None:
        self._inner, self._plan = inner, plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def execute(self, statement: Any, parameters: Any = None) -> Any:
        if statement == "COMMIT" and self._plan.loses_commit is not None:
            if self._plan.loses_commit == "after":
                self._inner.execute(statement)
            self._inner.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        if statement != "ROLLBACK":
            self._plan.count()
        return self._inner.execute(statement, parameters)

    def cursor(self) -> Any:
        self._plan.count()
        return self._inner.cursor()


class FaultPlan:
    """What fails next on the connections that write."""

    def __init__(self, loop: Loop) -> None:
        self.left, self.loses_commit = -1, None
        desk = loop._engine.store._write_desk
        begin = desk.begin

        def begin_failing(statement: bytes) -> Any:
            connection = begin(statement)
            writes = b"READ WRITE" in statement
            return FailingConnection(connection, self) if writes else connection

        def give_back(connection: Any) -> None:
            inner = connection._inner if isinstance(connection, FailingConnection) else connection
            accept(inner)

        accept, desk.begin, desk.give_back = desk.give_back, begin_failing, give_back

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise psycopg.OperationalError("could not write to file: No space left on device")

    @property
    def failed(self) -> bool:
        return self.left <= 0


@pytest.fixture
def url(postgres: "PostgresServer") -> str:
    return postgres.new_database()


@pytest.fixture
def loop(url: str) -> Iterator[Loop]:
    with Loop.create(url, CONFIG) as made:
        yield made


def ask(url: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return list(connection.execute(sql).fetchall())


def verify(url: str) -> str:
    store = open_store(url, create=False)
    with (
        contextlib.closing(store),
        contextlib.closing(Replay(store, find_config(store, None))) as r,
    ):
        found = r.verify()
    assert found.differences == []
    return str(found)


def test_a_commit_is_on_disk_before_it_is_answered(loop: Loop) -> None:
    with loop._engine.store.write() as cursor:
        assert cursor.execute("SHOW synchronous_commit") == [("on",)]


def test_numbers_come_back_bit_for_bit(loop: Loop) -> None:
    numbers = (0.1, -0.0, 1e-320, 1.7976931348623157e308, float("inf"), 2.0**53 + 2)
    with loop._engine.store.read() as cursor:
        for number in numbers:
            found = cursor.execute("SELECT CAST(? AS DOUBLE PRECISION)", (number,))[0][0]
            assert found.hex() == number.hex()


def test_lost_connections_are_made_again(loop: Loop, url: str) -> None:
    before = loop.decide({}, id="before")
    ask(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
             "application_name = 'banditsrl' AND datname = current_database()")  # fmt: skip
    assert loop.decide({}, id="after").position == before.position + 1
    wait_until(lambda: loop.status()["learner"] and not loop.status()["trouble"])
    assert loop.reward("before", 1.0).counted


def test_many_threads_share_a_few_connections(loop: Loop, url: str) -> None:
    decisions = [loop.decide({"age": i / 30}, id=f"id {i}") for i in range(30)]
    found: list[Any] = []

    def ask_one(number: int) -> None:
        found.append(loop.decide({"age": number / 30}, id=f"id {number}"))

    ask_again = [threading.Thread(target=ask_one, args=(number,)) for number in range(30)]
    for thread in ask_again:
        thread.start()
    for thread in ask_again:
        thread.join()
    assert sorted(one.id for one in found) == sorted(one.id for one in decisions)
    n_open = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
    # One connection each writes, listens, leads, and asks this.
    assert ask(url, n_open)[0][0] <= LARGEST_POOL + 4


def test_neither_deciding_nor_learning_waits_for_people_who_read(loop: Loop) -> None:
    """Every connection for them is taken, and more of them wait."""
    store = loop._engine.store
    waiting = [threading.Thread(target=loop.history) for _ in range(2 * LARGEST_POOL)]
    with contextlib.ExitStack() as stack:
        for _ in range(BROWSERS):
            stack.enter_context(store.browse())
        for thread in waiting:
            thread.start()
        for _ in range(2):
            decision = loop.decide({"age": 0.5}, id="known")
        assert loop.reward(decision.id, 1.0).counted
        loop.flush()
        assert loop.status()["rounds"] == 1
        assert all(thread.is_alive() for thread in waiting)
    for thread in waiting:
        thread.join()


def test_a_statement_that_fails_leaves_nothing_behind(loop: Loop) -> None:
    plan, n, answered = FaultPlan(loop), 0, None
    while answered is None:
        n += 1
        before = loop.log()
        plan.left = n
        try:
            answered = loop.decide({"age": 0.5}, id=f"try {n}")
        except StoreUnavailable as error:
            message = str(error)
            assert plan.failed
            assert message.count(".") == message.count("127.0.0.1") * 3 + 1  # one sentence
            assert "No space left on device" in message
            assert loop.log() == before
    assert n > 4
    assert loop.decision(f"try {n}") == answered


def test_a_commit_whose_answer_was_lost_counts(loop: Loop) -> None:
    plan = FaultPlan(loop)
    plan.loses_commit = "after"
    decision = loop.decide({"age": 0.5})
    assert loop.reward(decision.id, 1.0).counted
    plan.loses_commit = None
    assert loop.decision(decision.id) == decision
    assert [record["kind"] for record in loop.log()] == ["created", "decision", "reward"]


def test_a_commit_that_did_not_happen_is_an_error(loop: Loop) -> None:
    plan = FaultPlan(loop)
    plan.loses_commit = "before"
    with pytest.raises(StoreUnavailable, match="server closed the connection unexpectedly"):
        loop.decide({"age": 0.5}, id="a")
    plan.loses_commit = None
    assert [record["kind"] for record in loop.log()] == ["created"]
    assert loop.decide({"age": 0.5}, id="a").position == 2


def answers(loop: Loop) -> bool:
    try:
        loop.log()
    except StoreUnavailable:
        return False
    return True


def test_an_outcome_that_cannot_be_known_is_said_and_not_tried_again(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions = [loop.decide({}) for _ in range(3)]
    plan, desk = FaultPlan(loop), loop._engine.store._desk
    monkeypatch.setattr("banditsrl.live_store.postgres_store.OUTCOME_SECONDS", 0.3)
    plan.loses_commit = "after"
    url = desk._url
    desk._url = url.replace(url.split("/")[2], "postgres@127.0.0.1:1")
    with pytest.raises(OutcomeUnknown, match="may or may not be in it"):
        loop.reward_many([{"id": one.id, "value": 1.0} for one in decisions])
    plan.loses_commit, desk._url = None, url
    wait_until(lambda: answers(loop))  # after a failure, callers are refused for a moment
    kinds = [record["kind"] for record in loop.log()]
    assert kinds.count("reward") <= 3
    for one in decisions:
        loop.reward(one.id, 1.0)
    assert [loop.outcome(one.id)["value"] for one in decisions] == [1.0] * 3
    loop.flush()
    assert loop.status()["rounds"] == 3


def test_two_replicas_share_a_loop_and_one_of_them_learns(loop: Loop, url: str) -> None:
    with Loop.open(url, replica=1) as other:
        assert (loop.status()["learner"], other.status()["learner"]) == (True, False)
        ids = [(loop, other)[i % 2].decide({"age": i / 40}).id for i in range(40)]
        for i, id_ in enumerate(ids):
            (other, loop)[i % 2].reward(id_, float(i % 3 == 0))
        loop.flush()
        other.flush()
        assert loop.status()["rounds"] == other.status()["rounds"] == 40
        assert sorted(ask(url, "SELECT replica, COUNT(*) FROM decisions GROUP BY replica")) == [
            (0, 20),
            (1, 20),
        ]
        loop.close()
        wait_until(lambda: other.status()["learner"])
        other.decide({"age": 0.5})
    assert "no difference in 41 decisions" in verify(url)


def test_a_replica_that_is_behind_an_erasure_goes_on_from_a_snapshot(loop: Loop, url: str) -> None:
    with Loop.open(url, replica=1) as other:
        follower = other._engine._follower
        follow, follower._follow = follower._follow, lambda: False  # it falls behind
        ids = [loop.decide({"age": i / 10}).id for i in range(10)]
        loop.reward_many([{"id": id_, "value": 1.0} for id_ in ids])
        assert loop.erase(ids[:5]) == 5
        follower._follow = follow
        other.flush()
        states = [digest_content(pack_state(one._engine.fold.state)) for one in (loop, other)]
        assert states[0] == states[1]
        assert other.status()["rounds"] == 10


def test_another_process_hears_of_a_change(loop: Loop, url: str) -> None:
    heard = threading.Event()
    with contextlib.closing(open_store(url, create=False)) as store:
        store.listen(heard.set)
        wait_until(
            lambda: bool(ask(url, "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"))
        )
        heard.clear()
        loop.decide({})
        assert heard.wait(WAIT_SECONDS)


def test_servers_that_start_together_make_one_loop(url: str) -> None:
    results: list[str] = []

    def create(number: int) -> None:
        try:
            Loop.create(url, CONFIG, replica=number, warm_up=False).close()
            results.append("made")
        except Conflict as error:
            results.append(str(error))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refusal = "There is already a loop named 'offers' in this store; open it with Loop.open."
    assert sorted(results) == [refusal] * 3 + ["made"]


def test_a_backup_is_a_file_that_can_be_opened(loop: Loop, url: str, tmp_path: Path) -> None:
    decisions = loop.decide_many([{"context": {"age": i / 1000}} for i in range(600)])
    loop.set_mode("frozen")  # nothing is trained
    loop.reward_many([{"id": one.id, "value": 0.5} for one in decisions[:50]])
    copy = tmp_path / "copy.db"
    loop.backup(copy)
    with pytest.raises(Conflict, match="must be a new file"):
        loop.backup(copy)
    assert "no difference in 600 decisions" in verify(str(copy))
    with Loop.open(copy) as opened:
        assert opened.decisions(last=600) == decisions[::-1]
        assert opened.log(limit=1000) == loop.log(limit=1000)


def test_an_address_that_leads_nowhere_is_one_sentence_without_the_password() -> None:
    with pytest.raises(
        StoreUnavailable, match=r"^The store postgresql://127.0.0.1:1/x cannot be"
    ) as e:
        Loop.open("postgresql://ann:secret@127.0.0.1:1/x")
    assert "secret" not in str(e.value)
    assert "\n" not in str(e.value)
