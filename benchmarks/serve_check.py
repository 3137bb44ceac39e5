"""Does a store hold what clients were told, once each? Their ledgers are compared with its log."""

import contextlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from serve_clients import ClientLedger

from banditsrl.live.loop_opening import find_config
from banditsrl.live.replay import Replay
from banditsrl.live_store.loop_store import Cursor
from banditsrl.live_store.store_address import open_store

LOOP = "offers"
SHOWN = 5


@dataclass
class Findings:
    """What was compared, and everything that is wrong."""

    decisions: int = 0  # acknowledged
    rewards: int = 0  # acknowledged
    unanswered: int = 0
    records: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    replicas: dict[int, int] = field(default_factory=dict)  # decisions by replica
    verification: str = ""
    verified: bool = False

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return self.verified and not (self.lost or self.doubled or self.wrong)

    def numbers(self) -> dict[str, Any]:
        """Return the counts, as a JSON file holds them."""
        return {
            "decisions": self.decisions,
            "rewards": self.rewards,
            "unanswered": self.unanswered,
            "records": self.records,
            "lost": len(self.lost),
            "doubled": len(self.doubled),
            "wrong": len(self.wrong),
            "verified": self.verified,
        }

    def __str__(self) -> str:
        told = f"{self.decisions:,} decisions and {self.rewards:,} rewards were acknowledged"
        wrong = f"Doubled: {len(self.doubled)}. Otherwise wrong: {len(self.wrong)}."
        lines = [
            f"{told}; {self.unanswered:,} calls got no answer and were made again or given up.",
            f"Lost: {len(self.lost)}. {wrong}",
            f"Decisions by replica: {self.replicas}. Records in the log: {self.records:,}.",
            self.verification,
        ]
        return "\n".join([*lines, *(self.lost + self.doubled + self.wrong)[:SHOWN]])


def check_store(url: str, ledgers: Sequence[ClientLedger]) -> Findings:
    """Compare ledgers with a store that nobody writes to any more, and replay its log."""
    found = Findings(unanswered=sum(ledger.unanswered for ledger in ledgers))
    with contextlib.closing(open_store(url, create=False)) as store:
        with store.read() as cursor:
            _check_log(cursor, found)
            _check_decisions(cursor, ledgers, found)
            _check_rewards(cursor, ledgers, found)
        with contextlib.closing(Replay(store, find_config(store, LOOP))) as replay:
            verification = replay.verify()
            rounds = replay.state_at().rounds
        with store.read() as cursor:
            learned = cursor.execute("SELECT COUNT(*) FROM decisions WHERE learned = 1")[0][0]
    if rounds != learned:
        found.wrong.append(f"The state has learned {rounds} rounds and the store has {learned}.")
    found.verification, found.verified = str(verification), verification.passed
    found.wrong += verification.differences
    for ledger in ledgers:
        found.wrong += ledger.contradictions + ledger.surprises
    return found


def _check_log(cursor: Cursor, found: Findings) -> None:
    """Positions are without gaps, and every decision is settled by at most one record."""
    end = cursor.execute("SELECT position FROM loops WHERE name = ?", (LOOP,))[0][0]
    rows = cursor.execute("SELECT position, kind, id, body FROM records ORDER BY position")
    found.records = len(rows)
    if [row[0] for row in rows] != list(range(1, end + 1)):
        found.wrong.append(f"The log has {len(rows)} records and should have {end}.")
    decided = Counter(id_ for _, kind, id_, _ in rows if kind == "decision")
    settled = Counter(id_ for _, kind, id_, body in rows if _settles(kind, body))
    for what, counts in (("decided", decided), ("settled", settled)):
        found.doubled += [f"{id_} is {what} {n} times." for id_, n in counts.items() if n > 1]
    totals = cursor.execute("SELECT SUM(decisions), SUM(rewards), SUM(total) FROM tallies")[0]
    truth = cursor.execute(
        "SELECT COUNT(*), SUM(CASE status WHEN 'settled' THEN 1 ELSE 0 END), "
        "SUM(CASE status WHEN 'settled' THEN value ELSE 0 END) FROM decisions"
    )[0]
    if [float(one) for one in totals] != [float(one) for one in truth]:
        found.wrong.append(f"The counts of the store are {totals} and should be {truth}.")


def _settles(kind: str, body: str | None) -> bool:
    """Return whether a record of the log gives a decision its reward."""
    if kind == "reward" and body is not None:
        return bool(json.loads(body)["counted"])
    return kind == "expiry"


def _check_decisions(cursor: Cursor, ledgers: Sequence[ClientLedger], found: Findings) -> None:
    rows: dict[str, tuple[Any, ...]] = {
        row[0]: row[1:]
        for row in cursor.execute(
            "SELECT id, position, action, model, replica, draw FROM decisions"
        )
    }
    found.replicas = dict(sorted(Counter(row[3] for row in rows.values()).items()))
    draws = Counter((row[3], row[4]) for row in rows.values())
    found.doubled += [f"The draw {draw} was used {n} times." for draw, n in draws.items() if n > 1]
    for ledger in ledgers:
        for id_, answer in ledger.decisions.items():
            found.decisions += 1
            told = (answer["position"], answer["action"], answer["model"])
            if id_ not in rows:
                found.lost.append(f"The decision {id_} is not in the store.")
            elif rows[id_][:3] != told:
                found.wrong.append(f"The decision {id_} is {rows[id_]}, and {told} was answered.")


def _check_rewards(cursor: Cursor, ledgers: Sequence[ClientLedger], found: Findings) -> None:
    rows = cursor.execute("SELECT id, key, value, counted FROM rewards")
    kept = Counter(rows)
    counted = Counter(row[0] for row in rows if row[3])
    keys = Counter(row[:2] for row in rows if row[1] is not None)
    found.doubled += [f"A reward of {id_} counts {n} times." for id_, n in counted.items() if n > 1]
    found.doubled += [f"The reward {key} is kept {n} times." for key, n in keys.items() if n > 1]
    values = dict(cursor.execute("SELECT id, value FROM decisions WHERE status = 'settled'"))
    for ledger in ledgers:
        for id_, (value, key, counts) in ledger.rewards.items():
            found.rewards += 1
            if not kept[id_, key, value, int(counts)]:
                found.lost.append(f"The reward {value} of {id_} is not in the store.")
            elif counts and values.get(id_) != value:
                found.lost.append(f"The reward {value} of {id_} does not count.")
