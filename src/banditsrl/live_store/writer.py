"""How do many callers share one disk sync? One thread writes their changes in one transaction.

A caller submits a change and waits. The writer takes all pending changes, writes them in one
transaction, and wakes their callers only after it is committed. A caller is therefore never told of
something that a crash could undo.

If a transaction fails, nothing of it is in the store, and each of its changes is tried again alone,
so that one that cannot be written does not spoil the others.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

from banditsrl.errors import LoopError, OutcomeUnknown, StoreUnavailable
from banditsrl.live_store.ledger import Ledger, Stale
from banditsrl.live_store.loop_store import LoopStore

T = TypeVar("T")

LARGEST_GROUP = 500
"""Changes in one transaction at most, so that the first caller does not wait for thousands."""


class _Job(NamedTuple, Generic[T]):
    change: Callable[[Ledger], T]
    answer: "Future[T]"


class Writer:
    """Writes the changes of one loop, grouped into transactions.

    Args:
        store: Where to write.
        loop: Name of the loop.
        committed: Called after each transaction with the position that the log has reached.
    """

    def __init__(self, store: LoopStore, loop: str, committed: Callable[[int], None]) -> None:
        self._store, self._loop, self._committed = store, loop, committed
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"writer {loop}", daemon=True)
        self._thread.start()

    def write(self, change: Callable[[Ledger], T]) -> T:
        """Apply a change and return what it returns, once it is committed.

        A change that is refused must raise before it writes anything.
        """
        return self.submit(change).result()

    def submit(self, change: Callable[[Ledger], T]) -> "Future[T]":
        """Submit a change without waiting for it."""
        answer: Future[T] = Future()
        with self._closing:
            if self._closed:
                raise StoreUnavailable(f"The loop {self._loop!r} is closed.")
            self._jobs.put(_Job(change, answer))
        return answer

    def close(self) -> None:
        """Write the pending changes, and end the thread."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            group, ends = self._take()
            if group:
                self._write_group(group)
            if ends:
                return

    def _take(self) -> tuple[list[_Job[Any]], bool]:
        """Wait for a change; return all pending ones, and whether the writer was closed."""
        group: list[_Job[Any]] = []
        job = self._jobs.get()
        while job is not None:
            group.append(job)
            if len(group) == LARGEST_GROUP:
                return group, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _write_group(self, group: list[_Job[Any]]) -> None:
        try:
            answers, position = self._transact(group)
        except OutcomeUnknown as error:  # a second try might write the same twice
            for job in group:
                job.answer.set_exception(error)
            return
        except Exception as error:
            if len(group) == 1:
                group[0].answer.set_exception(_as_refusal(error))
                return
            for job in group:
                self._write_group([job])
            return
        self._committed(position)
        for job, (result, refusal) in zip(group, answers, strict=True):
            if refusal is None:
                job.answer.set_result(result)
            else:
                job.answer.set_exception(refusal)

    def _transact(self, group: list[_Job[Any]]) -> tuple[list[tuple[Any, Exception | None]], int]:
        """Write a group in one transaction; a change that is refused does not stop the others."""
        answers: list[tuple[Any, Exception | None]] = []
        with self._store.write() as cursor:
            ledger = Ledger(cursor, self._loop)
            for job in group:
                try:
                    answers.append((job.change(ledger), None))
                except StoreUnavailable:
                    raise
                except (LoopError, ValueError, Stale) as refusal:
                    answers.append((None, refusal))
            ledger.finish()
        return answers, ledger.position


def _as_refusal(error: Exception) -> Exception:
    """Return an error of the store or of a rule as it is, and wrap any other."""
    if isinstance(error, LoopError | ValueError | Stale):
        return error
    return StoreUnavailable(f"The change could not be written ({error}).")
