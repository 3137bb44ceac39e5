"""Replays of the loop in a store, which close what they have opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from banditsrl.live.loop_opening import find_config
from banditsrl.live.replay import Replay, Verification
from banditsrl.live_store.store_address import open_store


@contextmanager
def open_replay(path: str | Path) -> Iterator[Replay]:
    """Give a replay of the only loop in a store."""
    store = open_store(path, create=False)
    found = Replay(store, find_config(store, None))
    try:
        yield found
    finally:
        found.close()
        store.close()


def verify_loop(path: str | Path) -> Verification:
    """Verify the only loop in a store."""
    with open_replay(path) as replay:
        return replay.verify()
