"""Who trains, closes decisions whose wait is over, and keeps snapshots? One learner per loop.

Every process that opens a loop has a learner thread, and the store lets one of them lead. If its
process ends, another one takes over from the log, in which everything a learner does is recorded.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from functools import partial

from banditsrl.errors import LoopError, StoreUnavailable
from banditsrl.live.fold import Fold, PendingTraining
from banditsrl.live.follower import Follower
from banditsrl.live.loop_changes import add_alarm, end_training, start_training
from banditsrl.live.loop_config import LoopConfig
from banditsrl.live.model_shelf import ModelShelf, add_model
from banditsrl.live.programs import Programs, alarms
from banditsrl.live.reward_rules import expire
from banditsrl.live.trainer import Trainer, TrainingResult
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.live_store.writer import Writer

TICK_SECONDS = 0.1
"""How often the learner looks for something to do, if nothing wakes it."""

EXPIRIES_AT_ONCE = 500
ROUNDS_PER_SNAPSHOT = 5000

RETRY_SECONDS = 5.0
"""Pause after a training that failed."""


class Learner:
    """Does the background work of a loop: training, expiries, alarms and snapshots."""

    def __init__(
        self,
        store: LoopStore,
        config: LoopConfig,
        programs: Programs,
        *,
        follower: Follower,
        writer: Writer,
        shelf: ModelShelf,
        trainer: Trainer,
        clock: Callable[[], float],
        may_lead: bool,
    ) -> None:
        self.leads = may_lead and store.lead(config.name)
        self._store_trouble = self._training_trouble = ""
        self._may_lead = may_lead
        self._store, self._config, self._programs = store, config, programs
        self._follower, self._writer, self._shelf = follower, writer, shelf
        self._trainer, self._clock = trainer, clock
        self._work, self._ends = threading.Event(), False
        self._snapshot_rounds = follower.fold.rounds
        self._n_alarms = 0
        self._training: threading.Thread | None = None
        self._retry_at = 0.0
        self._thread = threading.Thread(target=self._run, name="learner", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str:
        """What is wrong at present; empty if nothing is."""
        return self._training_trouble or self._store_trouble

    def close(self) -> None:
        """End the thread and the training, which is started again when the loop is opened."""
        self._ends = True
        self._work.set()
        self._trainer.close()
        self._thread.join()
        if self._training is not None:
            self._training.join()
        self._trainer.close()
        pending = self._follower.fold.pending
        if self.leads and pending is not None:
            change = partial(end_training, kind="abandoned", trained_at=pending.position)
            with contextlib.suppress(LoopError):  # the next learner trains again in any case
                self._writer.write(partial(change, time=self._clock()))

    def _run(self) -> None:
        while self._may_lead and not self._ends:
            self._work.wait(TICK_SECONDS)
            try:
                self.leads = self._may_work()
                if self.leads and not self._ends:
                    self._tick()
                self._store_trouble = ""
            except Exception as error:  # the thread must go on; `status` shows the error
                self._store_trouble = str(error)

    def _may_work(self) -> bool:
        """Return whether this process is the learner; without a store it cannot be."""
        try:
            return self._store.lead(self._config.name)
        except StoreUnavailable:
            self.leads = False
            raise

    def _tick(self) -> None:
        self._expire()
        fold = self._follower.fold
        self._note_alarms(fold)
        if fold.rounds - self._snapshot_rounds >= ROUNDS_PER_SNAPSHOT and fold.pending is None:
            self._shelf.save_snapshot(fold, self._clock())
            self._snapshot_rounds = fold.rounds
        runs = self._training is not None and self._training.is_alive()
        wanted = fold.wants_training(self._programs.policy)
        if wanted and not runs and time.monotonic() >= self._retry_at:
            self._training = threading.Thread(
                target=self._train, args=(fold.position,), name="training", daemon=True
            )
            self._training.start()

    def _expire(self) -> None:
        """Close decisions whose wait is over; a read tells first whether there are any."""
        rule, now = self._config.reward, self._clock()
        if rule.wait is None:
            return
        with self._store.read() as cursor:
            found = cursor.execute(
                "SELECT id FROM decisions WHERE loop = ? AND status = 'waiting' AND deadline < ? "
                "LIMIT 1",
                (self._config.name, now),
            )
        closed = EXPIRIES_AT_ONCE if found else 0
        while closed == EXPIRIES_AT_ONCE and not self._ends:
            closed = self._writer.write(
                partial(expire, rule=rule, time=now, limit=EXPIRIES_AT_ONCE)
            )

    def _note_alarms(self, fold: Fold) -> None:
        found = alarms(self._programs.policy, fold.state)
        if found > self._n_alarms:
            self._writer.write(partial(add_alarm, n_alarms=found, time=self._clock()))
            self._n_alarms = found

    def _train(self, known: int) -> None:
        """Train once and publish the result; this runs in a thread of its own."""
        try:
            start = partial(start_training, known=known, time=self._clock())
            position = self._writer.write(start)
            if position is None:
                return
            self._follower.wait_for(position)
            pending = self._follower.fold.pending
            if pending is None or pending.position != position:
                return  # another version was put back in the meantime
            self._publish(pending, self._trainer.train(pending))
            self._training_trouble = ""
        except Exception as error:  # the thread must go on; `status` shows the error
            if not self._ends:
                self._training_trouble = str(error)
                self._retry_at = time.monotonic() + RETRY_SECONDS

    def _publish(self, pending: PendingTraining, result: TrainingResult) -> None:
        now, position = self._clock(), pending.position
        if result.content is None:
            change = partial(end_training, kind="unchanged", trained_at=position, time=now)
            ended = self._writer.write(change)
        else:
            kept = self._shelf.save_state(result.content)
            publish = partial(add_model, pending=pending, kept=kept, time=now)
            about = {"settings": self._shelf.settings, "evaluation": result.report}
            ended = self._writer.write(partial(publish, **about))
        if ended is not None:
            self._follower.wait_for(ended)
