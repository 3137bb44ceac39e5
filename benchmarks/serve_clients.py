"""What were clients told? Each keeps a ledger of the answers that it got, outside of the servers.

A client that gets no answer asks again with the same id, at any server, as an application would.
Now and then it repeats what was answered before, and expects the same answer.
"""

import http.client
import json
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

CALL_SECONDS = 30.0
PAUSE_SECONDS = 0.05
"""Pause after a call that failed."""

TRY_AGAIN = (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)

REWARDED, REPEATED, KEYED = 0.9, 0.1, 0.7
"""Shares of decisions that get a reward, of answers that are asked for again, of rewards that
carry a key, which may be sent again if no answer came."""


@dataclass
class ClientLedger:
    """What one client was told."""

    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)  # answers by id
    rewards: dict[str, tuple[float, str | None, bool]] = field(default_factory=dict)
    unanswered: int = 0  # calls that got no answer, or "try again"
    contradictions: list[str] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)  # answers that no client should get


class Client(threading.Thread):
    """Decides and rewards until it is told to stop."""

    def __init__(self, number: int, ports: Sequence[int], *, seed: int, batch: int) -> None:
        super().__init__(name=f"client {number}", daemon=True)
        self.ledger, self._number, self._ports = ClientLedger(), number, list(ports)
        self._random = random.Random(f"{seed} {number}")
        self._stop_now = threading.Event()
        self._waiting: list[str] = []
        self._connection: http.client.HTTPConnection | None = None
        self._turn = number
        self._returns, self._batch = threading.Event(), batch

    def stop(self) -> None:
        """Stop after the call that runs."""
        self._stop_now.set()

    def turn_to_own(self) -> None:
        """Go back to the server that this client began with."""
        self._returns.set()

    def run(self) -> None:
        """Decide and reward."""
        count = 0
        while not self._stop_now.is_set():
            if self._batch > 1:
                ids = [f"c{self._number}-{count + i}" for i in range(self._batch)]
                self._play_batch(ids)
                count += self._batch
                continue
            count += 1
            self._decide(f"c{self._number}-{count}")
            if self._waiting and self._random.random() < REWARDED:
                at = self._random.randrange(len(self._waiting))
                self._reward(self._waiting.pop(at))
            del self._waiting[:-20]
            if self._random.random() < REPEATED:
                self._repeat()

    def _decide(self, id_: str) -> None:
        answer = self._call("/v1/decide", self._decide_body(id_))
        if answer is not None:
            self.ledger.decisions[id_] = answer
            self._waiting.append(id_)

    def _play_batch(self, ids: list[str]) -> None:
        """Decide and reward several at once."""
        body = {"decisions": [self._decide_body(id_) for id_ in ids]}
        answer = self._call("/v1/decide/batch", body)
        if answer is None:
            return
        self.ledger.decisions |= dict(zip(ids, answer["decisions"], strict=True))
        chosen = [id_ for id_ in ids if self._random.random() < REWARDED] or ids[:1]
        rewards: list[dict[str, Any]] = [
            {"id": id_, "value": float(self._random.random() < 0.5), "key": f"key-{id_}"}
            for id_ in chosen
        ]
        answer = self._call("/v1/reward/batch", {"rewards": rewards})
        for sent, told in zip(rewards, answer["rewards"] if answer else [], strict=False):
            if told["status"] == HTTPStatus.OK:
                known = (sent["value"], sent["key"], told["counted"])
                self.ledger.rewards[sent["id"]] = known
            elif told["status"] not in TRY_AGAIN:
                self.ledger.surprises.append(f"{sent}: {told}")

    def _decide_body(self, id_: str) -> dict[str, Any]:
        return {"id": id_, "context": {"age": random.Random(id_).random()}}

    def _reward(self, id_: str) -> None:
        value = float(self._random.random() < 0.5)
        key = f"key-{id_}" if self._random.random() < KEYED else None
        body = {"id": id_, "value": value} | ({} if key is None else {"key": key})
        answer = self._call("/v1/reward", body, once=key is None)
        if answer is not None:
            self.ledger.rewards[id_] = (value, key, answer["counted"])

    def _repeat(self) -> None:
        """Ask for something again that was answered before."""
        id_ = self._random.choice(list(self.ledger.decisions)[-50:] or [""])
        if not id_:
            return
        known = self.ledger.decisions[id_]
        again = self._call("/v1/decide", self._decide_body(id_))
        if again is not None and again != known:
            self.ledger.contradictions.append(f"{id_}: {known} and then {again}")
        value, key, counted = self.ledger.rewards.get(id_, (0.0, None, False))
        if key is not None:
            body = {"id": id_, "value": value, "key": key}
            settled = self._call("/v1/reward", body)
            if settled is not None and settled["counted"] != counted:
                self.ledger.contradictions.append(f"reward of {id_}: {settled}")

    def _call(self, path: str, body: dict[str, Any], *, once: bool = False) -> Any:
        """Return an answer; ask again until there is one, unless it may be asked only once."""
        while not self._stop_now.is_set():
            status, answer = self._post(path, body)
            if status == HTTPStatus.OK:
                return answer
            if status not in (0, *TRY_AGAIN):
                self.ledger.surprises.append(f"{path} {body}: {status} {answer}")
                return None
            self.ledger.unanswered += 1
            self._turn += 1
            time.sleep(PAUSE_SECONDS)
            if once:
                return None
        return None

    def _post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if self._returns.is_set():
            self._returns.clear()
            self._turn = self._number
            self._drop_connection()
        if self._connection is None:
            port = self._ports[self._turn % len(self._ports)]
            self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=CALL_SECONDS)
        headers = {"Content-Type": "application/json"}
        try:
            self._connection.request("POST", path, json.dumps(body), headers)
            answer = self._connection.getresponse()
            status, content = answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            status, content = 0, None
        if status != HTTPStatus.OK:
            self._drop_connection()
        return status, content

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def start_clients(ports: Sequence[int], *, n: int, seed: int, batch: int = 1) -> list[Client]:
    """Start clients, each with its own ledger."""
    clients = [Client(number, ports, seed=seed, batch=batch) for number in range(n)]
    for client in clients:
        client.start()
    return clients


def stop_clients(clients: Sequence[Client]) -> list[ClientLedger]:
    """Stop clients and return their ledgers."""
    for client in clients:
        client.stop()
    for client in clients:
        client.join()
    return [client.ledger for client in clients]
