"""A PostgreSQL server of our own, in a temporary folder, on a port of this machine only.

PostgreSQL refuses to run as root, so root runs it as another user.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

START_SECONDS = 60.0
USERS = ("postgres", "nobody")

MISSING = "PostgreSQL is not installed; its programs initdb and postgres are needed."


def find_programs() -> Path | None:
    """Return the folder with the programs of PostgreSQL, or None if it is not installed."""
    folders = [Path(name) for name in os.environ.get("PATH", "").split(os.pathsep) if name]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    return None


def pick_user() -> dict[str, Any]:
    """Return the arguments that make a process of root run as another user."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = next(known[name] for name in USERS if name in known)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class PostgresServer:
    """A server in a folder, which can be stopped, killed and started again."""

    def __init__(self, folder: Path, *, syncs: bool) -> None:
        programs = find_programs()
        if programs is None:
            raise FileNotFoundError(MISSING)
        self._programs, self._data, self._user = programs, folder / "data", pick_user()
        self._log = folder / "log.txt"
        self._settings = {"fsync": "on" if syncs else "off", "max_connections": "200"}
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        if self._user:
            os.chown(folder, self._user["user"], self._user["group"])
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "postgres", "-E", "UTF8")
        self.start()

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make a database and return its address."""
        name = f"d{secrets.token_hex(6)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = {**self._settings, "listen_addresses": "127.0.0.1", "port": str(self.port)}
        settings["unix_socket_directories"] = ""
        words = [f"--{name}={value}" for name, value in settings.items()]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 (our own words)
                [str(self._programs / "postgres"), "-D", str(self._data), *words],
                **self._user,
                cwd="/",
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"PostgreSQL has not started: {self._log.read_text()[-500:]}")
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends it in good order, SIGQUIT as if it had crashed."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._programs / program), *words]
        done = subprocess.run(  # noqa: S603 (our own words)
            command, **self._user, cwd="/", capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stderr[-500:]}")


@contextlib.contextmanager
def run_postgres(*, syncs: bool) -> Iterator[PostgresServer]:
    """Run a server while the block runs; without syncing it is faster, and good for most tests."""
    folder = Path(tempfile.mkdtemp(prefix="banditsrl-postgres-"))
    server = None
    try:
        server = PostgresServer(folder, syncs=syncs)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
