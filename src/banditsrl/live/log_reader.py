"""How is the log read? By position; a record that settles a round comes with that round."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from banditsrl.live.fold import LogRecord
from banditsrl.live.programs import LearnedRound
from banditsrl.live_store.decision_rows import to_vector
from banditsrl.live_store.loop_store import Cursor, LoopStore
from banditsrl.live_store.schema import IS_CHANGE

BATCH = 1000
"""Largest number of records that are read at once."""

ROUND = (
    "d.features, d.slot, d.law, d.certified, d.glr, d.threshold, d.representation, d.audited, "
    "d.value, d.mode"
)

CHANGES = f"""SELECT r.position, r.kind, r.time, r.id, r.body, {ROUND} FROM records r
    LEFT JOIN decisions d ON d.loop = r.loop AND d.id = r.id AND d.settled_at = r.position
    AND d.learned = 1
    WHERE r.loop = ? AND r.position > ? AND r.position <= ? AND r.kind <> 'decision'
    ORDER BY r.position LIMIT ?"""  # noqa: S608 (fixed names)

HISTORY = f"""SELECT d.settled_at, {ROUND} FROM decisions d WHERE d.loop = ? AND d.learned = 1
    AND d.settled_at > ? AND d.settled_at <= ? ORDER BY d.settled_at LIMIT ?"""  # noqa: S608


def read_position(cursor: Cursor, loop: str) -> int:
    """Return the position that the log has reached."""
    return int(cursor.execute("SELECT position FROM loops WHERE name = ?", (loop,))[0][0])


def find_erasure(cursor: Cursor, loop: str) -> int:
    """Return the position of the last erasure, or 0."""
    found = cursor.execute(
        f"SELECT MAX(position) FROM records WHERE loop = ? AND kind = 'erasure' AND {IS_CHANGE}",  # noqa: S608
        (loop,),
    )
    return int(found[0][0] or 0)


def read_changes(cursor: Cursor, loop: str, after: int, last: int) -> list[LogRecord]:
    """Return the next records of the log that are not decisions, at most `BATCH` of them."""
    return [_to_record(row) for row in cursor.execute(CHANGES, (loop, after, last, BATCH))]


def iterate_changes(store: LoopStore, loop: str, after: int, last: int) -> Iterator[LogRecord]:
    """Yield the records between two positions that are not decisions."""
    while True:
        with store.read() as cursor:
            found = read_changes(cursor, loop, after, last)
        yield from found
        if len(found) < BATCH:
            return
        after = found[-1].position


def read_rounds(cursor: Cursor, loop: str, after: int, last: int) -> list[tuple[int, LearnedRound]]:
    """Return the next rounds that were learned, with their positions, at most `BATCH` of them."""
    rows = cursor.execute(HISTORY, (loop, after, last, BATCH))
    return [(row[0], _to_round(row[1:])) for row in rows]


def _to_record(row: tuple[Any, ...]) -> LogRecord:
    position, kind, time, id_, body = row[:5]
    learned = None if row[5] is None else _to_round(row[5:])
    return LogRecord(position, kind, time, id_, {} if body is None else json.loads(body), learned)


def _to_round(row: tuple[Any, ...]) -> LearnedRound:
    features, slot, pmf, certified, glr, threshold, representation, audited, value, mode = row
    return LearnedRound(
        features=to_vector(features),
        slot=slot,
        pmf=to_vector(pmf),
        certified=bool(certified),
        glr=np.nan if glr is None else glr,
        threshold=np.inf if threshold is None else threshold,
        representation=representation,
        audited=bool(audited),
        reward=value,
        by_policy=mode not in ("shadow", "import"),
    )
