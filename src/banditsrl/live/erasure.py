"""How are the contexts of one person erased? They are removed; what was learned from them stays.

A decision keeps its id, its action and its reward. The context that was sent and the row that was
made of it are replaced by those of a context in which every value is missing. Snapshots are saved
before and after, since the state cannot be computed again from rows that are gone: a later
verification starts from the snapshot after the erasure. Networks that are trained afterwards see
the empty rows.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from banditsrl.errors import NotFound
from banditsrl.live.encoder import Encoder
from banditsrl.live.log_reader import BATCH
from banditsrl.live.loop_changes import end_training
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live_store.decision_rows import to_bytes
from banditsrl.live_store.ledger import Ledger
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.registry import guess_at


def find_subject(store: LoopStore, loop: str, column: str, value: Any) -> list[str]:
    """Return the ids of all decisions whose context has this value in a column."""
    found, position = [], 0
    rows: Sequence[tuple[Any, ...]] = [()] * BATCH
    while len(rows) == BATCH:
        with store.browse() as cursor:
            rows = cursor.execute(
                "SELECT position, id, context FROM decisions WHERE loop = ? AND position > ? "
                "ORDER BY position LIMIT ?",
                (loop, position, BATCH),
            )
        for position, id_, text in rows:  # noqa: B007 (the last position is where to go on)
            if text is not None and json.loads(text).get(column) == value:
                found.append(id_)
    return found


def check_column(config: LoopConfig, column: str) -> None:
    """Refuse a column that the contexts of the loop do not have."""
    names = [each.name for each in config.columns]
    if column not in names:
        raise NotFound(f"There is no column named {column!r}{guess_at(column, names)}")


def erase_contexts(
    ledger: Ledger, config: LoopConfig, ids: Iterable[str], *, known: int, time: float
) -> tuple[int, int]:
    """Erase contexts, except those of rounds that were settled after position `known`.

    Returns how many were erased, and how many were skipped because the snapshot at `known` does not
    include them. A training that is running may have read what is erased, so it is abandoned.
    """
    empty = to_bytes(Encoder(config).encode({}, []))
    erased, n_skipped = [], 0
    for id_ in ids:
        row = ledger.find(id_)
        if row is None or row.context is None:
            continue
        if row.settled_at is not None and row.settled_at > known:
            n_skipped += 1
            continue
        ledger.cursor.execute(
            "UPDATE decisions SET context = NULL, digest = '', features = ? "
            "WHERE loop = ? AND id = ?",
            (empty, ledger.loop, id_),
        )
        erased.append(id_)
    if erased:
        started = ledger.last_of("training", "unchanged", "abandoned", "published", "promoted")
        if started and ledger.last_of("training") == started:
            end_training(ledger, "abandoned", started, time=time)
        ledger.append("erasure", time, body={"decisions": len(erased)})
    return len(erased), n_skipped
