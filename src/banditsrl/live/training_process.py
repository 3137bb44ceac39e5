"""What does the training process do? It ends phases of the policy, on the rounds in the store.

It waits for tasks on its standard input and answers on its standard output. It ends when the input
is closed, or soon after the process that started it was killed. Any other output goes to standard
error.
"""

import os
import sys
import threading
import time
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.core.history import BLOCK, History
from banditsrl.core.policy import Policy, State
from banditsrl.engines.local import compiled_programs
from banditsrl.live.log_reader import BATCH, read_rounds
from banditsrl.live.loop_config import LoopConfig, read_config
from banditsrl.live.messages import read_message, write_message
from banditsrl.live.programs import Programs
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.live_store.state_bytes import digest_content, pack_state, unpack_state
from banditsrl.live_store.store_address import open_store
from banditsrl.numerics.draws import is_key
from banditsrl.numerics.partition import Partitioned, partition
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.process import use_compilation_cache
from banditsrl.policies.watched import Watched
from banditsrl.serving.compiled import compiled

NICENESS = 10
"""Makes the operating system prefer deciding to training when both need a processor."""


LOOK_SECONDS = 0.5
"""How often the process checks whether its parent is still running."""


class RoundBuffer:
    """All rounds that a loop has learned, up to a position; it grows by powers of two."""

    def __init__(self, store: LoopStore, loop: str, n_columns: int) -> None:
        self._store, self._loop = store, loop
        self._n, self._position, self._erased = 0, 0, 0
        self._contexts: NDArray[np.float64] = np.zeros((BLOCK, n_columns))
        self._actions: NDArray[np.int32] = np.zeros(BLOCK, dtype=np.int32)
        self._rewards: NDArray[np.float64] = np.zeros(BLOCK)
        self._certified: NDArray[np.bool_] = np.zeros(BLOCK, dtype=bool)

    def read_until(self, position: int, erased: int) -> None:
        """Read the rounds up to a position; all of them if contexts were erased meanwhile."""
        if position < self._position or erased != self._erased:
            self._n, self._position, self._erased = 0, 0, erased
        found: list[Any] = [None] * BATCH
        while len(found) == BATCH:
            with self._store.read() as cursor:
                found = read_rounds(cursor, self._loop, self._position, position)
            for at, one in found:
                self._make_room()
                self._contexts[self._n] = one.features
                self._actions[self._n] = one.slot
                self._rewards[self._n] = one.reward
                self._certified[self._n] = one.certified
                self._n, self._position = self._n + 1, at
        self._position = position

    def _make_room(self) -> None:
        if self._n < len(self._actions):
            return
        self._contexts = np.concatenate([self._contexts, np.zeros_like(self._contexts)])
        self._actions = np.concatenate([self._actions, np.zeros_like(self._actions)])
        self._rewards = np.concatenate([self._rewards, np.zeros_like(self._rewards)])
        self._certified = np.concatenate([self._certified, np.zeros_like(self._certified)])

    @in_float64
    def history(self) -> History:
        """Return the rounds as policies take them; everything after the last round is zero."""
        arrays = (self._contexts, self._actions, self._rewards, self._certified)
        cleared = [_clear_after(array, self._n) for array in arrays]
        return History(*jax.device_put([*cleared, np.asarray(self._n, dtype=np.int32)]))


def _plain(value: Any) -> Any:
    """Return a reported value as JSON can hold it: numbers that are not finite become None."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return array.tolist()
    return np.where(np.isfinite(array), array.astype(object), np.array(None)).tolist()


def _clear_after(array: NDArray[Any], n: int) -> NDArray[Any]:
    array[n:] = 0
    return array


class TrainingDesk:
    """Carries out the training tasks of one loop."""

    def __init__(self, url: str, config: LoopConfig) -> None:
        self._programs = Programs(config)
        self._compiled = compiled(self._programs.policy)
        self._url, self._loop = url, config.name
        self._buffer: RoundBuffer | None = None

    def answer(self, task: dict[str, Any], content: bytes) -> tuple[dict[str, Any], bytes]:
        """Return a header, and the state at the start of the next phase unless it is unchanged."""
        before = unpack_state(content, self._programs.layout)
        if before is None:
            return {"error": "the state could not be read"}, b""
        try:
            after = self._refresh(before, task)
        except Exception as error:  # the learner says what went wrong, and the loop goes on
            return {"error": f"{type(error).__name__}: {error}"}, b""
        changed = pack_state(after)
        is_new = digest_content(changed) != digest_content(pack_state(before))
        found = self._programs.policy.report(after)
        report = {name: _plain(value) for name, value in found.items()}
        return {"changed": is_new, "report": report}, changed if is_new else b""

    def _refresh(self, state: State, task: dict[str, Any]) -> State:
        history, policy = None, self._programs.policy
        if policy.uses_history or task["anew"]:
            history = self._read_history(task)
        if task["anew"] and history is not None:
            state = learn_again(self._programs, state, history)
        key = self._programs.training_key(task["rounds"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a network that diverged leaves the state unchanged
            return self._compiled.refresh(state, history if policy.uses_history else None, key)

    def _read_history(self, task: dict[str, Any]) -> History:
        if self._buffer is None:
            store = open_store(self._url, create=False)
            self._buffer = RoundBuffer(store, self._loop, self._programs.n_columns)
        self._buffer.read_until(task["position"], task["erased"])
        return self._buffer.history()


@in_float64
def learn_again(programs: Programs, state: State, history: History) -> State:
    """Return a state that will know all rounds after its next phase end, whatever it knew before.

    A policy that uses the history looks at all of it then. Any other learns the rounds here, one
    by one from the beginning. What audits and the test for changes have shown is kept.
    """
    policy = programs.policy
    if not isinstance(policy, Watched):
        return state if policy.uses_history else _learn_all(policy, programs.start(), history, 0)
    state = state._replace(n_refreshed=jnp.zeros_like(state.n_refreshed))  # a phase end is due
    if policy.uses_history:
        return state
    start, since = programs.start().inner, int(state.since)
    return state._replace(inner=_learn_all(policy.inner, start, history, since))


def _learn_all(policy: Policy[Any], state: State, history: History, first: int) -> State:
    return _learn_rounds(partition(policy), state, history, np.asarray(first, dtype=np.int32))


@jax.jit
def _learn_rounds(
    parts: Partitioned[Policy[Any]], state: State, history: History, first: Array
) -> State:
    policy = parts.combine()

    def learn(i: Array, state: State) -> State:
        played = (history.contexts[i], history.actions[i], history.rewards[i], history.certified[i])
        learned = policy.learn(state, *played)
        return jax.tree.map(
            lambda new, old: new if is_key(new) else new.astype(old.dtype), learned, state
        )

    return jax.lax.fori_loop(first, history.n, learn, state)


def end_with(parent: int) -> None:
    """End this process, whatever it is doing, once another process has become its parent."""
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)


def main() -> None:
    """Answer tasks until the input is closed."""
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    os.nice(NICENESS)
    use_compilation_cache(compiled_programs())
    setting, _ = read_message(sys.stdin.buffer)
    desk = TrainingDesk(setting["url"], read_config(setting["config"]))
    while True:
        try:
            task, content = read_message(sys.stdin.buffer)
        except EOFError:
            return
        answer = desk.answer(task, content)
        try:
            write_message(answers, *answer)
        except BrokenPipeError:  # the process that asked has ended
            return


if __name__ == "__main__":
    main()
