"""What does a decision over HTTP cost, with a log that is synced before every answer?

    python benchmarks/serving.py [--policies constant linucb-disjoint banditsrl-auto]
        [--seconds 60] [--clients 8] [--rate ROUNDS_PER_SECOND] [--quick]

Each policy is served alone on a new SQLite store, with 8 offers and 20 columns. Clients, in their
own process, decide and reward, each on one connection: one call after the other as fast as they
are answered, or, with `--rate`, at fixed moments, and then a decision's time counts from the moment
at which it was due. The first third of the time is warm-up and is not counted. The table shows
rounds per second (one decision and one reward each), also as a ratio to the first policy, and the
latencies of decisions in milliseconds, apart for the moments while a model was being trained. Then
come the calls of more than 100 ms, decisions and rewards, and how many of them the machine itself
delayed: a process that only sleeps for 5 ms at a time woke more than 25 ms late during the call
(paused), or one that syncs 4 KB at a time took more than 50 ms for it (synced). Such pauses happen
where other machines or programs share the processor and the disk. Below the table stands every
moment with such calls, and what the server was doing then (`serving_moments`, `serving_trace`).
Afterwards every acknowledgement is looked up in the log. Only the loopback address is used.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
from serve_processes import free_port
from serving_moments import (
    LATE_SECONDS,
    describe_moments,
    find_moments,
    overlap,
    read_steps,
    watch_disk,
    watch_machine,
    write_moments,
)

SERVER = Path(__file__).with_name("serving_server.py")
N_ACTIONS, N_COLUMNS = 8, 20
READY_SECONDS = 300.0
POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Load:
    """What the clients saw."""

    starts: Any  # (n,) when each decision was asked for, in seconds since the first
    decide: Any  # (n,) seconds until it was answered
    reward: Any  # (n,) seconds until its reward was
    ids: list[str]  # of all decisions that were acknowledged
    trained: Any  # (n,) whether a model was being trained then
    pauses: Any  # (m, 2) when the machine stood still, from and to
    syncs: Any  # (m, 2) when the disk took long, from and to
    first: float  # when the load began

    def calls(self) -> tuple[Any, Any]:
        """Return when all calls began and ended, decisions first."""
        middles = self.starts + self.decide
        ends = np.concatenate([middles, middles + self.reward])
        return np.concatenate([self.starts, middles]), ends

    def count_late(self) -> tuple[int, int, int]:
        """Return how many calls took too long, and how many of these processor or disk delayed."""
        begins, ends = self.calls()
        late = ends - begins > LATE_SECONDS
        pairs = list(zip(begins[late], ends[late], strict=True))
        paused, synced = (
            sum(len(overlap(intervals, *pair)) > 0 for pair in pairs)
            for intervals in (self.pauses, self.syncs)
        )
        return int(late.sum()), paused, synced


def make_config(policy: str) -> dict[str, Any]:
    """Return the configuration of the loop."""
    return {
        "name": "offers",
        "actions": [f"offer-{i}" for i in range(N_ACTIONS)],
        "columns": {f"x{i}": "number" for i in range(N_COLUMNS)},
        "policy": policy,
        "spare_actions": 0,
        "audit": 0.01 if policy == "banditsrl-auto" else None,
        "reward": {"range": [-10, 10]},
    }


def post(connection: HTTPConnection, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a document and return the answer."""
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    document: dict[str, Any] = json.loads(answer.read())
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {document}")
    return document


