"""What does one transaction add to a loop? Records, each with the next position of the log.

A `Ledger` lives as long as its transaction, which holds the row of the loop. Positions are
therefore without gaps and in the order of the commits, and every rule that looks at the store is
decided together with what it writes.
"""

import json
from collections import defaultdict
from typing import Any

from banditsrl.errors import NotFound
from banditsrl.live_store.decision_rows import (
    DEFERRED,
    INSERT,
    SELECT,
    SETTLED,
    WAITING,
    DecisionRow,
    write_json,
)
from banditsrl.live_store.loop_store import Cursor
from banditsrl.live_store.schema import IS_CHANGE

MINUTE = 60.0
"""Seconds that are counted together in table `tallies`."""

REVISES = ("created", "actions", "settings")
"""Kinds of records that invalidate a choice made before them: it must be made again."""

ADD_TALLY = """INSERT INTO tallies (loop, minute, action, decisions, explored, certified, audited,
    rewards, total, squares) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (loop, minute, action) DO UPDATE SET
    decisions = tallies.decisions + excluded.decisions,
    explored = tallies.explored + excluded.explored,
    certified = tallies.certified + excluded.certified,
    audited = tallies.audited + excluded.audited,
    rewards = tallies.rewards + excluded.rewards,
    total = tallies.total + excluded.total,
    squares = tallies.squares + excluded.squares"""


class Stale(Exception):
    """Actions or settings changed between a choice and its transaction; choose again."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        super().__init__(revision)


class Ledger:
    """Writes to one loop inside one transaction; `finish` must be called at its end."""

    def __init__(self, cursor: Cursor, loop: str) -> None:
        self.cursor, self.loop = cursor, loop
        select = "SELECT position, revision, mode, waiting FROM loops WHERE name = ?"
        found = cursor.execute(select + cursor.for_update, (loop,))
        if not found:
            raise NotFound(f"There is no loop named {loop!r} in this store.")
        self.position: int
        self.revision: int
        self.position, self.revision, self.mode, self.waiting = found[0]
        self._first = self.position
        self._records: list[tuple[Any, ...]] = []
        self._tallies: dict[tuple[int, str], list[float]] = defaultdict(
            lambda: [0, 0, 0, 0, 0, 0.0, 0.0]
        )

    def append(
        self,
        kind: str,
        time: float,
        *,
        id: str | None = None,  # noqa: A002
        body: Any = None,
    ) -> int:
        """Add one record and return its position."""
        self.position += 1
        text = None if body is None else write_json(body)
        self._records.append((self.loop, self.position, kind, time, id, text))
        if kind in REVISES:
            self.revision = self.position
        return self.position

    def find(self, id: str) -> DecisionRow | None:  # noqa: A002
        """Return the decision of this id, if there is one."""
        found = self.cursor.execute(f"{SELECT} AND id = ?", (self.loop, id))
        return DecisionRow(*found[0]) if found else None

    def check_revision(self, revision: int) -> None:
        """Refuse a decision that was made before actions or settings changed."""
        if revision < self.revision:
            raise Stale(self.revision)

    def add_decision(self, row: DecisionRow) -> DecisionRow:
        """Write a new decision, and return it with its position."""
        position = self.append("decision", row.time, id=row.id)
        written = row._replace(position=position)
        self.cursor.execute(INSERT, (self.loop, *written))
        self.waiting += written.status == WAITING
        counts = self._tally(row.time, row.action)
        for i, amount in enumerate((1, row.explored, row.certified, row.audited)):
            counts[i] += amount
        return written

    def settle(self, row: DecisionRow, value: float, time: float, position: int) -> None:
        """Give a decision its reward, which the policy learns at this position."""
        self.cursor.execute(
            "UPDATE decisions SET status = ?, value = ?, settled_at = ?, settled_time = ?, "
            "learned = ?, deadline = ? WHERE loop = ? AND id = ?",
            (
                *(SETTLED, value, position, time, int(self.mode != "frozen"), row.deadline),
                *(self.loop, row.id),
            ),
        )
        self.waiting -= row.status == WAITING
        counts = self._tally(time, row.action)
        for i, amount in ((4, 1), (5, value), (6, value * value)):
            counts[i] += amount

    def close(self, row: DecisionRow, status: str, time: float) -> None:
        """Give a decision another status, without a reward to learn from."""
        deadline = row.deadline
        self.cursor.execute(
            "UPDATE decisions SET status = ?, settled_time = ?, deadline = ? "
            "WHERE loop = ? AND id = ?",
            (status, None if status == WAITING else time, deadline, self.loop, row.id),
        )
        self.waiting += (status == WAITING) - (row.status == WAITING)

    def changes(self, *kinds: str) -> list[tuple[int, str, Any]]:
        """Return position, kind and body of all records of these kinds, which must be rare ones."""
        marks = ", ".join("?" for _ in kinds)
        found = self.cursor.execute(
            f"SELECT position, kind, body FROM records WHERE loop = ? AND {IS_CHANGE} "  # noqa: S608
            f"AND kind IN ({marks}) ORDER BY position",
            (self.loop, *kinds),
        )
        known = [(at, kind, json.loads(body)) for at, kind, body in found]
        return known + [
            (record[1], record[2], json.loads(record[5]))
            for record in self._records
            if record[2] in kinds
        ]

    def last_of(self, *kinds: str) -> int:
        """Return the position of the last record of these kinds, which must be rare ones, or 0."""
        mine = [record[1] for record in self._records if record[2] in kinds]
        if mine:
            return int(mine[-1])
        marks = ", ".join("?" for _ in kinds)
        found = self.cursor.execute(
            f"SELECT position FROM records WHERE loop = ? AND {IS_CHANGE} "  # noqa: S608 (marks only)
            f"AND kind IN ({marks}) ORDER BY position DESC LIMIT 1",
            (self.loop, *kinds),
        )
        return int(found[0][0]) if found else 0

    def finish(self) -> None:
        """Write what was collected; the transaction may then be committed."""
        if self.position == self._first:
            return
        self.cursor.execute_many(
            "INSERT INTO records (loop, position, kind, time, id, body) VALUES (?, ?, ?, ?, ?, ?)",
            self._records,
        )
        tallies = [(self.loop, *place, *counts) for place, counts in self._tallies.items()]
        self.cursor.execute_many(ADD_TALLY, sorted(tallies))
        self.cursor.execute(
            "UPDATE loops SET position = ?, revision = ?, mode = ?, waiting = ? WHERE name = ?",
            (self.position, self.revision, self.mode, self.waiting, self.loop),
        )

    def _tally(self, time: float, action: str) -> list[float]:
        return self._tallies[int(time // MINUTE), action]


def starts_as(deferred: bool) -> str:
    """Return the status of a new decision."""
    return DEFERRED if deferred else WAITING
