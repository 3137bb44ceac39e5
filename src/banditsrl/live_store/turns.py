"""Who writes next? Whoever has waited longest.

A plain lock may be taken again at once by the thread that has just given it back, before a waiting
thread wakes up. A state that is written in many parts would then keep a decision waiting for all of
them.
"""

import threading
from collections import deque
from types import TracebackType


class Turns:
    """A lock that threads get in the order in which they asked for it."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Event] = deque()

    def __enter__(self) -> None:
        """Wait for one's turn."""
        with self._changing:
            if not self._taken:
                self._taken = True
                return
            turn = threading.Event()
            self._waiting.append(turn)
        try:
            turn.wait()
        except BaseException:  # Ctrl+C while waiting: the turn must go to another thread
            self._give_up(turn)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Pass the turn to whoever has waited longest."""
        with self._changing:
            self._pass_on()

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._taken = False

    def _give_up(self, turn: threading.Event) -> None:
        with self._changing:
            if turn.is_set():
                self._pass_on()
            else:
                self._waiting.remove(turn)

    @property
    def n_waiting(self) -> int:
        """Number of threads that wait."""
        return len(self._waiting)
