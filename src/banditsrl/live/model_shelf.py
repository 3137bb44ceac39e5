"""Where are the states of a loop kept? Published models and snapshots, as bytes in the store.

A snapshot lets a loop start without folding its whole log. A model is the state right after its
training. Either is used only if it belongs to the same policy with the same settings; otherwise
the loop is computed again from the log.
"""

import json
from collections.abc import Callable
from typing import Any

from banditsrl.core.policy import State
from banditsrl.errors import LoopError, NotFound
from banditsrl.live.encoder import ActionEntry
from banditsrl.live.fold import Fold, PendingTraining
from banditsrl.live.log_reader import find_erasure
from banditsrl.live.loop_changes import end_training, is_last_training
from banditsrl.live.programs import Programs
from banditsrl.live_store.decision_rows import write_json
from banditsrl.live_store.ledger import Ledger
from banditsrl.live_store.loop_store import LoopStore, take_loop
from banditsrl.live_store.state_bytes import (
    describe_build,
    digest_settings,
    pack_state,
    unpack_state,
)
from banditsrl.live_store.state_parts import (
    check_parts,
    load_parts,
    remove_unused_parts,
    save_parts,
)

KEPT_SNAPSHOTS = 3
"""Older snapshots are removed. More than one is kept in case the newest is damaged.

The first one after the last erasure is kept as well: a verification starts there.
"""

NO_POSITION = 2**62
"""Larger than any position of a log."""

Retrain = Callable[[PendingTraining], State]
"""Computes the result of a training again."""


class ModelShelf:
    """Reads and writes the states of one loop."""

    def __init__(
        self, store: LoopStore, loop: str, programs: Programs, retrain: Retrain | None = None
    ) -> None:
        self._store, self._loop, self._programs = store, loop, programs
        self._retrain = retrain
        self._rebuilt: dict[int, State] = {}  # versions that had to be trained again
        self.settings = digest_settings(programs.policy)

    def find_model(self, version: int, pending: PendingTraining | None) -> State:
        """Return the state of a version right after its training (a `ModelSource`)."""
        if version == 0:
            return self._programs.start()
        with self._store.read() as cursor:
            found = cursor.execute(
                "SELECT settings, state FROM models WHERE loop = ? AND version = ?",
                (self._loop, version),
            )
            if not found:
                raise NotFound(f"There is no model version {version}.")
            settings, kept = found[0]
            content = load_parts(cursor, self._loop, bytes(kept))
        state = None
        if settings == self.settings:
            state = unpack_state(content, self._programs.layout)
        if state is not None:
            return state
        if pending is not None and self._retrain is not None:
            self._rebuilt[version] = self._retrain(pending)
        if version not in self._rebuilt:
            raise LoopError(f"The model version {version} was made by a policy of other settings.")
        return self._rebuilt[version]

    def find_build(self, version: int) -> str:
        """Return which build trained a version."""
        with self._store.read() as cursor:
            found = cursor.execute(
                "SELECT build FROM models WHERE loop = ? AND version = ?", (self._loop, version)
            )
        return str(found[0][0]) if found else ""

    def save_snapshot(self, fold: Fold, time: float) -> None:
        """Save what is known at a position, unless a training is running."""
        if fold.pending is not None:
            return
        header = {
            "actions": [[e.name, e.slot, e.state, dict(e.columns)] for e in fold.actions.values()],
            **{name: value for name, value in fold.__dict__.items() if name in PLAIN_FIELDS},
        }
        kept = self.save_state(pack_state(fold.state))
        values = (describe_build(), self.settings, write_json(header), kept)
        with self._store.write() as cursor:
            take_loop(cursor, self._loop)
            check_parts(cursor, self._loop, kept)
            erased = find_erasure(cursor, self._loop)
            cursor.execute(
                "INSERT INTO snapshots (loop, position, time, build, settings, header, state) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (loop, position) DO NOTHING",
                (self._loop, fold.position, time, *values),
            )
            cursor.execute(
                "DELETE FROM snapshots WHERE loop = ? AND position NOT IN (SELECT position FROM "
                "snapshots WHERE loop = ? ORDER BY position DESC LIMIT ?) AND position NOT IN "
                "(SELECT COALESCE(MIN(position), 0) FROM snapshots WHERE loop = ? "
                "AND position >= ?)",
                (*(self._loop, self._loop, KEPT_SNAPSHOTS), self._loop, erased or NO_POSITION),
            )
        remove_unused_parts(self._store, self._loop)

    def save_state(self, content: bytes) -> bytes:
        """Write a state before the row that refers to it; return the content of that row."""
        return save_parts(self._store, self._loop, content)

    def find_snapshot(self, *, first: int = 0, oldest: bool = False) -> Fold | None:
        """Return the newest (or oldest) snapshot from a position on that can be used, or None.

        Another build may differ from this one in the last bit, so its snapshots are used only if
        contexts were erased: then the log cannot be folded from its beginning any more.
        """
        with self._store.read() as cursor:
            found = cursor.execute(
                "SELECT build, header, state FROM snapshots WHERE loop = ? AND settings = ? "
                "AND position >= ? ORDER BY position",
                (self._loop, self.settings, first),
            )
            erased = find_erasure(cursor, self._loop)
            for build, header, kept in found if oldest else reversed(found):
                if build != describe_build() and not erased:
                    continue
                content = load_parts(cursor, self._loop, bytes(kept))
                state = unpack_state(content, self._programs.layout)
                if state is not None:
                    return _to_fold(json.loads(header), state)
        return None


PLAIN_FIELDS = (
    *("mode", "position", "revision", "rounds", "model", "trained", "erased", "pinned", "anew"),
)


def _to_fold(header: dict[str, Any], state: State) -> Fold:
    actions = {values[0]: ActionEntry(*values) for values in header["actions"]}
    plain = {name: header[name] for name in PLAIN_FIELDS if name in header}  # old ones lack some
    return Fold(state=state, actions=actions, **plain)


def add_model(
    ledger: Ledger,
    pending: PendingTraining,
    kept: bytes,
    *,
    settings: str,
    time: float,
    evaluation: dict[str, Any],
) -> int | None:
    """Publish the result of a training, unless it has ended already; return the position.

    If the loop was frozen in the meantime, the training is abandoned. `kept` is what `save_state`
    returned for the state.
    """
    if not is_last_training(ledger, pending.position):
        return None
    if ledger.mode == "frozen":
        return end_training(ledger, "abandoned", pending.position, time=time)
    versions = ledger.cursor.execute(
        "SELECT MAX(version) FROM models WHERE loop = ?", (ledger.loop,)
    )
    version = int(versions[0][0] or 0) + 1
    check_parts(ledger.cursor, ledger.loop, kept)
    body = {"version": version, "trained_at": pending.position}
    position = ledger.append("published", time, body=body)
    ledger.cursor.execute(
        "INSERT INTO models (loop, version, trained_at, published_at, time, rounds, build, "
        "settings, evaluation, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(ledger.loop, version, pending.position, position, time, pending.rounds),
            *(describe_build(), settings, write_json(evaluation), kept),
        ),
    )
    return position
