"""How is a loop created, and opened again? Its state is computed from its log at each opening."""

import json
import time
from collections.abc import Callable
from dataclasses import replace

from banditsrl.arguments import count
from banditsrl.errors import Conflict, InvalidArgument, MissingArgument, NotFound
from banditsrl.live.fold import Fold, ModelSource
from banditsrl.live.log_reader import iterate_changes, read_position
from banditsrl.live.loop_config import LoopConfig, read_config
from banditsrl.live.programs import Programs, computed
from banditsrl.live_store.decision_rows import write_json_in_order
from banditsrl.live_store.loop_store import LoopStore, take_loop
from banditsrl.live_store.state_bytes import describe_build
from banditsrl.registry import guess_at

Progress = Callable[[int, int, float], None]
"""Called now and then with the position reached, the last one, and an estimate of seconds left."""

REPORT_SECONDS = 1.0

LARGEST_REPLICA = 2**32 - 1

COMPILING_ROUNDS = 3
"""Rounds at the start of a replay during which programs may be compiled."""


def create_loop(store: LoopStore, config: LoopConfig, now: float) -> None:
    """Write a new loop into a store; a name that is taken is refused."""
    # The order of the columns is that of the encoded rows, and the order of the actions is that of
    # their slots.
    document = write_json_in_order(dict(config.document))
    with store.write() as cursor:
        made = cursor.execute(  # two servers may try it at the same time
            "INSERT INTO loops (name, config, position, revision, mode, waiting) "
            "VALUES (?, ?, 1, 1, ?, 0) ON CONFLICT (name) DO NOTHING RETURNING name",
            (config.name, document, config.mode),
        )
        if not made:
            raise Conflict(
                f"There is already a loop named {config.name!r} in this store; "
                "open it with Loop.open."
            )
        cursor.execute(
            "INSERT INTO records (loop, position, kind, time, id, body) "
            "VALUES (?, 1, 'created', ?, NULL, ?)",
            (config.name, now, document),
        )


def list_loops(store: LoopStore) -> list[str]:
    """Return the names of the loops in a store."""
    with store.read() as cursor:
        return [name for (name,) in cursor.execute("SELECT name FROM loops ORDER BY name")]


def find_config(store: LoopStore, name: str | None, *, argument: str = "name") -> LoopConfig:
    """Return the configuration of a loop; without a name there must be only one.

    `argument` is what the caller calls the name, for the message if it is missing.
    """
    names = list_loops(store)
    if name is None and len(names) != 1:
        raise MissingArgument(
            f"{argument} must be given unless the store has exactly one loop, got the loops "
            f"{names}.",
            argument,
        )
    chosen = names[0] if name is None else name
    with store.read() as cursor:
        found = cursor.execute("SELECT config FROM loops WHERE name = ?", (chosen,))
    if not found:
        raise NotFound(f"There is no loop named {chosen!r} in this store{guess_at(chosen, names)}")
    return read_config(json.loads(found[0][0]))


def check_replica(replica: int) -> int:
    """Return the number of a replica; random keys are made from numbers of 32 bits."""
    if count("replica", replica, 0) > LARGEST_REPLICA:
        raise InvalidArgument(f"replica must be at most {LARGEST_REPLICA}, got {replica}.")
    return int(replica)


def count_opening(store: LoopStore, loop: str, replica: int, now: float) -> int:
    """Record that a replica opens a loop; return how often it has, which its random key needs."""
    with store.write() as cursor:
        take_loop(cursor, loop)
        found = cursor.execute(
            "SELECT MAX(opening) FROM openings WHERE loop = ? AND replica = ?", (loop, replica)
        )
        opening = int(found[0][0] or 0) + 1
        cursor.execute(
            "INSERT INTO openings (loop, replica, opening, time, build) VALUES (?, ?, ?, ?, ?)",
            (loop, replica, opening, now, describe_build()),
        )
    return opening


def catch_up(
    store: LoopStore,
    loop: str,
    fold: Fold,
    *,
    programs: Programs,
    models: ModelSource,
    progress: Progress | None = None,
    last: int | None = None,
) -> Fold:
    """Return what is known at the end of the log, or at position `last`."""
    with store.read() as cursor:
        end = read_position(cursor, loop) if last is None else last
    began = reported = 0.0
    first, n_compiled = fold.position, 0
    for record in iterate_changes(store, loop, fold.position, end):
        fold = fold.apply(record, programs, models)
        now = time.monotonic()
        if n_compiled < COMPILING_ROUNDS:  # their time says nothing about the rest
            n_compiled += record.learned is not None
            began, reported, first = now, now, fold.position
        elif progress is not None and now - reported > REPORT_SECONDS:
            reported = now
            share = (fold.position - first) / max(end - first, 1)
            progress(fold.position, end, (now - began) * (1.0 - share) / share)
    return replace(fold, position=end, state=computed(fold.state))
