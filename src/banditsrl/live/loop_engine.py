"""Which threads run an open loop? A writer, a follower and a learner, which share one store."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from banditsrl.errors import NotFound
from banditsrl.live.chooser import Chooser, check_repetition, log_decisions
from banditsrl.live.decide_requests import DecideRequest
from banditsrl.live.encoder import Encoder
from banditsrl.live.erasure import erase_contexts
from banditsrl.live.export import read_export
from banditsrl.live.fold import Fold, first_fold
from banditsrl.live.follower import Follower
from banditsrl.live.learner import Learner
from banditsrl.live.log_import import LogImporter, import_rows
from banditsrl.live.log_reader import read_position
from banditsrl.live.loop_changes import add_action_change, end_training
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live.loop_opening import Progress, catch_up, count_opening
from banditsrl.live.loop_queries import find_decision, read_revision
from banditsrl.live.model_shelf import ModelShelf
from banditsrl.live.programs import Programs
from banditsrl.live.trainer import Trainer
from banditsrl.live_store.decision_rows import DecisionRow, to_decision
from banditsrl.live_store.ledger import Ledger, Stale
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.live_store.records import Decision
from banditsrl.live_store.writer import Writer

T = TypeVar("T")

IMPORTED_AT_ONCE = 200
"""Decisions in one transaction of an import."""

Clock = Callable[[], float]
"""Returns the time in seconds since 1970."""


class LoopEngine:
    """Opens a loop that is in a store, and runs its threads."""

    def __init__(
        self,
        store: LoopStore,
        config: LoopConfig,
        programs: Programs,
        clock: Clock,
        replica: int,
        *,
        warm_up: bool,
        learns: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self.store, self.config, self.clock = store, config, clock
        self.encoder, self.programs = Encoder(config), programs
        self._trainer = Trainer(store.url, config, programs)
        self.shelf = ModelShelf(store, config.name, programs, self._trainer.retrain)
        found = self.shelf.find_snapshot() or first_fold(config, programs)
        if warm_up:
            programs.warm_up(found.state)
        shared: dict[str, Any] = {"programs": programs, "models": self.shelf.find_model}
        fold = catch_up(store, config.name, found, progress=progress, **shared)
        opening = count_opening(store, config.name, replica, clock())
        self._chooser = Chooser(config, programs, replica=replica, opening=opening, clock=clock)
        self._follower = self._start_follower(fold, **shared)
        self._writer = Writer(store, config.name, self._follower.wake)
        self._learner = self._start_learner(learns)
        self._closing, self._closed = threading.Lock(), False

    def _start_follower(self, fold: Fold, **shared: Any) -> Follower:
        shared["snapshots"] = lambda first: self.shelf.find_snapshot(first=first)
        return Follower(self.store, self.config.name, fold, changed=lambda: None, **shared)

    def _start_learner(self, learns: bool) -> Learner:
        return Learner(
            self.store,
            self.config,
            self.programs,
            follower=self._follower,
            writer=self._writer,
            shelf=self.shelf,
            trainer=self._trainer,
            clock=self.clock,
            may_lead=learns,
        )

    @property
    def fold(self) -> Fold:
        """What is known now."""
        return self._follower.fold

    def decide(self, requests: Sequence[DecideRequest]) -> list[Decision]:
        """Make decisions, and return once they are in the log."""
        known = [self._find_repetition(request) for request in requests]
        fold = self._follower.fold
        while True:
            rows = [
                before or self._chooser.choose(fold, request)
                for before, request in zip(known, requests, strict=True)
            ]
            try:
                written = self._writer.write(_log(rows, fold.revision))
            except Stale:  # the store has the new actions and settings before the follower has
                fold = replace(self._follower.fold, **read_revision(self.store, self.config))
                continue
            return [to_decision(row, self.config.name) for row in written]

    def _find_repetition(self, request: DecideRequest) -> DecisionRow | None:
        """Return the decision that was made before with the same id, if the id was given."""
        if not request.repeatable:
            return None
        try:
            before = find_decision(self.store, self.config.name, request.id)
        except NotFound:
            return None
        check_repetition(before, request.digest)
        return before

    def write(self, change: Callable[[Ledger], T]) -> T:
        """Apply a change to the log, and return what it returns once it is committed."""
        return self._writer.write(change)

    def write_all(self, changes: Sequence[Callable[[Ledger], T]]) -> list[T]:
        """Apply several changes, each on its own; a refusal is raised after all are done."""
        answers = [self._writer.submit(change) for change in changes]
        failures = [error for answer in answers if (error := answer.exception()) is not None]
        if failures:
            raise failures[0]
        return [answer.result() for answer in answers]

    def try_all(self, changes: Sequence[Callable[[Ledger], T]]) -> list[T | Exception]:
        """Apply several changes, each on its own, and return what each gives or why it failed."""
        answers = [self._writer.submit(change) for change in changes]
        found: list[T | Exception] = []
        for answer in answers:
            try:
                found.append(answer.result())
            except Exception as error:
                found.append(error)
        return found

    def change(self, change: Callable[[Ledger], int]) -> None:
        """Apply a change that gives its position, and wait until it is folded in."""
        self._follower.wait_for(self._writer.write(change))

    def flush(self) -> None:
        """Wait until everything that was committed is folded in."""
        with self.store.read() as cursor:
            position = read_position(cursor, self.config.name)
        self._follower.wake(position)
        self._follower.wait_for(position)

    def erase(self, ids: Sequence[str]) -> int:
        """Erase contexts, and return how many; see `erasure`."""
        n, n_left = 0, 1
        while n_left:
            fold = self._stop_training()
            self.shelf.save_snapshot(fold, self.clock())
            change = partial(erase_contexts, config=self.config, ids=ids, known=fold.position)
            n_erased, n_left = self._writer.write(partial(change, time=self.clock()))
            n += n_erased
        self.flush()
        self.shelf.save_snapshot(self.fold, self.clock())
        self.store.drop_old_rows()
        return n

    def _stop_training(self) -> Fold:
        """Return what is known while no training runs, so that a snapshot of it can be kept."""
        while True:
            self.flush()
            fold = self.fold
            if fold.pending is None:
                return fold
            change = partial(end_training, kind="abandoned", trained_at=fold.pending.position)
            self._writer.write(partial(change, time=self.clock()))

    def import_file(self, path: Path) -> int:
        """Learn from decisions in a file, and return how many were new; see `log_import`."""
        importer, n = LogImporter(self.config, self.fold.actions, self.clock()), 0
        rows = [importer.read(row) for row in read_export(path)]
        changes = importer.changes()
        for first in range(0, len(rows), IMPORTED_AT_ONCE):
            some = rows[first : first + IMPORTED_AT_ONCE]
            n += self._writer.write(partial(import_rows, rows=some, time=self.clock()))
        for change in changes:
            apply = partial(add_action_change, config=self.config, change=change)
            self._writer.write(partial(apply, time=self.clock()))
        self.flush()
        return n

    def warm_up(self) -> None:
        """Compile everything that requests need."""
        self.programs.warm_up(self.fold.state)

    def status(self) -> dict[str, Any]:
        """Return the current state of the loop: positions, counts, model and trouble."""
        with self.store.read() as cursor:
            found = cursor.execute(
                "SELECT position, waiting FROM loops WHERE name = ?", (self.config.name,)
            )
        fold, (position, waiting) = self.fold, found[0]
        return {
            "name": self.config.name,
            "position": position,
            "learned_position": fold.position,
            "rounds": fold.rounds,
            "waiting": waiting,
            "training": fold.pending is not None,
            "training_process": self._trainer.process_id,
            "training_starts": self._trainer.n_starts,
            "mode": fold.mode,
            "pinned": fold.pinned,
            "model": fold.model,
            "learner": self._learner.leads,
            "trouble": self._follower.trouble or self._learner.trouble,
        }

    def close(self) -> None:
        """Write pending changes, save a snapshot and close the store."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._learner.close()
        self._writer.close()
        with contextlib.suppress(Exception):  # a snapshot only saves time
            self.flush()
            self.shelf.save_snapshot(self.fold, self.clock())
        self._follower.close()
        self.store.close()


def _log(rows: list[DecisionRow], revision: int) -> Callable[[Ledger], list[DecisionRow]]:
    return lambda ledger: log_decisions(ledger, rows, revision)


@contextlib.contextmanager
def closing_on_error(store: LoopStore) -> Iterator[None]:
    """Close a store if the block fails."""
    try:
        yield
    except BaseException:
        store.close()
        raise
