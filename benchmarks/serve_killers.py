"""Which server is killed, and when? At random moments, or around the publication of a model.

Every kill is a SIGKILL, after which the server is started again on the same store.
"""

import contextlib
import importlib
import random
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from serve_processes import ServerProcess

WINDOW = (0.05, 1.5)
"""Seconds between the moment when a server is ready and the kill."""

STARTING = 0.4
"""Share of servers that are killed once more after they were started, ready or not."""

SHOWN_EVERY = 20

BEFORE, DURING, AFTER, ELSEWHERE = "training", "writing", "published", "elsewhere"
"""Where a kill fell: while a model was trained, while its state was written into the store, or soon
after the record that makes it decide."""

AIMS = {BEFORE: 0.3, DURING: 0.02, AFTER: 0.05}
"""How long a kill waits after the event that it aims at, in seconds, at most."""

NEAR_SECONDS = 0.5
"""How long after the time of its record a publication is near."""

EVENT_SECONDS = 120.0
LOOK_SECONDS = 0.004


class Killer:
    """Kills servers at random moments and starts them again."""

    def __init__(self, servers: Sequence[ServerProcess], seed: int) -> None:
        self._servers, self._chance = servers, random.Random(seed)
        self.kills = self.of_learner = self.while_starting = 0

    def run(self, kills: int, seconds: float) -> None:
        """Kill so often, or for so long."""
        end = time.monotonic() + seconds
        while self.kills < kills and time.monotonic() < end:
            time.sleep(self._chance.uniform(*WINDOW))
            victim = self._pick_victim()
            self.of_learner += victim.leads()
            self._restart(victim)
            if self.kills < kills and self._chance.random() < STARTING:
                time.sleep(self._chance.uniform(*WINDOW))
                self.while_starting += victim.ask("/ready")[0] != HTTPStatus.OK
                self._restart(victim)
            victim.wait()

    def _pick_victim(self) -> ServerProcess:
        """Return the learner if there are several servers, and any of them if there is none."""
        leaders = [one for one in self._servers if len(self._servers) > 1 and one.leads()]
        return leaders[0] if leaders else self._chance.choice(self._servers)

    def _restart(self, victim: ServerProcess) -> None:
        victim.kill()
        victim.start()
        self.kills += 1
        if self.kills % SHOWN_EVERY == 0:
            print(f"{self.kills} kills", file=sys.stderr, flush=True)

    @property
    def on_target(self) -> bool:
        """Whether enough kills fell where they should."""
        return True

    def numbers(self) -> dict[str, Any]:
        """Return the counts, as a JSON file holds them."""
        return {
            "kills": self.kills,
            "of_learner": self.of_learner,
            "while_starting": self.while_starting,
        }

    def __str__(self) -> str:
        return (
            f"{self.kills} kills with SIGKILL, {self.of_learner} of them of the learner and "
            f"{self.while_starting} of a server that was starting."
        )


LOOK = """SELECT (SELECT COUNT(*) FROM models),
    (SELECT COUNT(DISTINCT name) FROM state_parts)
    - (SELECT COUNT(*) FROM models WHERE substr(state, 1, 6) = {mark})
    - (SELECT COUNT(*) FROM snapshots WHERE substr(state, 1, 6) = {mark}),
    kind, time FROM records
    WHERE loop = 'offers' AND kind NOT IN ('decision', 'reward', 'expiry', 'activation')
    ORDER BY position DESC LIMIT 1"""


class Sight(NamedTuple):
    """What a store holds at one moment."""

    models: int
    unpublished: int  # states that were written, in part or as a whole, and have no model yet
    kind: str  # of the last record that is no decision and no reward
    time: float  # of this record

    def place(self, since: "Sight", now: float) -> str:
        """Return what a server was doing that was killed now and started at another sight."""
        if self.kind == "training":
            return DURING if self.unpublished > since.unpublished else BEFORE
        is_near = self.kind == "published" and now - self.time < NEAR_SECONDS
        return AFTER if is_near else ELSEWHERE


class PublicationWatch:
    """Looks at a store from outside. It writes nothing, so that recovery is left to the server."""

    def __init__(self, url: str) -> None:
        self._connection: Any
        if "://" in url:
            psycopg = importlib.import_module("psycopg")  # of the extra `postgres`
            self._sql = LOOK.format(mark="'parts:'::bytea")
            self._connection = psycopg.connect(url, autocommit=True)
        else:
            self._sql = LOOK.format(mark="CAST('parts:' AS BLOB)")
            self._connection = sqlite3.connect(f"file:{url}?mode=ro", uri=True)

    def look(self) -> Sight:
        """Return what the store holds now."""
        return Sight(*self._connection.execute(self._sql).fetchone())

    def wait(self, reached: Callable[[Sight], bool]) -> None:
        """Wait until the store is as it should be, or for a long time."""
        end = time.monotonic() + EVENT_SECONDS
        while not reached(self.look()) and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class PublicationKiller(Killer):
    """Kills a server before, while and after it publishes a model, in turn.

    Where a kill fell is read from the store when the server is dead.
    """

    def __init__(self, servers: Sequence[ServerProcess], seed: int, url: str) -> None:
        super().__init__(servers, seed)
        self._url, self.models = url, 0
        self.fell = Counter(dict.fromkeys((*AIMS, ELSEWHERE), 0))

    def run(self, kills: int, seconds: float) -> None:
        """Kill so often, or for so long."""
        end, (victim,) = time.monotonic() + seconds, self._servers
        while self.kills < kills and time.monotonic() < end:
            with contextlib.closing(PublicationWatch(self._url)) as watch:
                began = watch.look()
                self.of_learner += victim.leads()
                self._aim(watch, list(AIMS)[self.kills % len(AIMS)])
                victim.kill()
                found = watch.look()
            self.fell[found.place(began, time.time())] += 1
            self.models = found.models
            self._restart(victim)
            victim.wait()

    def _aim(self, watch: PublicationWatch, aim: str) -> None:
        """Return at the moment for a kill."""
        began = watch.look()
        watch.wait(lambda sight: sight.models > began.models)  # the next training is a quick one
        seen = watch.look()
        events: dict[str, Callable[[Sight], bool]] = {
            BEFORE: lambda sight: sight.kind == "training",
            DURING: lambda sight: sight.unpublished > seen.unpublished,
            AFTER: lambda sight: sight.models > seen.models,
        }
        watch.wait(events[aim])
        time.sleep(self._chance.uniform(0.0, AIMS[aim]))

    @property
    def on_target(self) -> bool:
        """Whether models were published, and most kills fell near a publication."""
        return self.models > 0 and self.fell[ELSEWHERE] < self.kills / 2

    def numbers(self) -> dict[str, Any]:
        """Return the counts, as a JSON file holds them."""
        return {**super().numbers(), "published": self.models, "fell": dict(self.fell)}

    def __str__(self) -> str:
        return (
            f"{super().__str__()}\n{self.models} models were published. "
            f"{self.fell[BEFORE]} kills fell while a model was trained, {self.fell[DURING]} while "
            f"its state was written, {self.fell[AFTER]} within {NEAR_SECONDS} s of its "
            f"publication, and {self.fell[ELSEWHERE]} elsewhere."
        )
