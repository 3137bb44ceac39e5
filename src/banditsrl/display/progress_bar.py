"""How far is a simulation? One line on the error output that is written over and over.

A carriage return is all that it needs, so it works in a terminal and in a notebook alike.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from banditsrl.display.numerals import format_number

CELLS = 24
"""Length of the bar in characters; the whole line fits into 80 columns."""

NAME_WIDTH = 20
"""Longer names are cut."""

EVERY = 0.1
"""Seconds between two updates at least."""


class ProgressBar:
    """A bar that `simulate` updates; use it in a `with` block, which ends its line.

    Args:
        name: What is simulated.
        stream: Where to write; the error output by default.
        clock: Seconds, from any start.
    """

    def __init__(
        self,
        name: str,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._started, self._written = clock(), float("-inf")
        self._first: tuple[float, int] | None = None  # time and steps when compiling had ended
        self._width = 0

    def __enter__(self) -> "ProgressBar":
        self._write(f"{self._name}: compiling")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.write("\n")
        self._stream.flush()

    def __call__(self, done: int, total: int, regret: float) -> None:
        """Show the steps done, the time left and the mean regret so far."""
        now = self._clock()
        if done < total and now - self._written < EVERY:
            return
        self._written = now
        share = done / total
        full = int(CELLS * share)
        bar = f"{'━' * full}{' ' * (CELLS - full)}"
        words = f"{self._describe_time(now, done, total)}regret {format_number(regret)}"
        self._write(f"{self._name}: {bar} {share:4.0%}  {words}")

    def _describe_time(self, now: float, done: int, total: int) -> str:
        """Return the time spent at the end, and the time left before; compiling does not count."""
        if done >= total:
            return f"{now - self._started:.0f} s  "
        if self._first is None:
            self._first = (now, done)
        start, before = self._first
        if done == before:
            return ""
        return f"{(now - start) / (done - before) * (total - done):.0f} s left  "

    def _write(self, line: str) -> None:
        """Write over the line before; blanks cover what was longer."""
        self._stream.write(f"\r{line.ljust(self._width)}")
        self._stream.flush()
        self._width = len(line)