def get(port: int, path: str) -> dict[str, Any] | None:
    """Return the answer of the service, or None if it does not answer as it should."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read()
        return json.loads(content) if answer.status == 200 else None
    except OSError:
        return None
    finally:
        connection.close()


def due_times(client: int, n: int, rate: float | None) -> Iterator[float]:
    """Yield the moments at which a client decides: at once, or in turn with the other clients."""
    first = time.monotonic()
    for count in itertools.count():
        if rate is None:
            yield time.monotonic()
            continue
        due = first + (count * n + client) / rate
        time.sleep(max(0.0, due - time.monotonic()))
        yield due


def visit(port: int, seed: int, end: float, rows: list[tuple[Any, ...]], due: Any) -> None:
    """Decide and reward until the end."""
    chance, connection = random.Random(seed), HTTPConnection("127.0.0.1", port, timeout=60)
    for start in due:
        if start >= end:
            break
        context = {f"x{i}": chance.gauss(0.0, 1.0) for i in range(N_COLUMNS)}
        decision = post(connection, "/v1/decide", {"context": context})
        middle = time.monotonic()
        best = decision["action"] == ("offer-1" if context["x0"] > 0 else "offer-2")
        value = float(best) + chance.gauss(0.0, 0.5)
        post(connection, "/v1/reward", {"id": decision["id"], "value": max(-10, min(10, value))})
        rows.append((start, middle - start, time.monotonic() - middle, decision["id"]))
    connection.close()


def run_clients(port: int, n: int, seconds: float, rate: float | None, pipe: Any) -> None:
    """Run all clients, in a process of their own, and send what they saw."""
    end = time.monotonic() + seconds
    rows: list[tuple[Any, ...]] = []
    threads = [
        threading.Thread(target=visit, args=(port, i, end, rows, due_times(i, n, rate)))
        for i in range(n)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pipe.send(sorted(rows))


def watch_training(port: int, ends: threading.Event, seen: list[tuple[float, bool]]) -> None:
    """Note ten times a second whether a model is being trained."""
    while not ends.wait(POLL_SECONDS * 5):
        status = get(port, "/v1/status")
        if status is not None:
            seen.append((time.monotonic(), bool(status["training"])))


def put_under_load(port: int, folder: Path, *, n: int, seconds: float, rate: float | None) -> Load:
    """Let clients decide and reward for a while."""
    seen: list[tuple[float, bool]] = [(0.0, False)]
    ends = threading.Event()
    watcher = threading.Thread(target=watch_training, args=(port, ends, seen))
    watcher.start()
    spawn = multiprocessing.get_context("spawn")
    (ours, theirs), (mine, others), (here, there) = spawn.Pipe(), spawn.Pipe(), spawn.Pipe()
    over = spawn.Event()
    sleeper = spawn.Process(target=watch_machine, args=(over, others))
    syncer = spawn.Process(target=watch_disk, args=(folder, over, there))
    process = spawn.Process(target=run_clients, args=(port, n, seconds, rate, theirs))
    for each in (sleeper, syncer, process):
        each.start()
    rows = ours.recv()
    over.set()
    watched = [np.array(pipe.recv()).reshape(-1, 2) for pipe in (mine, here)]
    for each in (sleeper, syncer, process):
        each.join()
    ends.set()
    watcher.join()
    starts, decide, reward, ids = zip(*rows, strict=True)
    times, states = (np.array(part) for part in zip(*seen, strict=True))
    trained = states[np.searchsorted(times, np.array(starts), side="right") - 1]
    counted = np.array(starts) > starts[0] + seconds / 3.0
    kept = [np.array(values)[counted] for values in (starts, decide, reward)]
    return Load(
        starts=kept[0],
        decide=kept[1],
        reward=kept[2],
        ids=list(ids),
        trained=trained[counted],
        pauses=watched[0],
        syncs=watched[1],
        first=float(starts[0]),
    )


def measure(policy: str, *, n: int, seconds: float, rate: float | None) -> dict[str, Any]:
    """Serve one policy, put it under load, and return what was seen."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config, store = folder / "offers.yaml", folder / "offers.db"
        config.write_text(json.dumps(make_config(policy)))  # JSON is YAML too
        port = free_port()
        words = ["serve", str(config), "--store", str(store), "--port", str(port)]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [sys.executable, str(SERVER), *words],
                stdout=log,
                stderr=log,
                env={**os.environ, "SERVING_TRACE": str(folder / "steps")},
            )
        try:
            wait_until_ready(port, server, folder / "log")
            load = put_under_load(port, folder, n=n, seconds=seconds, rate=rate)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
        moments = describe_moments(
            find_moments(*load.calls()),
            first=load.first,
            pauses=load.pauses,
            syncs=load.syncs,
            steps=read_steps(folder / "steps"),
        )
        found = {**summarise(load), "lost": count_lost(store, load.ids), "moments": moments}
        return {"policy": policy, **found}


