"""Which tables hold a loop? These, in every dialect, with a version and forward migrations.

All SQL of the room is plain and takes its parameters as `?`. Numbers of a log are exact: floats are
eight bytes, and encoded contexts and distributions (the column `law`) are arrays of them.

A migration is never changed once it has been released. A new one is added after it.
"""

from banditsrl.errors import InvalidArgument
from banditsrl.live_store.loop_store import Cursor

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE loops (
            name TEXT PRIMARY KEY,
            config TEXT NOT NULL,
            position BIGINT NOT NULL,
            revision BIGINT NOT NULL,
            mode TEXT NOT NULL,
            waiting BIGINT NOT NULL)""",
        """CREATE TABLE records (
            loop TEXT NOT NULL,
            position BIGINT NOT NULL,
            kind TEXT NOT NULL,
            time DOUBLE PRECISION NOT NULL,
            id TEXT,
            body TEXT,
            PRIMARY KEY (loop, position))""",
        """CREATE INDEX changes ON records (loop, position)
            WHERE kind NOT IN ('decision', 'reward', 'expiry', 'activation')""",
        """CREATE TABLE decisions (
            loop TEXT NOT NULL,
            id TEXT NOT NULL,
            position BIGINT NOT NULL,
            time DOUBLE PRECISION NOT NULL,
            context TEXT,
            digest TEXT NOT NULL,
            available TEXT NOT NULL,
            action TEXT NOT NULL,
            slot BIGINT NOT NULL,
            features {blob} NOT NULL,
            law {blob} NOT NULL,
            predicted {blob},
            replica BIGINT NOT NULL,
            draw BIGINT NOT NULL,
            model BIGINT NOT NULL,
            known BIGINT NOT NULL,
            certified BIGINT NOT NULL,
            glr DOUBLE PRECISION,
            threshold DOUBLE PRECISION,
            representation BIGINT NOT NULL,
            audited BIGINT NOT NULL,
            explored BIGINT NOT NULL,
            deferred BIGINT NOT NULL,
            mode TEXT NOT NULL,
            shadow TEXT,
            status TEXT NOT NULL,
            deadline DOUBLE PRECISION,
            value DOUBLE PRECISION,
            settled_at BIGINT,
            settled_time DOUBLE PRECISION,
            learned BIGINT NOT NULL,
            PRIMARY KEY (loop, id))""",
        "CREATE UNIQUE INDEX decision_positions ON decisions (loop, position)",
        "CREATE INDEX decision_knowledge ON decisions (loop, known, position)",
        "CREATE INDEX waiting_decisions ON decisions (loop, deadline) WHERE status = 'waiting'",
        "CREATE INDEX learned_rounds ON decisions (loop, settled_at) WHERE learned = 1",
        """CREATE TABLE rewards (
            loop TEXT NOT NULL,
            id TEXT NOT NULL,
            position BIGINT NOT NULL,
            key TEXT,
            value DOUBLE PRECISION NOT NULL,
            counted BIGINT NOT NULL,
            reason TEXT NOT NULL,
            PRIMARY KEY (loop, id, position))""",
        """CREATE TABLE models (
            loop TEXT NOT NULL,
            version BIGINT NOT NULL,
            trained_at BIGINT NOT NULL,
            published_at BIGINT NOT NULL,
            time DOUBLE PRECISION NOT NULL,
            rounds BIGINT NOT NULL,
            build TEXT NOT NULL,
            settings TEXT NOT NULL,
            evaluation TEXT NOT NULL,
            state {blob} NOT NULL,
            PRIMARY KEY (loop, version))""",
        """CREATE TABLE snapshots (
            loop TEXT NOT NULL,
            position BIGINT NOT NULL,
            time DOUBLE PRECISION NOT NULL,
            build TEXT NOT NULL,
            settings TEXT NOT NULL,
            header TEXT NOT NULL,
            state {blob} NOT NULL,
            PRIMARY KEY (loop, position))""",
        """CREATE TABLE tallies (
            loop TEXT NOT NULL,
            minute BIGINT NOT NULL,
            action TEXT NOT NULL,
            decisions BIGINT NOT NULL,
            explored BIGINT NOT NULL,
            certified BIGINT NOT NULL,
            audited BIGINT NOT NULL,
            rewards BIGINT NOT NULL,
            total DOUBLE PRECISION NOT NULL,
            squares DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (loop, minute, action))""",
        """CREATE TABLE openings (
            loop TEXT NOT NULL,
            replica BIGINT NOT NULL,
            opening BIGINT NOT NULL,
            time DOUBLE PRECISION NOT NULL,
            build TEXT NOT NULL,
            PRIMARY KEY (loop, replica, opening))""",
    ),
    (
        """CREATE TABLE state_parts (
            loop TEXT NOT NULL,
            name TEXT NOT NULL,
            part BIGINT NOT NULL,
            content {blob} NOT NULL,
            PRIMARY KEY (loop, name, part))""",
    ),
)
"""The statements that lead from each version of the schema to the next."""

SCHEMA_VERSION = len(MIGRATIONS)

IS_CHANGE = "kind NOT IN ('decision', 'reward', 'expiry', 'activation')"
"""The condition of the index `changes`. A query for rare records must repeat it, or SQLite
reads the whole log instead of the index."""


def migrate(cursor: Cursor, blob: str) -> None:
    """Bring the tables of a store to this version; a store of a later release is refused."""
    cursor.execute("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    found = cursor.execute("SELECT value FROM meta WHERE name = ?", ("schema",))
    version = int(found[0][0]) if found else 0
    if version > SCHEMA_VERSION:
        raise InvalidArgument(
            f"The store must have a schema up to version {SCHEMA_VERSION}, got version {version}; "
            "it was written by a later release."
        )
    if version == SCHEMA_VERSION:
        return
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            cursor.execute(statement.format(blob=blob))
    cursor.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        ("schema", str(SCHEMA_VERSION)),
    )
