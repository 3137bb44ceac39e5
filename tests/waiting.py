"""How do tests deal with time? With a clock that they set, and by waiting for what must happen."""

import time
from collections.abc import Callable

WAIT_SECONDS = 120.0
"""How long something may take that another thread or process does."""


class Clock:
    """Seconds since 1970, set by hand."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, and fail if it does not in time."""
    end = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
