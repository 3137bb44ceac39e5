"""What does a loop return for a decision and for a reward? Plain values that can be stored.

A `Decision` is the answer to `Loop.decide` and exactly what the log holds about it, so a decision
that is requested again, replayed or exported has the same values. A `Settlement` is the answer to
`Loop.reward` and `Loop.activate`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from banditsrl.core.record_help import RecordMeta


@dataclass(frozen=True)
class CertificateEvidence:
    """The certificate of a decision: whether the policy's test passed, and on what numbers."""

    certified: bool
    glr: float | None  # None: the policy has no test
    threshold: float | None
    model: int  # version of the model that was asked
    position: int  # position in the log through which that model had learned


@dataclass(frozen=True)
class Decision(metaclass=RecordMeta):
    """One decision, as the log holds it."""

    id: str
    loop: str
    time: float  # seconds since 1970, from the clock of the loop
    context: Mapping[str, Any]  # as it was sent
    available: tuple[str, ...]
    action: str
    probability: float  # of the action, under `pmf`
    pmf: Mapping[str, float]  # the distribution that the action was drawn from, over `available`
    model: int
    position: int  # position of this decision in the log
    certificate: CertificateEvidence
    audit: bool  # certified, and another action was played to check the certificate
    explored: bool  # neither certified nor the action that the model predicts to be best
    deferred: bool  # not learned from before it is activated
    mode: str  # "learn", "shadow" or "frozen"
    shadow: str | None = None  # what the policy would have played, where a baseline decided


@dataclass(frozen=True)
class Settlement(metaclass=RecordMeta):
    """The outcome of a reward or an activation."""

    id: str  # of the decision
    counted: bool  # whether it is, or will be, learned from
    reason: str  # one sentence
