"""How does a loop learn from decisions that were made elsewhere? As if a baseline had made them.

Rows come from an exported file, or from any file with `id`, `context`, `action` and `reward`. They
are written into the log with their own times and probabilities, and learned in their order. A row
without a time gets the time of the import, and a reward without one gets that of its decision. A
row whose id is known already is skipped, so an import that was interrupted can be started again. A
row whose `status` is "waiting" or "deferred" keeps it; any other row without a reward is closed.
Actions that were paused or retired in the other loop are paused or retired in this one.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from banditsrl.arguments import real
from banditsrl.errors import InvalidArgument, InvalidType, NotFound
from banditsrl.live.decide_requests import read_request
from banditsrl.live.encoder import (
    PAUSED,
    RETIRED,
    ActionEntry,
    ActionTable,
    Encoder,
    change_actions,
)
from banditsrl.live.loop_config import LoopConfig, check_word
from banditsrl.live_store.decision_rows import (
    DEFERRED,
    EXPIRED,
    WAITING,
    DecisionRow,
    to_bytes,
    write_json,
    write_json_in_order,
)
from banditsrl.live_store.ledger import Ledger

IMPORTED = "import"
"""Mode of a decision that was made elsewhere."""


ROUNDING = 1e-3
"""Probabilities of a file may be rounded, so their sum may differ from 1 by this much."""

LATEST = 1e11
"""Times beyond the year 5138 are refused: they are in milliseconds, or mistakes."""

CHANGES = {PAUSED: "pause", RETIRED: "retire"}
"""The change that leads from an active action to each state."""


class LogImporter:
    """Turns rows of a file into decisions of a loop."""

    def __init__(self, config: LoopConfig, table: ActionTable, now: float) -> None:
        if config.action_columns:
            raise InvalidArgument(
                "A loop with action_columns cannot import decisions: an exported row does not hold "
                "the columns that actions had."
            )
        self._config, self._table, self._encoder = config, table, Encoder(config)
        self._now = now
        self._inactive: Mapping[str, str] = {}  # states of actions in the other loop

    def changes(self) -> list[dict[str, Any]]:
        """Return the changes of actions that follow from the rows that were read.

        They are refused as a whole if no action would stay active. Actions that this loop does not
        have are left out.
        """
        table, found = self._table, []
        for name, state in self._inactive.items():
            if name in table and table[name].state not in (state, RETIRED):
                change = {"change": CHANGES[state], "name": name}
                table = change_actions(table, change, self._config.n_slots)
                found.append(change)
        return found

    def read(self, row: Mapping[str, Any]) -> tuple[DecisionRow, float | None]:
        """Return a valid row as a decision, and its reward if it has one."""
        for name in ("id", "context", "action"):
            if name not in row:
                raise InvalidArgument(f"An imported row must have {name}, got {sorted(row)}.")
        self._inactive = _read_inactive(row.get("inactive") or {})
        request = read_request(row["context"] or {}, id=row["id"])
        action = self._find(row["action"])
        present = [entry for entry in self._table.values() if entry.state != RETIRED]
        features = self._encoder.encode(request.context, present)
        pmf = _read_pmf(row.get("pmf") or {action.name: 1.0}, action.name)
        probabilities = np.zeros(self._config.n_slots)
        for name, probability in pmf.items():
            probabilities[self._find(name).slot] = probability
        value = row.get("reward")
        decision = DecisionRow(
            id=request.id,
            position=0,
            time=_read_time("time", row, self._now),
            context=write_json(request.context),
            digest=request.digest,
            available=write_json_in_order({name: self._find(name).slot for name in pmf}),
            action=action.name,
            slot=action.slot,
            features=to_bytes(features),
            law=to_bytes(probabilities),
            predicted=None,
            replica=0,
            draw=0,
            model=0,
            known=0,
            certified=0,
            glr=None,
            threshold=None,
            representation=0,
            audited=0,
            explored=0,
            deferred=0,
            mode=IMPORTED,
            shadow=None,
            status=WAITING,
            deadline=None,
        )
        if value is None:
            return self._leave_open(decision, row.get("status")), None
        settled = _read_time("rewarded", row, decision.time)
        return decision._replace(settled_time=settled), self._config.reward.check(value)

    def _leave_open(self, decision: DecisionRow, status: object) -> DecisionRow:
        """Return a decision that has no reward: still open if its status was, otherwise closed."""
        if status == DEFERRED:
            return decision._replace(status=DEFERRED, deferred=1)
        if status != WAITING:
            return decision._replace(status=EXPIRED)
        wait = self._config.reward.wait
        return decision._replace(deadline=None if wait is None else decision.time + wait)

    def _find(self, name: Any) -> ActionEntry:
        if name not in self._table:
            raise NotFound(f"There is no action named {name!r}; add it before the import.")
        return self._table[name]


def _read_time(name: str, row: Mapping[str, Any], default: float) -> float:
    """Return a time of a row in seconds since 1970, which may be missing."""
    value = row.get(name)
    if value is None:
        return default
    if abs(time := real(name, value)) > LATEST:
        raise InvalidArgument(
            f"{name} must be in seconds since 1970, at most {LATEST:g}, got {value!r}."
        )
    return time


def _read_pmf(pmf: Any, action: str) -> dict[str, float]:
    """Return the distribution of a row, which must be one and must allow the action."""
    if not isinstance(pmf, Mapping):
        raise InvalidType(f"pmf must give probabilities by action, got {pmf!r}.")
    found = {name: real("pmf", probability) for name, probability in pmf.items()}
    if min(found.values()) < 0.0 or abs(sum(found.values()) - 1.0) > ROUNDING:
        raise InvalidArgument(f"pmf must be probabilities that sum to 1, got {dict(pmf)}.")
    if not found.get(action):
        raise InvalidArgument(f"pmf must give the action {action!r} a chance, got {dict(pmf)}.")
    return found


def _read_inactive(states: Any) -> Mapping[str, str]:
    if not isinstance(states, Mapping):
        raise InvalidType(f"inactive must give states by action, got {states!r}.")
    for state in states.values():
        check_word("inactive", state, tuple(CHANGES))
    return states


def import_rows(
    ledger: Ledger, rows: list[tuple[DecisionRow, float | None]], *, time: float
) -> int:
    """Write decisions that were made elsewhere, with their rewards; return how many are new."""
    n = 0
    for row, value in rows:
        if ledger.find(row.id) is not None:
            continue
        written = ledger.add_decision(row._replace(known=ledger.position))
        if value is None and row.status == EXPIRED:
            ledger.close(written, EXPIRED, time)
        elif value is not None:
            body = {"value": value, "key": None, "counted": True}
            position = ledger.append("reward", time, id=row.id, body=body)
            given = time if row.settled_time is None else row.settled_time
            ledger.settle(written, value, given, position)
        n += 1
    return n
