"""Can several servers share one loop? Three of them, one of which is killed and started again.

    python benchmarks/replicas.py --decisions 20000

Clients decide and reward at all servers. After a third of the decisions the learner is killed with
SIGKILL, and after a half it is started again. Meanwhile all servers are asked whether they are the
learner. Afterwards ids and draws must be unique, nothing acknowledged may be missing, and a replay
of the log must give the decisions of every server again, bit for bit.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from kill_serve import open_place
from serve_check import Findings, check_store
from serve_clients import Client, start_clients, stop_clients
from serve_processes import ServerProcess, run_servers

SAMPLE_SECONDS = 0.2
QUICK_DECISIONS = 300
SHOWN_SECONDS = 60.0


class LearnerWatch(threading.Thread):
    """Asks all servers again and again who is the learner."""

    def __init__(self, servers: Sequence[ServerProcess]) -> None:
        super().__init__(name="learner watch", daemon=True)
        self._servers, self._ends = servers, threading.Event()
        self.samples = self.without = self.several = 0
        self.learners: list[int] = []  # replicas that were the learner, in their order

    def run(self) -> None:
        """Ask until it is told to stop."""
        while not self._ends.wait(SAMPLE_SECONDS):
            found = [server.replica for server in self._servers if server.leads()]
            self.samples += 1
            self.without += not found
            self.several += len(found) > 1
            if found and self.learners[-1:] != found:
                self.learners += found

    def stop(self) -> None:
        """Stop asking."""
        self._ends.set()
        self.join()

    def __str__(self) -> str:
        return (
            f"{self.samples} times all servers were asked who learns: never more than one did in "
            f"{self.samples - self.several}, none did in {self.without}; the learners were "
            f"{self.learners}."
        )


def wait_for(clients: Sequence[Client], decisions: int) -> None:
    """Wait until clients have so many acknowledged decisions together."""
    shown = time.monotonic()
    while (count := sum(len(client.ledger.decisions) for client in clients)) < decisions:
        time.sleep(0.05)
        if time.monotonic() - shown > SHOWN_SECONDS:
            shown = time.monotonic()
            print(f"{count:,} decisions", file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> tuple[Findings, LearnerWatch]:
    """Run everything; return what was found, and who was the learner."""
    n = arguments.decisions
    with tempfile.TemporaryDirectory() as name, open_place("postgres", Path(name)) as url:
        how = {"n": arguments.replicas, "policy": arguments.policy}
        with run_servers(Path(name), url, **how) as servers:
            ports = [server.port for server in servers]
            watch = LearnerWatch(servers)
            watch.start()
            ways = {"n": arguments.clients, "seed": arguments.seed, "batch": arguments.batch}
            clients = start_clients(ports, **ways)
            wait_for(clients, n // 3)
            victim = next((one for one in servers if one.leads()), servers[0])
            victim.kill()
            wait_for(clients, n // 2)
            victim.start()
            victim.wait()
            for client in clients:
                client.turn_to_own()
            wait_for(clients, n)
            ledgers = stop_clients(clients)
            watch.stop()
        return check_store(url, ledgers), watch


def main() -> None:
    """Read the options, run the servers and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--decisions", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--batch", type=int, default=1, help="decisions in one request")
    parser.add_argument("--policy", default="linucb-disjoint")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_DECISIONS} decisions only")
    parser.add_argument("--out", type=Path, help="JSON file for the numbers")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.decisions = QUICK_DECISIONS
    began = time.monotonic()
    found, watch = run(arguments)
    print(f"{found}\n{watch}")
    if arguments.out is not None:
        numbers = {**found.numbers(), "seconds": round(time.monotonic() - began)}
        numbers |= {"samples": watch.samples, "several_learners": watch.several}
        numbers |= {"without_learner": watch.without, "learners": watch.learners}
        arguments.out.write_text(json.dumps(numbers, indent=1) + "\n")
    sys.exit(0 if found.passed and not watch.several else 1)


if __name__ == "__main__":
    main()
