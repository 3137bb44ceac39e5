"""How does the command start? With a handler for Ctrl-C that works while the package is imported.

Importing takes a second or more. An exception that is raised in the middle of it by Ctrl-C ends in
a long traceback, or is swallowed by the module that is being imported, so the process ends at once.
This cannot be a file of the package, because importing that imports the package first.
"""

import os
import signal
from types import FrameType

STOPPED = 130
"""Exit status of a command that was stopped by Ctrl-C."""


def main() -> None:
    """Import the command line and run it."""
    signal.signal(signal.SIGINT, _end_process)
    from banditsrl.cli import main as run  # noqa: PLC0415  (after the handler is in place)

    run()


def _end_process(number: int, frame: FrameType | None) -> None:
    """End the process with a sentence; nothing has been started yet."""
    del number, frame
    os.write(2, b"Stopped.\n")
    os._exit(STOPPED)
