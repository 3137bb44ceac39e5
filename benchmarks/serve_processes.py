"""How are servers of a benchmark started, killed and asked? Each has a port and runs as a process.

Only processes that were started here are killed, by their ids.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

LAUNCHER = Path(__file__).with_name("serve_launcher.py")

READY_SECONDS = 180.0
CALL_SECONDS = 30.0

CONFIG = """name: offers
actions: [red, green]
columns: {{age: number}}
policy: {policy}
settings: {settings}
spare_actions: 0
reward: {{range: [0, 1], wait: 5, default: 0}}
"""


class Launcher:
    """Starts servers quickly; see `serve_launcher`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        cache = {
            "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(LAUNCHER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**cache, **os.environ},
            text=True,
        )

    def start(self, words: Sequence[str], log: Path) -> int:
        """Run the command line in a new process and return its id."""
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        if pipe_in is None or pipe_out is None:
            raise RuntimeError("The launcher has no pipes.")
        pipe_in.write(json.dumps({"words": list(words), "log": str(log)}) + "\n")
        pipe_in.flush()
        return int(pipe_out.readline())

    def close(self) -> None:
        """End the process that starts others."""
        self._process.kill()
        self._process.communicate()


class ServerProcess:
    """One server of a loop, which can be killed and started again on the same port."""

    def __init__(self, launcher: Launcher, config: Path, url: str, replica: int) -> None:
        self._launcher, self.replica = launcher, replica
        self.port = free_port()
        self.log = launcher.folder / f"server-{replica}.log"
        place = ["--store", url, "--port", str(self.port), "--replica", str(replica)]
        self._words = ["serve", str(config), *place]
        self._id: int | None = None

    def start(self) -> None:
        """Start the process; it is not ready yet."""
        self._id = self._launcher.start(self._words, self.log)

    def wait(self) -> None:
        """Wait until it can decide."""
        end = time.monotonic() + READY_SECONDS
        while self.ask("/ready")[0] != http.HTTPStatus.OK:
            if time.monotonic() > end or not self.runs():
                raise RuntimeError(f"The server has not started: {self.log.read_text()[-500:]}")
            time.sleep(0.02)

    def runs(self) -> bool:
        """Return whether the process is there."""
        if self._id is None:
            return False
        try:
            os.kill(self._id, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """Kill the process with SIGKILL and wait until it is gone."""
        if self._id is not None and self.runs():
            os.kill(self._id, signal.SIGKILL)
            while self.runs():
                time.sleep(0.005)
        self._id = None

    def ask(self, path: str) -> tuple[int, Any]:
        """Return the status and the answer of a request; the status is 0 if there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=CALL_SECONDS)
        with contextlib.closing(connection):
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                return 0, None

    def leads(self) -> bool:
        """Return whether this server says that it is the learner."""
        status, answer = self.ask("/v1/status")
        return status == http.HTTPStatus.OK and bool(answer["learner"])


@contextlib.contextmanager
def run_servers(
    folder: Path, url: str, *, n: int, policy: str, settings: Mapping[str, Any] | None = None
) -> Iterator[list[ServerProcess]]:
    """Run servers of one loop while the block runs."""
    config = folder / "offers.yaml"
    config.write_text(CONFIG.format(policy=policy, settings=json.dumps(settings or {})))
    launcher = Launcher(folder)
    servers = [ServerProcess(launcher, config, url, replica) for replica in range(n)]
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.wait()
        yield servers
    finally:
        for server in servers:
            server.kill()
        launcher.close()


def free_port() -> int:
    """Return a port of this machine that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
