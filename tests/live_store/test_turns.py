"""Do threads get their turn in the order in which they asked for it, and is no turn lost?"""

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from waiting import wait_until

from banditsrl.live_store import state_parts
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.live_store.state_parts import remove_unused_parts, save_parts
from banditsrl.live_store.store_address import open_store
from banditsrl.live_store.turns import Turns


def test_turns_are_taken_in_the_order_of_asking() -> None:
    turns, order = Turns(), []

    def work(number: int) -> None:
        with turns:
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    with turns:
        for n, thread in enumerate(threads, 1):
            thread.start()
            wait_until(lambda n=n: turns.n_waiting == n)  # type: ignore[misc]
        assert order == []
    for thread in threads:
        thread.join()
    assert order == list(range(20))
    with turns:
        assert turns.n_waiting == 0


def test_two_threads_are_never_inside_together() -> None:
    turns, inside, most = Turns(), [0], [0]

    def work() -> None:
        for _ in range(500):
            with turns:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (inside, most) == ([0], [1])


def test_an_error_inside_passes_the_turn_on() -> None:
    turns = Turns()
    with pytest.raises(KeyError), turns:
        raise KeyError
    with turns:
        pass


@pytest.mark.parametrize("is_too_late", [False, True])
def test_a_thread_that_is_interrupted_while_it_waits_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch, is_too_late: bool
) -> None:
    """Whether the turn comes while it is interrupted or not."""
    turns, passes = Turns(), []

    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            del timeout
            if is_too_late:
                turns.__exit__(None, None, None)
                assert self.is_set()
            raise KeyboardInterrupt

    monkeypatch.setattr(threading, "Event", Interrupted)
    turns.__enter__()
    with pytest.raises(KeyboardInterrupt):
        turns.__enter__()
    monkeypatch.undo()
    assert turns.n_waiting == 0
    if not is_too_late:
        turns.__exit__(None, None, None)
    with turns:
        passes.append(True)
    assert passes == [True]


@pytest.fixture
def store(new_store: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopStore]:
    monkeypatch.setattr(state_parts, "PART_BYTES", 1000)
    made = open_store(new_store(), create=True)
    yield made
    made.close()


@pytest.mark.parametrize("verb", ["saved", "removed"])
def test_a_decision_waits_for_one_part_of_a_state_at_most(
    store: LoopStore, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """A transaction that asks while the first part is written comes before the second part."""
    order: list[str] = []
    turns: Any = store._writing  # type: ignore[attr-defined]
    asked = [threading.Thread(target=lambda: write("decision")) for _ in range(3)]

    def write(name: str) -> None:
        with store.write():
            order.append(name)

    content = os.urandom(5000)
    if verb == "removed":
        save_parts(store, "offers", content)
    real = type(store).write

    def write_part(self: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            order.append("part")
            if order.count("part") == 2:  # the others ask before the second one
                with turns:
                    for n, thread in enumerate(asked, 1):
                        thread.start()
                        wait_until(lambda: turns.n_waiting == n)  # noqa: B023
        return real(self)

    monkeypatch.setattr(type(store), "write", write_part)
    if verb == "saved":
        save_parts(store, "offers", content)
    else:
        remove_unused_parts(store, "offers")
    for thread in asked:
        thread.join()
    assert order.count("part") == 5
    assert order[:2] == ["part", "part"]
    assert order[2:5] == ["decision"] * 3
    with store.read() as cursor:
        (count,) = cursor.execute("SELECT COUNT(*) FROM state_parts")[0]
    assert count == (5 if verb == "saved" else 0)
