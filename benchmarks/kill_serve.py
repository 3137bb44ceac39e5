"""Is anything lost that was acknowledged when a server is killed? Kill it, again and again.

    python benchmarks/kill_serve.py --store sqlite --kills 200
    python benchmarks/kill_serve.py --store postgres --kills 200
    python benchmarks/kill_serve.py --store postgres --replicas 2 --policy glrt-linucb --kills 50
    python benchmarks/kill_serve.py --store sqlite --publications --kills 60

Several clients decide and reward over HTTP, each with its own ledger of what was acknowledged. The
server is killed with SIGKILL at random moments and started again. With several replicas the learner
is killed while the others serve. With `--publications` one server with a small network is killed
while a model is trained, while it is written, and right after its publication. Afterwards the
ledgers are compared with the store: nothing that was acknowledged may be missing, nothing may count
twice, and a replay of the log must give every decision and the state again, bit for bit. A
PostgreSQL server is started in a temporary folder.
"""

import argparse
import contextlib
import importlib
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from serve_check import Findings, check_store
from serve_clients import start_clients, stop_clients
from serve_killers import WINDOW, Killer, PublicationKiller
from serve_processes import run_servers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

QUICK_KILLS = 3

TRAINED = ("neural-egreedy", {"layers": [512, 512, 8], "gamma": 1.01, "max_updates": 20})
"""A policy and settings with which a model of several parts is published every second or so."""


@contextlib.contextmanager
def open_place(kind: str, folder: Path) -> Iterator[str]:
    """Give the address of a new store while the block runs."""
    if kind == "sqlite":
        yield str(folder / "offers.db")
        return
    postgres_server = importlib.import_module("postgres_server")  # it needs psycopg
    with postgres_server.run_postgres(syncs=True) as server:
        yield server.new_database()


def run(arguments: argparse.Namespace) -> tuple[Findings, Killer]:
    """Run everything; return what was found, and who was killed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open_place(arguments.store, folder) as url:
            policy, settings = TRAINED if arguments.publications else (arguments.policy, {})
            how = {"n": arguments.replicas, "policy": policy, "settings": settings}
            with run_servers(folder, url, **how) as servers:
                ports = [server.port for server in servers]
                clients = start_clients(ports, n=arguments.clients, seed=arguments.seed)
                killer = Killer(servers, arguments.seed)
                if arguments.publications:
                    killer = PublicationKiller(servers, arguments.seed, url)
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
    parser.add_argument(
        "--publications",
        action="store_true",
        help=f"kill one server around publications of models, with the policy {TRAINED[0]}",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_KILLS} kills only")
    parser.add_argument("--out", type=Path, help="JSON file for the numbers")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.kills = QUICK_KILLS
    if arguments.publications and arguments.replicas != 1:
        parser.error("--publications needs one server, and not several --replicas")
    began = time.monotonic()
    found, killer = run(arguments)
    print(f"{killer}\n{found}")
    if arguments.out is not None:
        numbers = {"store": arguments.store, "replicas": arguments.replicas}
        numbers |= {**killer.numbers(), **found.numbers()}
        numbers |= {"seconds": round(time.monotonic() - began)}
        arguments.out.write_text(json.dumps(numbers, indent=1) + "\n")
    sys.exit(0 if found.passed and killer.on_target else 1)


if __name__ == "__main__":
    main()
