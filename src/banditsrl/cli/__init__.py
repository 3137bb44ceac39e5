"""The command line: `commands.py` has the commands, `options.py` their options.

This file starts and ends the program so that Ctrl-C is answered by a sentence at every moment.
"""

import os
import signal
import sys
from types import FrameType
from typing import Any

STOPPED = 130
"""Exit status of a command that was stopped by Ctrl-C."""

SOON = 0.02
"""Seconds after which Ctrl-C is repeated where it was dropped."""


def main() -> None:
    """Run the command line as a process of its own, which ends with it."""
    signal.signal(signal.SIGINT, _end_process)
    try:
        from banditsrl.cli.commands import main as run  # noqa: PLC0415  (takes seconds)

        _answer(_interrupt)  # now there is something to save
        sys.unraisablehook = _ask_again
        run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        raise SystemExit(STOPPED) from None
    finally:
        _answer(signal.SIG_IGN)  # everything is done or kept


def _end_process(number: int, frame: FrameType | None) -> None:
    """End the process with a sentence while it only imports.

    An exception in the middle of an import ends in a long traceback, or is swallowed by the module
    that is being imported.
    """
    del number, frame
    os.write(2, b"Stopped.\n")
    os._exit(STOPPED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise Ctrl-C as an exception; inside `_ask_again` it would be dropped, so it has to wait."""
    del number
    while frame is not None:
        if frame.f_code is _ask_again.__code__:
            return _repeat()
        frame = frame.f_back
    raise KeyboardInterrupt


def _ask_again(unraisable: Any) -> None:
    """Repeat Ctrl-C if it came inside a callback of the interpreter, which drops exceptions.

    JAX is called at every garbage collection, for example. The repetition comes after the callback.
    """
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _repeat()
    else:
        sys.__unraisablehook__(unraisable)


def _answer(handler: Any) -> None:
    """Let a handler answer Ctrl-C, and the alarm that repeats it."""
    signal.signal(signal.SIGINT, handler)
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, handler)


def _repeat() -> None:
    """Have Ctrl-C answered again a moment later."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, SOON)


__all__ = ["main"]
