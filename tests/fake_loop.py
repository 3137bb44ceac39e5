"""A loop in memory for tests of the service: plain dictionaries, no policy, faults on demand."""

import time
from typing import Any

from banditsrl.errors import Conflict, InvalidArgument, NotFound
from banditsrl.live.loop_trust import LoopTrust
from banditsrl.live_store.records import CertificateEvidence, Decision, Settlement


class FakeLoop:
    """Plays the first available action and keeps everything in a list."""

    def __init__(self, name: str = "offers", actions: tuple[str, ...] = ("red", "green")) -> None:
        self.name = name
        self.names = list(actions)
        self.rows: dict[str, Decision] = {}
        self.rewards: dict[str, float] = {}
        self.records: list[dict[str, Any]] = []
        self.fault: Exception | None = None
        self.delay = 0.0
        self.closed = False
        self.past: list[dict[str, Any]] = []
        self.made_models: list[dict[str, Any]] = []

    def warm_up(self) -> None: ...

    def close(self) -> None:
        self.closed = True

    def append(self, kind: str, **body: Any) -> int:
        self.records.append({"position": len(self.records) + 1, "kind": kind, **body})
        return len(self.records)

    def decide(
        self,
        context: dict[str, Any],
        *,
        available: list[str] | None = None,
        id: str | None = None,  # noqa: A002
        deferred: bool = False,
        baseline: str | None = None,
        actions: dict[str, Any] | None = None,
    ) -> Decision:
        time.sleep(self.delay)
        if self.fault is not None:
            raise self.fault
        names = available or self.names
        if unknown := [name for name in names if name not in self.names]:
            raise NotFound(f"available must name actions of the loop, got {unknown[0]!r}")
        name = id or f"d{len(self.records) + 1}"
        if name in self.rows:
            if self.rows[name].context != context:
                raise Conflict(f"id must be new or come with the same body, got {name!r}")
            return self.rows[name]
        position = self.append("decision", id=name)
        pmf = {name: 1.0 / len(names) for name in names}
        evidence = CertificateEvidence(False, 1.5, 3.0, 0, position - 1)
        made = Decision(
            name, self.name, 1.7e9 + position, context, tuple(names), names[0], pmf[names[0]], pmf,
            0, position, evidence, False, True, deferred, "learn",
        )  # fmt: skip
        self.rows[name] = made
        return made

    def reward(self, id: str, value: float, *, key: str | None = None) -> Settlement:  # noqa: A002
        if id not in self.rows:
            raise NotFound(f"id must be that of a decision, got {id!r}")
        if not 0 <= value <= 1:
            raise InvalidArgument(f"value must be between 0 and 1, got {value}")
        if id in self.rewards:
            return Settlement(id, False, "The decision already has a reward.")
        self.append("reward", id=id)
        self.rewards[id] = value
        return Settlement(id, True, "The reward counts.")

    def status(self) -> dict[str, Any]:
        return {
            "position": len(self.records), "learned_position": 0, "rounds": 0, "waiting": 0,
            "training": False, "mode": "learn", "pinned": False, "model": 0, "learner": True,
            "trouble": "",
        }  # fmt: skip

    def outcome(self, id: str) -> dict[str, Any]:  # noqa: A002
        return dict.fromkeys(("value", "settled_at", "time", "deadline")) | {"status": "waiting"}

    def decisions(self, last: int = 50) -> list[Decision]:
        return list(self.rows.values())[::-1][:last]

    def models(self) -> list[dict[str, Any]]:
        return self.made_models

    def history(self, bins: int = 200) -> list[dict[str, Any]]:
        return self.past

    def trust(self) -> LoopTrust:
        return LoopTrust(float("inf"), 0.05, 0, 0, 0.0, False, "", 0, 0, False, {"decisions": 0})

    def audits(self) -> LoopTrust:
        return self.trust()
