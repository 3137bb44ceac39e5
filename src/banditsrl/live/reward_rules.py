"""Does a reward count, and when is a round learned? The rules of a loop, inside a transaction.

A decision is `waiting` for its reward, or `deferred` while it is not shown yet. It ends as
`settled`, with the reward that counts, or as `expired`, without one. The policy learns the round at
the record that settles it.
"""

from banditsrl.errors import Conflict, NotFound
from banditsrl.live.loop_config import RewardRule
from banditsrl.live_store.decision_rows import (
    DEFERRED,
    EXPIRED,
    SELECT,
    SETTLED,
    WAITING,
    DecisionRow,
)
from banditsrl.live_store.ledger import Ledger
from banditsrl.live_store.records import Settlement


def add_reward(
    ledger: Ledger,
    rule: RewardRule,
    id: str,  # noqa: A002
    value: float,
    *,
    key: str | None,
    time: float,
) -> Settlement:
    """Write a reward that came for a decision, and settle the decision if it counts now."""
    row = _find(ledger, id)
    if key is not None and (before := _find_repetition(ledger, id, key, value)):
        return before
    counted, settles, reason = _judge(ledger, rule, row, time)
    position = ledger.append(
        "reward", time, id=id, body={"value": value, "key": key, "counted": counted}
    )
    ledger.cursor.execute(
        "INSERT INTO rewards (loop, id, position, key, value, counted, reason) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (ledger.loop, id, position, key, value, int(counted), reason),
    )
    if settles:
        ledger.settle(row, value, time, position)
    return Settlement(id, counted, reason)


def _judge(
    ledger: Ledger, rule: RewardRule, row: DecisionRow, time: float
) -> tuple[bool, bool, str]:
    """Return whether a reward counts, whether it settles the decision now, and why."""
    if row.status == EXPIRED and row.deadline is None:  # it was imported without a reward
        return False, False, "The decision was closed without a reward."
    if row.status == EXPIRED or (row.deadline is not None and time > row.deadline):
        return False, False, f"The reward came after the wait of {rule.wait:g} seconds."
    has_one = row.status == SETTLED or bool(_kept(ledger, row.id))
    if has_one and rule.combine == "error":
        raise Conflict(f"The decision {row.id!r} has its reward already.")
    if row.status == SETTLED or (has_one and rule.combine == "first"):
        return False, False, "The decision has its reward already, and the first one counts."
    if row.status == DEFERRED:
        return True, False, "The reward counts once the decision is activated."
    if rule.counts_at_once:
        return True, True, "The reward counts."
    return True, False, f"The {rule.combine} of the rewards counts when the wait ends."


def add_activation(ledger: Ledger, rule: RewardRule, id: str, *, time: float) -> Settlement:  # noqa: A002
    """Start the wait of a deferred decision; a reward that came before counts now."""
    row = _find(ledger, id)
    if row.status != DEFERRED:
        return Settlement(id, False, "The decision was active already.")
    deadline = None if rule.wait is None else time + rule.wait
    active = row._replace(deadline=deadline)
    position = ledger.append("activation", time, id=id)
    kept = _kept(ledger, id)
    if kept and rule.counts_at_once:
        ledger.settle(active, kept[0], time, position)
        return Settlement(id, True, "The decision is active, and its reward counts.")
    ledger.close(active, WAITING, time)
    return Settlement(id, True, "The decision is active.")


def expire(ledger: Ledger, rule: RewardRule, *, time: float, limit: int) -> int:
    """Close decisions whose wait is over, at most `limit` of them, and return how many."""
    found = ledger.cursor.execute(
        f"{SELECT} AND status = 'waiting' AND deadline < ? ORDER BY deadline, position LIMIT ?",
        (ledger.loop, time, limit),
    )
    for row in (DecisionRow(*values) for values in found):
        value = _value_at_end(rule, _kept(ledger, row.id))
        position = ledger.append("expiry", time, id=row.id, body={"value": value})
        if value is None:
            ledger.close(row, EXPIRED, time)
        else:
            ledger.settle(row, value, time, position)
    return len(found)


def _value_at_end(rule: RewardRule, kept: list[float]) -> float | None:
    """Return the reward that counts when the wait is over, or None if none does."""
    if not kept:
        return rule.default
    if rule.combine != "sum":
        return kept[-1]
    return min(max(sum(kept), -1e19), 1e19)


def _find(ledger: Ledger, id: str) -> DecisionRow:  # noqa: A002
    row = ledger.find(id)
    if row is None:
        raise NotFound(f"There is no decision with the id {id!r}.")
    return row


def _kept(ledger: Ledger, id: str) -> list[float]:  # noqa: A002
    """Return the rewards of a decision that count or will count, in their order."""
    found = ledger.cursor.execute(
        "SELECT value FROM rewards WHERE loop = ? AND id = ? AND counted = 1 ORDER BY position",
        (ledger.loop, id),
    )
    return [float(value) for (value,) in found]


def _find_repetition(ledger: Ledger, id: str, key: str, value: float) -> Settlement | None:  # noqa: A002
    """Return the answer that a reward with this key was given before; refuse another value."""
    found = ledger.cursor.execute(
        "SELECT value, counted, reason FROM rewards WHERE loop = ? AND id = ? AND key = ?",
        (ledger.loop, id, key),
    )
    if not found:
        return None
    before, counted, reason = found[0]
    if before != value:
        raise Conflict(f"The reward with the key {key!r} had the value {before:g} before.")
    return Settlement(id, bool(counted), reason)
