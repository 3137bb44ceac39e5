"""How is a policy replayed on a log? Batch by batch, with phases that end as in a run of its own.

A phase ends when enough rounds were *accepted*, and `refresh` sees the history of these rounds
only. Rows go through the compiled program in chunks of one size.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.core.history import BLOCK, History
from banditsrl.core.policy import Policy, State
from banditsrl.errors import InvalidArgument
from banditsrl.evaluation.acceptance_rates import AcceptanceRate
from banditsrl.evaluation.policy_targets import pad_masks
from banditsrl.evaluation.replay_rounds import (
    ReplayRow,
    ReplayState,
    SeenRows,
    Stretch,
    nothing_seen,
    replay_rows,
)
from banditsrl.live.fold import next_end_after
from banditsrl.logs.log import LogBatch
from banditsrl.logs.log_batches import take_rows
from banditsrl.numerics.partition import partition
from banditsrl.numerics.precision import in_float64
from banditsrl.serving.compiled import compiled

CHUNK_ROWS = 4096
"""Rows that go through the compiled program at once."""

NEVER = np.iinfo(np.int32).max


@dataclass
class AcceptedRounds:
    """The history of accepted rounds, which is collected in NumPy and copied for the policy."""

    capacity: int  # room at first, in rounds; it is doubled when it is full
    n: int = 0
    arrays: list[NDArray[Any]] = field(default_factory=list)

    def add(self, *columns: NDArray[Any]) -> None:
        """Append k rounds: contexts, actions, rewards and certificates."""
        n = self.n + len(columns[0])
        size = len(self.arrays[0]) if self.arrays else -(-self.capacity // BLOCK) * BLOCK
        while size < n:
            size *= 2
        if not self.arrays:
            self.arrays = [np.zeros((size, *col.shape[1:]), dtype=col.dtype) for col in columns]
        if size > len(self.arrays[0]):
            missing = size - len(self.arrays[0])
            rest = [np.zeros((missing, *old.shape[1:]), dtype=old.dtype) for old in self.arrays]
            self.arrays = [np.concatenate(pair) for pair in zip(self.arrays, rest, strict=True)]
        for buffer, column in zip(self.arrays, columns, strict=True):
            buffer[self.n : n] = column
        self.n = n

    def history(self) -> History:
        """Return a copy for the policy."""
        contexts, actions, rewards, certified = (jnp.array(part) for part in self.arrays)
        n = jnp.asarray(self.n, dtype=jnp.int32)
        return History(contexts, actions, rewards, certified, n)


class PolicyReplay:
    """The replay of one policy on a log by rejection; `visit` takes the batches in their order.

    Args:
        policy: Any policy whose contexts are vectors.
        rate: How rows are accepted.
        n_actions: Number of actions of the log.
        n_slots: Number of actions of the policy.
        capacity: Number of accepted rounds for which room is made at once.
        key: Decides the initial state, the draws of every row, and the training.
    """

    def __init__(
        self,
        policy: Policy[Any],
        rate: AcceptanceRate,
        *,
        n_actions: int,
        n_slots: int,
        capacity: int,
        key: Array,
    ) -> None:
        self._policy, self._parts, self._compiled = policy, partition(policy), compiled(policy)
        self._n_actions, self._n_slots = n_actions, n_slots
        init_key, self._refresh_key, self._row_key = jax.random.split(key, 3)
        self.state: State = policy.init(init_key)
        self.n_accepted, self._n_visited = 0, 0
        self._rate, self._size = rate, 0
        self._keeps = policy.phase_growth is not None and policy.uses_history
        self._history = AcceptedRounds(max(capacity, 1))

    def visit(self, batch: LogBatch) -> Iterator[tuple[LogBatch, SeenRows]]:
        """Replay the rounds of a batch; yield them in chunks, with what was found in each."""
        check_propensities(batch)
        if not self._size:  # a small log does not fill a whole chunk
            wanted = 2 ** int(np.ceil(np.log2(max(len(batch.rows), 1))))
            self._size = min(max(wanted, 64), CHUNK_ROWS)
        for first in range(0, len(batch.rows), self._size):
            some = take_rows(batch, slice(first, first + self._size))
            yield some, self._visit_chunk(some)

    @in_float64
    def _visit_chunk(self, batch: LogBatch) -> SeenRows:
        n = len(batch.rows)
        rows, start = self._fill(batch), nothing_seen(self._size, self._n_slots)
        replay = ReplayState(self.state, np.asarray(self.n_accepted, np.int32), self._rate, start)  # type: ignore[arg-type]
        first, learned = 0, 0
        while first < n:
            limit = self._next_end()
            ends = Stretch(*(np.asarray(v, dtype=np.int32) for v in (first, n, limit)))  # type: ignore[arg-type]
            replay, reached = replay_rows(self._parts, rows, replay, ends, self._row_key)
            first, self.n_accepted = int(reached), int(replay.n)
            if self._keeps:
                self._keep(batch, replay.seen, slice(learned, first))
                learned = first
            if self.n_accepted == limit:
                replay = replay._replace(state=self._refresh(replay.state))
        self.state, self._rate = replay.state, replay.rate
        self._n_visited += n
        return SeenRows(*(np.asarray(part)[:n] for part in replay.seen))  # type: ignore[arg-type]

    def _fill(self, batch: LogBatch) -> ReplayRow:
        """Return the rows of a chunk; missing ones are filled up and never visited."""
        n = len(batch.rows)
        columns = (
            np.arange(self._n_visited, self._n_visited + n, dtype=np.uint32),
            batch.contexts,
            pad_masks(batch, self._n_actions, self._n_slots),
            batch.actions,
            batch.rewards,
            batch.propensities,
        )
        missing = self._size - n
        full = [np.pad(col, [(0, missing)] + [(0, 0)] * (col.ndim - 1)) for col in columns]
        return ReplayRow(*jax.device_put(full))

    def _keep(self, batch: LogBatch, seen: SeenRows, some: slice) -> None:
        """Add the accepted ones of some rows to the history."""
        mine = np.flatnonzero(np.asarray(seen.accepted)[some]) + some.start
        certified = np.asarray(seen.certified)[mine]
        self._history.add(batch.contexts[mine], batch.actions[mine], batch.rewards[mine], certified)

    def _next_end(self) -> int:
        """Return after how many accepted rounds the phase ends."""
        growth = self._policy.phase_growth
        if growth is None:
            return NEVER
        return next_end_after(growth, self.n_accepted, self._policy.longest_phase)

    def _refresh(self, state: State) -> State:
        history = self._history.history() if self._keeps else None
        key = jax.random.fold_in(self._refresh_key, self.n_accepted)
        return self._compiled.refresh(state, history, key)


def check_propensities(batch: LogBatch) -> None:
    """Refuse rounds whose propensity is not known, or is not a probability."""
    bad = ~((batch.propensities > 0.0) & (batch.propensities <= 1.0))
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidArgument(
            f"propensities must be above 0 and at most 1 to replay a log, got "
            f"{batch.propensities[i]:g} in row {batch.rows[i]}."
        )
