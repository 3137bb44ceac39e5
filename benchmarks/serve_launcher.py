"""How does a server start quickly, many times? From a process that has made all imports before.

    python benchmarks/serve_launcher.py

Reads arguments of the command line as lines of JSON, runs `banditsrl` with them in a copy of this
process, and prints the id of the copy. A copy is a process of its own with its own store, threads
and compiled programs; only the imports, which take most of the time to start, are shared.
"""

import json
import os
import signal
import sys

from banditsrl.cli import main
from banditsrl.web import server

LAUNCHES = (main, server)  # imported for the copies


def run_copy(words: list[str], log: str) -> None:
    """Run the command line in this copy, and end with it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(target, stream)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.argv = ["banditsrl", *words]
    main()


def launch() -> None:
    """Start a copy for each line of the input."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes copies that have ended
    for line in sys.stdin:
        task = json.loads(line)
        process_id = os.fork()
        if process_id == 0:
            try:
                run_copy(task["words"], task["log"])
            finally:
                os._exit(1)
        print(process_id, flush=True)


if __name__ == "__main__":
    launch()
