"""What did a server do at a moment? Its own steps, written down while it runs.

    SERVING_TRACE=steps.jsonl python benchmarks/serving_server.py serve ...

Each line is one step with its thread, its begin and its end (`time.monotonic()`): transactions by
what they waited for, copies of the write-ahead log, choices, garbage collections, compilations,
and moments in which no Python code could run. Short ones are left out; what happens when a model
is trained, taken over or kept is always written down.
"""

import contextlib
import functools
import gc
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

from banditsrl.live.follower import Follower
from banditsrl.live.learner import Learner
from banditsrl.live.model_shelf import ModelShelf
from banditsrl.live.programs import Programs
from banditsrl.live.trainer import Trainer
from banditsrl.live_store.sqlite_store import SqliteCursor, SqliteStore

SHORT_SECONDS = 0.025
"""Steps that are shorter are left out."""

ALWAYS: tuple[tuple[Any, str], ...] = (
    (ModelShelf, "find_model"),
    (ModelShelf, "save_state"),
    (ModelShelf, "save_snapshot"),
    (Programs, "warm_up"),
    (Trainer, "train"),
    (Learner, "_publish"),
)
LONG_ONLY: tuple[tuple[Any, str], ...] = (
    (SqliteStore, "_copy_log"),
    (Programs, "choose"),
    (Programs, "learn"),
    (Follower, "_follow"),
)


def trace(path: Path) -> None:
    """Write down the steps of this process from now on."""
    stream = path.open("w", buffering=1)

    def note(name: str, begin: float, shortest: float = SHORT_SECONDS) -> None:
        end = time.monotonic()
        if end - begin >= shortest:
            thread = threading.current_thread().name
            stream.write(json.dumps({"step": name, "thread": thread, "at": [begin, end]}) + "\n")

    for owner, name in ALWAYS:
        _wrap(owner, name, functools.partial(note, name.strip("_"), shortest=0.0))
    for owner, name in LONG_ONLY:
        _wrap(owner, name, functools.partial(note, name.strip("_")))
    _wrap_transactions(note)
    _note_collections(note)
    _note_compilations(note)
    watcher = threading.Thread(target=_watch_interpreter, args=(note,), name="watcher", daemon=True)
    watcher.start()


def _wrap(owner: Any, name: str, note: Callable[[float], None]) -> None:
    real = getattr(owner, name)

    @functools.wraps(real)
    def run(*args: Any, **options: Any) -> Any:
        begin = time.monotonic()
        try:
            return real(*args, **options)
        finally:
            note(begin)

    setattr(owner, name, run)


def _wrap_transactions(note: Callable[[str, float], None]) -> None:
    real = SqliteStore.write

    @contextlib.contextmanager
    def write(self: SqliteStore) -> Iterator[SqliteCursor]:
        at = time.monotonic()
        with real(self) as cursor:
            note("turn", at)
            at = time.monotonic()
            yield cursor
            note("statements", at)
            at = time.monotonic()
        note("commit", at)

    SqliteStore.write = write  # type: ignore[method-assign]


def _note_collections(note: Callable[[str, float], None]) -> None:
    begun = [0.0]

    def heard(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            begun[0] = time.monotonic()
        else:
            note("garbage collection", begun[0])

    gc.callbacks.append(heard)


def _note_compilations(note: Callable[..., None]) -> None:
    def heard(event: str, duration_secs: float, **_: str | int) -> None:
        if event.endswith("backend_compile_duration"):
            note("compilation", time.monotonic() - duration_secs, 0.0)

    jax.monitoring.register_event_duration_secs_listener(heard)


def _watch_interpreter(note: Callable[[str, float], None]) -> None:
    """Sleep again and again; whoever wakes up late could not run."""
    while True:
        begin = time.monotonic()
        time.sleep(0.005)
        note("no Python", begin)
