"""How is a decision stored? As one row, which also holds its reward and its status."""

import hashlib
import json
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.live_store.records import CertificateEvidence, Decision

WAITING, DEFERRED, SETTLED, EXPIRED = "waiting", "deferred", "settled", "expired"


class DecisionRow(NamedTuple):
    """The columns of table `decisions`, in their order, without the loop."""

    id: str
    position: int
    time: float
    context: str | None  # JSON; None once it was erased
    digest: str  # of the request, which tells a repetition from a conflict
    available: str  # JSON: the slot of every available action, by name
    action: str
    slot: int
    features: bytes  # the encoded row, float64
    law: bytes  # the probability of every slot, float64
    predicted: bytes | None  # the predicted reward of every slot, float64; None without a model
    replica: int
    draw: int  # number of the draw, which gives the random key
    model: int
    known: int  # position through which the state had learned
    certified: int
    glr: float | None
    threshold: float | None
    representation: int
    audited: int
    explored: int
    deferred: int
    mode: str
    shadow: str | None
    status: str
    deadline: float | None
    value: float | None = None
    settled_at: int | None = None
    settled_time: float | None = None
    learned: int = 0


COLUMNS = ", ".join(DecisionRow._fields)
MARKS = ", ".join("?" for _ in DecisionRow._fields)
INSERT = f"INSERT INTO decisions (loop, {COLUMNS}) VALUES (?, {MARKS})"  # noqa: S608 (fixed names)
SELECT = f"SELECT {COLUMNS} FROM decisions WHERE loop = ?"  # noqa: S608 (fixed names)


def to_decision(row: DecisionRow, loop: str) -> Decision:
    """Return a row as the `Decision` that callers get."""
    slots: dict[str, int] = json.loads(row.available)
    probabilities = to_vector(row.law)
    pmf = {name: float(probabilities[slot]) for name, slot in slots.items()}
    return Decision(
        id=row.id,
        loop=loop,
        time=row.time,
        context={} if row.context is None else json.loads(row.context),
        available=tuple(slots),
        action=row.action,
        probability=pmf[row.action],
        pmf=pmf,
        model=row.model,
        position=row.position,
        certificate=CertificateEvidence(
            bool(row.certified), _finite(row.glr), _finite(row.threshold), row.model, row.known
        ),
        audit=bool(row.audited),
        explored=bool(row.explored),
        deferred=bool(row.deferred),
        mode=row.mode,
        shadow=row.shadow,
    )


def _finite(number: float | None) -> float | None:
    """Return a number if it is finite, which JSON needs; a ratio without a rival is infinite."""
    return number if number is not None and math.isfinite(number) else None


def to_vector(content: bytes) -> NDArray[np.float64]:
    """Return the numbers of an encoded context, a distribution or predictions."""
    return np.frombuffer(content, dtype="<f8")


def to_bytes(vector: NDArray[np.float64]) -> bytes:
    """Return numbers as they are stored: eight bytes each, little-endian."""
    return np.ascontiguousarray(vector, dtype="<f8").tobytes()


def write_json(value: Any) -> str:
    """Return a value as JSON, the same text for the same value."""
    return _SORTED.encode(value)


def write_json_in_order(value: Any) -> str:
    """Return a value as JSON, with names in their given order."""
    return _AS_GIVEN.encode(value)


_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_AS_GIVEN = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def digest_request(request: Any) -> str:
    """Return a digest that two requests share only if their contents are equal."""
    return hashlib.sha256(write_json(request).encode()).hexdigest()[:32]
