"""A shop that asks a live loop which offer to show, with simulated visitors and a dashboard.

    python examples/shop.py --minutes 120 --visitors 200

The service runs on this machine, and visitors reach it over HTTP as they would reach a real one.
Their time is simulated: a minute passes as soon as its visitors have been served. Half-way through
they change their taste. The dashboard shows how certificates are withdrawn and earned again.
"""

import argparse
import http.client
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from banditsrl import Loop
from banditsrl.web.server import HttpService

OFFERS = ("coffee", "tea", "cake", "bread")
BEFORE = np.array([[0.7, 0.2], [0.45, -0.25], [0.35, 0.1], [0.3, 0.0]])
AFTER = BEFORE[[2, 3, 0, 1]]
"""Mean rating of an offer, from 0 to 1: at age 0, and what it gains by age 1."""

NOISE = 0.06
"""Standard deviation of the ratings of one offer by visitors of one kind."""

SILENT = 0.02
"""Share of visitors who never rate; nothing is learned from them after half an hour."""


def make_config(policy: str) -> dict[str, Any]:
    """Return the configuration of the loop."""
    return {
        "name": "shop",
        "actions": list(OFFERS),
        "columns": {"age": "number", "country": {"category": ["fr", "de"]}},
        "policy": policy,
        "settings": {"sigma": NOISE},
        "reward": {"range": [0, 1], "wait": 1800},
        "audit": 0.02,
        "drift": 100_000,
        "spare_actions": 0,
    }


class SimulatedClock:
    """Seconds since 1970, set by hand; it ends at the present."""

    def __init__(self, minutes: int) -> None:
        self.now = time.time() - 60.0 * minutes

    def __call__(self) -> float:
        return self.now


class Visitors:
    """Deals contexts and rates offers."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.taste = BEFORE

    def arrive(self, n: int) -> list[dict[str, Any]]:
        """Return the contexts of new visitors; age is between -1 and 1."""
        ages = self._random.uniform(-1.0, 1.0, n).tolist()
        countries = self._random.choice(["fr", "de"], n).tolist()
        return [{"age": a, "country": c} for a, c in zip(ages, countries, strict=True)]

    def rate(self, context: dict[str, Any], offer: str) -> float | None:
        """Return how a visitor rates an offer, or None if nobody will ever know."""
        mean, slope = self.taste[OFFERS.index(offer)]
        rating = mean + slope * context["age"] + NOISE * self._random.normal()
        return None if self._random.random() < SILENT else float(np.clip(rating, 0.0, 1.0))


class Client:
    """One connection to the service."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a document and return the answer."""
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", path, json.dumps(body), headers)
        answer = self._connection.getresponse()
        document: dict[str, Any] = json.loads(answer.read())
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(document["error"]["message"])
        return document

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def serve_minute(client: Client, visitors: Visitors, n: int) -> float:
    """Decide for the visitors of one minute, report their ratings, and return the mean rating."""
    contexts = visitors.arrive(n)
    asked = {"decisions": [{"context": context} for context in contexts]}
    made = client.post("/v1/decide/batch", asked)["decisions"]
    answers = [visitors.rate(c, d["action"]) for c, d in zip(contexts, made, strict=True)]
    pairs = zip(made, answers, strict=True)
    rewards = [{"id": each["id"], "value": value} for each, value in pairs if value is not None]
    if rewards:
        client.post("/v1/reward/batch", {"rewards": rewards})
    return float(np.mean([value or 0.0 for value in answers]))


@dataclass(frozen=True)
class Shop:
    """A shop that has opened: where its dashboard is, its loop, its clock and its visitors."""

    address: str
    loop: Loop
    clock: SimulatedClock
    visitors: Visitors

    def run(self, minutes: int, n: int) -> list[float]:
        """Serve n visitors in each minute and return the mean rating of each minute."""
        ratings = []
        with closing(Client(self.address)) as client:
            for minute in range(minutes):
                self.visitors.taste = BEFORE if minute < minutes // 2 else AFTER
                ratings.append(serve_minute(client, self.visitors, n))
                self.clock.now += 60.0
        return ratings


@contextmanager
def open_shop(minutes: int, policy: str, port: int) -> Iterator[Shop]:
    """Start the service of a shop whose visitors come in so many minutes before now."""
    clock = SimulatedClock(minutes)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "shop.db"
        with (
            Loop.create(store, make_config(policy), clock=clock) as loop,
            HttpService([lambda: loop], port=port).run_beside() as address,
        ):
            yield Shop(address, loop, clock, Visitors(seed=7))


def main(
    minutes: int = 120,
    visitors: int = 200,
    policy: str = "glrt-egreedy",
    *,
    port: int = 8080,
    stay: bool = False,
) -> list[float]:
    """Serve all visitors and return the mean rating of each minute."""
    with open_shop(minutes, policy, port) as shop:
        print(f"The dashboard is at {shop.address}/", flush=True)
        ratings = shop.run(minutes, visitors)
        print(f"{minutes * visitors:,} visitors were served. {shop.loop.trust()}", flush=True)
        if stay:
            print("The dashboard stays until Ctrl+C.", flush=True)
        while stay:
            time.sleep(1.0)
    return ratings


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=int, default=120, help="simulated minutes")
    parser.add_argument("--visitors", type=int, default=200, help="visitors in each minute")
    parser.add_argument("--policy", default="glrt-egreedy", help="name of a policy")
    parser.add_argument("--port", type=int, default=8080, help="port of the service; 0: any")
    parser.add_argument("--stay", action="store_true", help="go on serving the dashboard")
    return parser.parse_args()


if __name__ == "__main__":
    options = parse()
    try:
        main(
            options.minutes, options.visitors, options.policy,
            port=options.port, stay=options.stay,
        )  # fmt: skip
    except KeyboardInterrupt:
        print("The shop is closed.")
