"""What can be read about a loop? Decisions and outcomes, the log, models, counts over time."""

import json
import math
from typing import Any

from banditsrl.display.intervals import student_factor
from banditsrl.errors import NotFound
from banditsrl.live.encoder import change_actions, first_actions
from banditsrl.live.loop_config import LoopConfig, check_name
from banditsrl.live_store.decision_rows import SELECT, SETTLED, DecisionRow
from banditsrl.live_store.ledger import MINUTE
from banditsrl.live_store.loop_store import LoopStore
from banditsrl.live_store.schema import IS_CHANGE


def find_decision(store: LoopStore, loop: str, id: str) -> DecisionRow:  # noqa: A002
    """Return the row of a decision."""
    check_name("id", id)
    with store.read() as cursor:
        found = cursor.execute(f"{SELECT} AND id = ?", (loop, id))
    if not found:
        raise NotFound(f"There is no decision with the id {id!r}.")
    return DecisionRow(*found[0])


def last_decisions(store: LoopStore, loop: str, last: int) -> list[DecisionRow]:
    """Return the last decisions, the newest first."""
    with store.browse() as cursor:
        found = cursor.execute(f"{SELECT} ORDER BY position DESC LIMIT ?", (loop, last))
    return [DecisionRow(*row) for row in found]


def describe_outcome(row: DecisionRow) -> dict[str, Any]:
    """Return what became of a decision."""
    return {
        "id": row.id,
        "status": row.status,
        "value": row.value if row.status == SETTLED else None,
        "settled_at": row.settled_at,
        "time": row.settled_time,
        "deadline": row.deadline,
    }


def read_log(store: LoopStore, loop: str, after: int, limit: int) -> list[dict[str, Any]]:
    """Return records of the log after a position, as plain values."""
    with store.browse() as cursor:
        found = cursor.execute(
            "SELECT position, kind, time, id, body FROM records WHERE loop = ? AND position > ? "
            "ORDER BY position LIMIT ?",
            (loop, after, limit),
        )
    names = ("position", "kind", "time", "id", "body")
    return [
        dict(zip(names, (*row[:4], None if row[4] is None else json.loads(row[4])), strict=True))
        for row in found
    ]


def find_deciding_model(store: LoopStore, loop: str) -> int:
    """Return the model version that decides now."""
    with store.read() as cursor:
        found = cursor.execute(
            f"SELECT body FROM records WHERE loop = ? AND {IS_CHANGE} "  # noqa: S608 (fixed words)
            "AND kind IN ('published', 'promoted') ORDER BY position DESC LIMIT 1",
            (loop,),
        )
    return int(json.loads(found[0][0])["version"]) if found else 0


def list_models(store: LoopStore, loop: str, current: int) -> list[dict[str, Any]]:
    """Return all published model versions, the oldest first; version 0 was never trained."""
    names = ("version", "trained_at", "published_at", "time", "rounds", "build", "evaluation")
    with store.browse() as cursor:
        found = cursor.execute(
            "SELECT version, trained_at, published_at, time, rounds, build, evaluation "
            "FROM models WHERE loop = ? ORDER BY version",
            (loop,),
        )
    first = (0, 1, 1, None, 0, "", "{}")
    rows = [dict(zip(names, row, strict=True)) for row in [first, *found]]
    for row in rows:
        row["current"] = row["version"] == current
        row["evaluation"] = json.loads(row["evaluation"])
    return rows


def read_counts(store: LoopStore, loop: str) -> dict[str, int]:
    """Return how many decisions and rewards there were, and of which kind."""
    with store.browse() as cursor:
        found = cursor.execute(
            "SELECT COALESCE(SUM(decisions), 0), COALESCE(SUM(rewards), 0), "
            "COALESCE(SUM(certified), 0), COALESCE(SUM(audited), 0), COALESCE(SUM(explored), 0) "
            "FROM tallies WHERE loop = ?",
            (loop,),
        )
    names = ("decisions", "rewards", "certified", "audited", "explored")
    return {name: int(count) for name, count in zip(names, found[0], strict=True)}


