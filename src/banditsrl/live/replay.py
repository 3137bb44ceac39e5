"""Does the log give the same state and the same decisions again? Replay it, and compare every bit.

Verification computes everything a second time: each decision from the state that it names, each
training from the state at its start, each snapshot from the records before it. What is compared
was computed by another process at another time, so a difference means that the log has been altered
or damaged. What another build has computed may differ in the last bit, so it is counted and not
compared.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from banditsrl.core.policy import State
from banditsrl.live.chooser import DRAWS_PER_OPENING
from banditsrl.live.fold import Fold, PendingTraining, first_fold
from banditsrl.live.log_reader import BATCH, find_erasure, read_position
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live.loop_opening import Progress, catch_up
from banditsrl.live.model_shelf import ModelShelf
from banditsrl.live.programs import Programs
from banditsrl.live.recomputed_decisions import choose_again
from banditsrl.live.trainer import Trainer
from banditsrl.live_store.decision_rows import COLUMNS, DecisionRow
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.live_store.state_bytes import describe_build, digest_content, pack_state
from banditsrl.live_store.state_parts import load_parts

SHOWN_DIFFERENCES = 20
"""Differences that are listed; all of them are counted."""

BY_KNOWLEDGE = f"""SELECT {COLUMNS} FROM decisions WHERE loop = ? AND context IS NOT NULL
    AND mode <> 'import' AND
    (known > ? OR (known = ? AND position > ?)) ORDER BY known, position LIMIT ?"""  # noqa: S608


@dataclass
class Verification:
    """What a verification found."""

    loop: str
    first: int  # position from which everything was computed again
    last: int
    decisions: int = 0
    trainings: int = 0
    snapshots: int = 0
    other_builds: int = 0  # decisions and trainings of other builds, which are not compared
    n_differences: int = 0
    differences: list[str] = field(default_factory=list)
    erased: int = 0  # position of the last erasure; what was before cannot be compared

    @property
    def passed(self) -> bool:
        """Whether decisions were compared, and everything is the same, bit for bit."""
        return self.n_differences == 0 and self.decisions > 0

    def note(self, difference: str) -> None:
        """Add a difference."""
        self.n_differences += 1
        if len(self.differences) < SHOWN_DIFFERENCES:
            self.differences.append(difference)

    def __str__(self) -> str:
        found = _count(self.n_differences, "difference") if self.n_differences else "no difference"
        rest = f"{_count(self.trainings, 'training')} and {_count(self.snapshots, 'snapshot')}"
        where = f"Positions {self.first + 1:,} to {self.last:,} of {self.loop!r}: {found} in "
        reasons = self._reasons()
        if self.decisions:
            return " ".join([f"{where}{_count(self.decisions, 'decision')}, {rest}.", *reasons])
        compared = [f"No decision of {self.loop!r} could be compared."]
        if self.trainings or self.snapshots:
            compared.append(f"{where}{rest}.")
        return " ".join([*compared, *(reasons or ["The loop has made none itself."])])

    def _reasons(self) -> list[str]:
        """Say what could not be compared, and why."""
        reasons = []
        if self.erased:
            reasons.append(
                f"{self.first:,} of {self.last:,} positions could not be checked: contexts were "
                f"erased up to position {self.erased:,}."
            )
        if self.other_builds:
            reasons.append(
                f"{self.other_builds:,} decisions and trainings are of other builds, which may "
                "differ in the last bit, so they were not compared."
            )
        return reasons


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


class Replay:
    """Computes a loop again from its log, without changing anything."""

    def __init__(self, store: LoopStore, config: LoopConfig) -> None:
        self._store, self._config = store, config
        self._programs = Programs(config)
        self._trainer = Trainer(store.url, config, self._programs)
        self._shelf = ModelShelf(store, config.name, self._programs, self._trainer.retrain)

    def close(self) -> None:
        """End the process that trains."""
        self._trainer.close()

    def state_at(self, last: int | None = None, progress: Progress | None = None) -> Fold:
        """Return what is known at a position, computed from the first record."""
        start = first_fold(self._config, self._programs)
        return catch_up(
            *(self._store, self._config.name, start),
            programs=self._programs,
            models=self._shelf.find_model,
            progress=progress,
            last=last,
        )

    def verify(self, progress: Progress | None = None) -> Verification:
        """Compute everything again and compare it with what was written."""
        with self._store.read() as cursor:
            last = read_position(cursor, self._config.name)
            erased = find_erasure(cursor, self._config.name)
        fold = self._first_fold(erased)
        if fold is None:
            return Verification(self._config.name, last, last, erased=erased)
        found = Verification(self._config.name, fold.position, last, erased=erased)
        snapshots, openings = self._read_snapshots(fold.position, last), self._own_openings()
        for row in self._decisions(fold.position):
            if row.position > last:
                continue
            if (row.replica, row.draw // DRAWS_PER_OPENING) not in openings:
                found.other_builds += 1
                continue
            fold = self._advance(fold, row.known, snapshots, found)
            self._compare_decision(fold, row, found)
            found.decisions += 1
            if progress is not None and found.decisions % BATCH == 0:
                progress(row.position, last, float("nan"))
        self._advance(fold, last, snapshots, found)
        return found

    def _first_fold(self, erased: int) -> Fold | None:
        """Return the first state after the last erasure, or None if there is no snapshot of it."""
        if erased:
            return self._shelf.find_snapshot(first=erased, oldest=True)
        return first_fold(self._config, self._programs)

    def _advance(
        self, fold: Fold, position: int, snapshots: list[tuple[int, str]], found: Verification
    ) -> Fold:
        """Fold up to a position, and compare the snapshots on the way."""
        while snapshots and snapshots[0][0] <= position:
            at, digest = snapshots.pop(0)
            fold = self._fold_to(fold, at, found)
            found.snapshots += 1
            if digest_content(pack_state(fold.state)) != digest:
                found.note(f"The snapshot at position {at} is not the state at that position.")
        return self._fold_to(fold, position, found)

    def _fold_to(self, fold: Fold, position: int, found: Verification) -> Fold:
        if position <= fold.position:
            return fold

        def models(version: int, pending: PendingTraining | None) -> State:
            return self._compare_training(version, pending, found)

        return catch_up(
            *(self._store, self._config.name, fold),
            programs=self._programs,
            models=models,
            last=position,
        )

    def _compare_training(
        self, version: int, pending: PendingTraining | None, found: Verification
    ) -> State:
        """Return the state of a version, after computing it again from its training."""
        kept = self._shelf.find_model(version, pending)
        if version and self._shelf.find_build(version) != describe_build():
            found.other_builds += pending is not None
        elif pending is not None:
            again = self._trainer.retrain(pending)
            found.trainings += 1
            if digest_content(pack_state(again)) != digest_content(pack_state(kept)):
                found.note(f"The training of version {version} gives another state.")
        return kept

    def _compare_decision(self, fold: Fold, row: DecisionRow, found: Verification) -> None:
        again = choose_again(self._config, self._programs, fold, row)
        for name, value in again.items():
            if value != row._asdict()[name]:
                found.note(f"The decision at position {row.position} has another {name}.")
                return

    def _decisions(self, known: int) -> Iterator[DecisionRow]:
        """Yield decisions in the order of the positions that their states had reached."""
        position = 0
        while True:
            with self._store.read() as cursor:
                values = (self._config.name, known, known, position, BATCH)
                rows = [DecisionRow(*row) for row in cursor.execute(BY_KNOWLEDGE, values)]
            yield from rows
            if len(rows) < BATCH:
                return
            known, position = rows[-1].known, rows[-1].position

    def _own_openings(self) -> set[tuple[int, int]]:
        """Return which openings of which replicas were of this build."""
        with self._store.read() as cursor:
            found = cursor.execute(
                "SELECT replica, opening FROM openings WHERE loop = ? AND build = ?",
                (self._config.name, describe_build()),
            )
        return {(replica, opening) for replica, opening in found}

    def _read_snapshots(self, first: int, last: int) -> list[tuple[int, str]]:
        with self._store.read() as cursor:
            found = cursor.execute(
                "SELECT position, state FROM snapshots WHERE loop = ? AND settings = ? AND "
                "build = ? AND position > ? AND position <= ? ORDER BY position",
                (self._config.name, self._shelf.settings, describe_build(), first, last),
            )
            return [
                (position, digest_content(load_parts(cursor, self._config.name, bytes(kept))))
                for position, kept in found
            ]
