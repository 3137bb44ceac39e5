"""How is a large state stored? In parts, so that no decision has to wait for it.

A state can have many megabytes, and a transaction that writes them keeps all others waiting. The
parts are therefore written one by one before the transaction that needs them, which writes only a
reference. Parts that nothing refers to, because a process ended in between, are removed with the
next snapshot.
"""

import secrets

from banditsrl.errors import StoreUnavailable
from banditsrl.live_store.loop_store import Cursor, LoopStore, take_loop

PART_BYTES = 2**19
"""Size of a part; a state that is not larger is kept in its own row."""

MARK = b"parts:"
"""How a reference begins. A state never begins so: it is a NumPy archive."""

LONGEST_REFERENCE = 64


def save_parts(store: LoopStore, loop: str, content: bytes) -> bytes:
    """Write a large state in parts; return the content of its row: the state or a reference."""
    if len(content) <= PART_BYTES:
        return content
    name, firsts = secrets.token_hex(8), range(0, len(content), PART_BYTES)
    for part, first in enumerate(firsts):
        with store.write() as cursor:
            cursor.execute(
                "INSERT INTO state_parts (loop, name, part, content) VALUES (?, ?, ?, ?)",
                (loop, name, part, content[first : first + PART_BYTES]),
            )
    return MARK + f"{len(firsts)}:{name}".encode()


def check_parts(cursor: Cursor, loop: str, kept: bytes) -> None:
    """Refuse a reference whose parts are not all there, before it is written."""
    if kept.startswith(MARK):
        count, name = _read_reference(kept)
        found = cursor.execute(
            "SELECT COUNT(*) FROM state_parts WHERE loop = ? AND name = ?", (loop, name)
        )
        if found[0][0] != count:
            raise StoreUnavailable("The parts of a state were removed before it was written.")


def load_parts(cursor: Cursor, loop: str, kept: bytes) -> bytes:
    """Return a state from the content of its row; it is empty if parts are missing."""
    if not kept.startswith(MARK):
        return kept
    count, name = _read_reference(kept)
    found = cursor.execute(
        "SELECT content FROM state_parts WHERE loop = ? AND name = ? ORDER BY part", (loop, name)
    )
    return b"".join(bytes(content) for (content,) in found) if len(found) == count else b""


def remove_unused_parts(store: LoopStore, loop: str) -> None:
    """Remove the parts of states that no model and no snapshot refers to.

    Each part is removed in a transaction of its own, since SQLite overwrites what is removed, and a
    decision would wait for all of it. The row of the loop is taken first, as by everything that
    refers to a state, so that a reference written in the meantime is seen.
    """
    with store.read() as cursor:
        found = cursor.execute(
            "SELECT name, part FROM state_parts WHERE loop = ? ORDER BY name, part", (loop,)
        )
        used = _find_used(cursor, loop)
    for name, part in found:
        if name in used:
            continue
        with store.write() as cursor:
            take_loop(cursor, loop)
            if name not in _find_used(cursor, loop):  # a reference may have been written since
                cursor.execute(
                    "DELETE FROM state_parts WHERE loop = ? AND name = ? AND part = ?",
                    (loop, name, part),
                )


def _find_used(cursor: Cursor, loop: str) -> set[str]:
    """Return the names of the states that models and snapshots refer to."""
    kept = cursor.execute(
        "SELECT substr(state, 1, ?) FROM models WHERE loop = ? "
        "UNION ALL SELECT substr(state, 1, ?) FROM snapshots WHERE loop = ?",
        (LONGEST_REFERENCE, loop, LONGEST_REFERENCE, loop),
    )
    references = [bytes(state) for (state,) in kept]
    return {_read_reference(state)[1] for state in references if state.startswith(MARK)}


def _read_reference(kept: bytes) -> tuple[int, str]:
    """Return the number of parts and their name."""
    count, name = kept.removeprefix(MARK).decode().split(":")
    return int(count), name