def read_revision(store: LoopStore, config: LoopConfig) -> dict[str, Any]:
    """Return the actions, the mode and the position of their last change, from the store."""
    with store.read() as cursor:
        revision, mode = cursor.execute(
            "SELECT revision, mode FROM loops WHERE name = ?", (config.name,)
        )[0]
        changes = cursor.execute(
            f"SELECT body FROM records WHERE loop = ? AND {IS_CHANGE} "  # noqa: S608 (fixed words)
            "AND kind = 'actions' ORDER BY position",
            (config.name,),
        )
    actions = first_actions(config)
    for (body,) in changes:
        actions = change_actions(actions, json.loads(body), config.n_slots)
    return {"actions": actions, "mode": mode, "revision": revision}


def read_history(store: LoopStore, loop: str, bins: int) -> list[dict[str, Any]]:
    """Return counts over time, in at most `bins` bins of whole minutes."""
    with store.browse() as cursor:
        ends = cursor.execute(
            "SELECT MIN(minute), MAX(minute) FROM tallies WHERE loop = ?", (loop,)
        )[0]
        if ends[0] is None:
            return []
        first, width = ends[0], -(-(ends[1] - ends[0] + 1) // bins)
        tallies = cursor.execute(
            "SELECT (minute - ?) / ?, action, SUM(decisions), SUM(explored), SUM(certified), "
            "SUM(audited), SUM(rewards), SUM(total), SUM(squares) FROM tallies WHERE loop = ? "
            "GROUP BY 1, 2 ORDER BY 1, 2",
            (first, width, loop),
        )
        events = cursor.execute(
            f"SELECT kind, time, body FROM records WHERE loop = ? AND {IS_CHANGE} "  # noqa: S608
            "AND kind IN ('alarm', 'published') ORDER BY position",
            (loop,),
        )
    grouped: dict[int, list[tuple[Any, ...]]] = {}
    for row in tallies:
        grouped.setdefault(int(row[0]), []).append(row[1:])
    history = {
        at: _describe_bin((first + at * width) * MINUTE, rows) for at, rows in grouped.items()
    }
    for kind, time, body in events:
        at = int((time // MINUTE - first) // width)
        nearest = max((one for one in history if one <= at), default=min(history))
        if kind == "alarm":
            history[nearest]["alarms"].append(time)
        else:
            history[nearest]["versions"].append(json.loads(body)["version"])
    return [{**entry, "seconds": width * MINUTE} for entry in history.values()]


def _describe_bin(time: float, rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    counts = [int(sum(row[i] for row in rows)) for i in range(1, 6)]
    decisions, explored, certified, audited, rewards = counts
    total, squares = (float(sum(row[i] for row in rows)) for i in (6, 7))
    mean = total / rewards if rewards else None
    error = None
    if mean is not None and rewards > 1:
        error = math.sqrt(max(squares - rewards * mean * mean, 0.0) / (rewards - 1) / rewards)
    share = max(decisions, 1)
    return {
        "time": time,
        "decisions": decisions,
        "rewards": rewards,
        "mean": mean,
        "error": error,
        "margin": None if error is None else student_factor(rewards) * error,
        "explored": explored / share,
        "certified": certified / share,
        "audited": audited / share,
        "actions": {row[0]: int(row[1]) / share for row in rows if row[1]},
        "alarms": [],
        "versions": [],
    }


def describe_loop(store: LoopStore, config: LoopConfig) -> dict[str, Any]:
    """Return the current state of a loop, from the store alone."""
    loop, table = config.name, first_actions(config)
    with store.browse() as cursor:
        position, mode, waiting = cursor.execute(
            "SELECT position, mode, waiting FROM loops WHERE name = ?", (loop,)
        )[0]
        changes = cursor.execute(
            f"SELECT kind, body FROM records WHERE loop = ? AND {IS_CHANGE} "  # noqa: S608
            "AND kind IN ('actions', 'published', 'promoted') ORDER BY position",
            (loop,),
        )
    model = 0
    for kind, text in changes:
        body = json.loads(text)
        if kind == "actions":
            table = change_actions(table, body, config.n_slots)
        else:
            model = body["version"]
    return {
        "name": loop,
        "policy": config.policy,
        "mode": mode,
        "position": position,
        "waiting": waiting,
        "counts": read_counts(store, loop),
        "actions": {entry.name: entry.state for entry in table.values()},
        "models": [
            {name: row[name] for name in ("version", "rounds", "published_at", "current")}
            for row in list_models(store, loop, model)
        ],
    }
