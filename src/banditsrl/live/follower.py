"""How does a process keep up with the log? One thread folds committed records, in their order.

The result is one reference to an immutable `Fold`. A decision reads this reference once and never
waits for the thread.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from banditsrl.errors import StoreUnavailable
from banditsrl.live.fold import Fold, ModelSource
from banditsrl.live.log_reader import BATCH, find_erasure, read_changes, read_position
from banditsrl.live.programs import Programs, computed
from banditsrl.live_store.loop_store import Cursor, LoopStore

POLL_SECONDS = 0.05
"""How often the log is polled for records of other processes."""


class Follower:
    """Folds the log of a loop as it grows.

    Args:
        store: Where the log is.
        loop: Name of the loop.
        fold: What is known so far.
        programs: The compiled policy.
        models: Gives the states of published models.
        snapshots: Gives the newest snapshot from a position on, or None.
        changed: Called after something was folded in.
    """

    def __init__(
        self,
        store: LoopStore,
        loop: str,
        fold: Fold,
        *,
        programs: Programs,
        models: ModelSource,
        snapshots: Callable[[int], Fold | None],
        changed: Callable[[], None],
    ) -> None:
        self.fold, self.trouble = fold, ""
        self._store, self._loop = store, loop
        self._programs, self._models, self._changed = programs, models, changed
        self._snapshots = snapshots
        self._news, self._grown = threading.Event(), threading.Condition()
        self._ends = False
        self._thread = threading.Thread(target=self._run, name=f"follower {loop}", daemon=True)
        self._thread.start()
        store.listen(self._news.set)

    def wake(self, position: int) -> None:
        """Have the thread read the log now, up to its end whatever the position."""
        del position
        self._news.set()

    def wait_for(self, position: int, seconds: float = 60.0) -> None:
        """Wait until everything up to a position is folded in.

        It fails if there is no progress at all for this many seconds.
        """
        end, seen = time.monotonic() + seconds, self.fold.position
        with self._grown:
            while self.fold.position < position:
                if self.fold.position > seen:
                    end, seen = time.monotonic() + seconds, self.fold.position
                left = end - time.monotonic()
                if left <= 0 or self._ends:
                    reason = self.trouble or f"no progress for {seconds:g} seconds"
                    raise StoreUnavailable(
                        f"The log could not be followed to position {position} ({reason})."
                    )
                self._grown.wait(left)

    def close(self) -> None:
        """End the thread."""
        self._ends = True
        self._news.set()
        self._thread.join()
        with self._grown:
            self._grown.notify_all()

    def _run(self) -> None:
        while not self._ends:
            self._news.wait(POLL_SECONDS)
            self._news.clear()
            try:
                while self._follow() and not self._ends:
                    pass
                self.trouble = ""
            except Exception as error:  # the thread must go on; `status` shows the error
                self.trouble = str(error)

    def _follow(self) -> bool:
        """Fold in the next records, and return whether there may be more."""
        fold = self.fold
        with self._store.read() as cursor:
            last = read_position(cursor, self._loop)
            if last == fold.position:
                return False
            fold = self._pass_erasure(cursor, fold)
            records = read_changes(cursor, self._loop, fold.position, last)
        for record in records:
            fold = fold.apply(record, self._programs, self._models)
        if any(record.kind in ("published", "promoted") for record in records):
            self._programs.warm_up(fold.state)  # its arrays may have other shapes than before
        is_full = len(records) == BATCH
        reached = fold.position if is_full else max(last, fold.position)
        self._publish(replace(fold, position=reached, state=computed(fold.state)))
        return is_full

    def _pass_erasure(self, cursor: Cursor, fold: Fold) -> Fold:
        """Return from where to go on: rounds before an erasure can no longer be learned.

        Another process has erased them before this one has read them, and kept a snapshot first.
        """
        if find_erasure(cursor, self._loop) <= fold.position:
            return fold
        return self._snapshots(fold.position + 1) or fold

    def _publish(self, fold: Fold) -> None:
        with self._grown:
            self.fold = fold
            self._grown.notify_all()
        self._changed()