def summarise(load: Load) -> dict[str, Any]:
    """Return rates and latencies."""
    taken = load.starts[-1] - load.starts[0]
    found: dict[str, Any] = {"rounds_per_second": len(load.starts) / taken}
    for name, values in (
        ("decide", load.decide[~load.trained]),
        ("training", load.decide[load.trained]),
        ("reward", load.reward),
    ):
        for label, share in (("p50", 50), ("p99", 99), ("max", 100)):
            at = float(np.percentile(values, share)) * 1e3 if len(values) >= 100 else float("nan")
            found[f"{name}_{label}"] = at
    found["late"], found["late_by_machine"], found["late_by_disk"] = load.count_late()
    found["calls"] = 2 * len(load.starts)
    return {**found, "acknowledged": len(load.ids)}


def count_lost(store: Path, ids: list[str]) -> int:
    """Return how many acknowledged decisions or rewards are not in the log."""
    connection = sqlite3.connect(store)
    settled = {
        row[0] for row in connection.execute("SELECT id FROM decisions WHERE value NOT NULL")
    }
    connection.close()
    return len(set(ids) - settled)


def wait_until_ready(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until the service can decide."""
    end = time.monotonic() + READY_SECONDS
    while get(port, "/ready") is None:
        if server.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"The server has not started: {log.read_text()[-500:]}")
        time.sleep(0.1)


def write_table(rows: list[dict[str, Any]]) -> None:
    """Print the rows, with the ratio to the first one."""
    columns = ("p50", "p99", "max")
    print(
        f"{'policy':<18} {'rounds/s':>8} {'ratio':>6} "
        + " ".join(
            f"{kind} {label}".rjust(13)
            for kind in ("decide", "training", "reward")
            for label in columns
        )
        + f" {'> 100 ms':>10} {'paused':>6} {'synced':>6} {'acknowledged':>12} {'lost':>5}"
    )
    for row in rows:
        ratio = row["rounds_per_second"] / rows[0]["rounds_per_second"]
        times = " ".join(
            f"{row[f'{kind}_{label}']:13.1f}"
            for kind in ("decide", "training", "reward")
            for label in columns
        )
        rates = f"{row['rounds_per_second']:8.0f} {ratio:6.2f}"
        late = f"{row['late']:10} {row['late_by_machine']:6} {row['late_by_disk']:6}"
        print(
            f"{row['policy']:<18} {rates} {times} {late} {row['acknowledged']:12} {row['lost']:5}"
        )


def main() -> None:
    """Measure the policies one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = ["constant", "linucb-disjoint", "banditsrl-auto"]
    parser.add_argument("--policies", nargs="+", default=known)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rate", type=float, help="rounds per second; default: as many as go")
    parser.add_argument("--quick", action="store_true", help="two policies, a few seconds")
    parser.add_argument("--out", type=Path, help="JSON file for the numbers")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.policies, arguments.seconds = known[:2], 3.0
    rows = []
    for policy in arguments.policies:
        load = {"n": arguments.clients, "seconds": arguments.seconds, "rate": arguments.rate}
        rows.append(measure(policy, **load))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    write_table(rows)
    for row in rows:
        if row["moments"]:
            print(f"{row['policy']}: moments with calls of more than 100 ms")
            write_moments(row["moments"])
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(0 if all(row["lost"] == 0 for row in rows) else 1)


if __name__ == "__main__":
    main()
