"""Is anything lost that was acknowledged when a server is killed? Kill it, again and again.

    python benchmarks/kill_serve.py --store sqlite --kills 200
    python benchmarks/kill_serve.py --store postgres --kills 200
    python benchmarks/kill_serve.py --store postgres --replicas 2 --policy glrt-linucb --kills 50

Several clients decide and reward over HTTP, each with its own ledger of what was acknowledged. The
server is killed with SIGKILL at random moments and started again. With several replicas the learner
is killed while the others serve. Afterwards the ledgers are compared with the store: nothing that
was acknowledged may be missing, nothing may count twice, and a replay of the log must give every
decision and the state again, bit for bit. A PostgreSQL server is started in a temporary folder.
"""

import argparse
import contextlib
import importlib
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

from serve_check import Findings, check_store
from serve_clients import start_clients, stop_clients
from serve_processes import ServerProcess, run_servers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

WINDOW = (0.05, 1.5)
"""Seconds between the moment when a server is ready and the kill."""

STARTING = 0.4
"""Share of servers that are killed once more after they were started, ready or not."""

QUICK_KILLS = 3
SHOWN_EVERY = 20


@contextlib.contextmanager
def open_place(kind: str, folder: Path) -> Iterator[str]:
    """Give the address of a new store while the block runs."""
    if kind == "sqlite":
        yield str(folder / "offers.db")
        return
    postgres_server = importlib.import_module("postgres_server")  # it needs psycopg
    with postgres_server.run_postgres(syncs=True) as server:
        yield server.new_database()


class Killer:
    """Kills servers at random moments and starts them again."""

    def __init__(self, servers: list[ServerProcess], seed: int) -> None:
        self._servers, self._chance = servers, random.Random(seed)
        self.kills = self.of_learner = self.while_starting = 0

    def run(self, kills: int, seconds: float) -> None:
        """Kill so often, or for so long."""
        end = time.monotonic() + seconds
        while self.kills < kills and time.monotonic() < end:
            time.sleep(self._chance.uniform(*WINDOW))
            victim = self._pick_victim()
            self.of_learner += victim.leads()
            self._restart(victim)
            if self.kills < kills and self._chance.random() < STARTING:
                time.sleep(self._chance.uniform(*WINDOW))
                self.while_starting += victim.ask("/ready")[0] != HTTPStatus.OK
                self._restart(victim)
            victim.wait()

    def _pick_victim(self) -> ServerProcess:
        """Return the learner if there are several servers, and any of them if there is none."""
        leaders = [one for one in self._servers if len(self._servers) > 1 and one.leads()]
        return leaders[0] if leaders else self._chance.choice(self._servers)

    def _restart(self, victim: ServerProcess) -> None:
        victim.kill()
        victim.start()
        self.kills += 1
        if self.kills % SHOWN_EVERY == 0:
            print(f"{self.kills} kills", file=sys.stderr, flush=True)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills with SIGKILL, {self.of_learner} of them of the learner and "
            f"{self.while_starting} of a server that was starting."
        )


def run(arguments: argparse.Namespace) -> tuple[Findings, Killer]:
    """Run everything; return what was found, and who was killed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_place(arguments.store, folder) as url:
            how = {"n": arguments.replicas, "policy": arguments.policy}
            with run_servers(folder, url, **how) as servers:
                ports = [server.port for server in servers]
                clients = start_clients(ports, n=arguments.clients, seed=arguments.seed)
                killer = Killer(servers, arguments.seed)
                killer.run(arguments.kills, arguments.seconds)
                time.sleep(WINDOW[1])
                ledgers = stop_clients(clients)
            return check_store(url, ledgers), killer


def main() -> None:
    """Read the options, kill servers and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--replicas", type=int, default=1, help="servers on one loop")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop killing after these")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--policy", default="linucb-disjoint")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_KILLS} kills only")
    parser.add_argument("--out", type=Path, help="JSON file for the numbers")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.kills = QUICK_KILLS
    began = time.monotonic()
    found, killer = run(arguments)
    print(f"{killer}\n{found}")
    if arguments.out is not None:
        numbers = {"store": arguments.store, "replicas": arguments.replicas}
        numbers |= {"kills": killer.kills, "of_learner": killer.of_learner}
        numbers |= {"while_starting": killer.while_starting, **found.numbers()}
        numbers |= {"seconds": round(time.monotonic() - began)}
        arguments.out.write_text(json.dumps(numbers, indent=1) + "\n")
    sys.exit(0 if found.passed else 1)


if __name__ == "__main__":
    main()
