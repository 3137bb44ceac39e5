"""How far can certificates be trusted? One statement, in numbers and as a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from banditsrl.core.record_help import RecordMeta
from banditsrl.selection.audits import AuditRecord


@dataclass(frozen=True)
class Trust(metaclass=RecordMeta):
    """What audits have shown about certified rounds, since the last change if there was one.

    Attributes:
        bound: Certified rounds lose at most this much reward per round, on average, against the
            best challenger: the best constant action, or a rival that the policy names. Below zero
            they gain against all of them. Infinite while nothing is known. Rewards count as clipped
            to the range that was given, or seen before.
        level: The bound fails at any time of the whole run with at most this probability.
        n_certified: Number of certified rounds that the bound rests on, audited ones included.
        n_audits: Number of audited rounds.
        cost: Estimated reward that the audits gave up.
        withdrawn: Whether certificates are withdrawn.
        reason: Why they are, or were, withdrawn; empty if they never were.
        since: First round that counts.
        n_alarms: Number of changes noticed so far.
        informative: Whether the bound says more than that rewards stay within their range.
    """

    bound: float
    level: float
    n_certified: int
    n_audits: int
    cost: float
    withdrawn: bool
    reason: str
    since: int
    n_alarms: int
    informative: bool

    def __str__(self) -> str:
        status = f" Certificates are withdrawn: {self.reason}." if self.withdrawn else ""
        if not self.n_audits:
            return f"No certificate has been audited since round {self.since:,}.{status}"
        if not self.informative:
            return (
                f"Too few certified rounds have been audited to say what they lose: "
                f"{self.n_audits:,} of {self.n_certified:,} since round {self.since:,}.{status}"
            )
        return (
            f"Certified rounds lose at most {self.bound:.3g} per round against the best "
            f"challenger, with {1.0 - self.level:.4g} confidence at all times "
            f"({self.n_certified:,} rounds since round {self.since:,}, {self.n_audits:,} of them "
            f"audited at an estimated cost of {self.cost:.3g}).{status}"
        )


def make_trust(
    record: AuditRecord | None,
    *,
    bound: float,
    largest: float,
    level: float,
    n_actions: int,
    since: int,
    n_alarms: int,
    names: Mapping[int, str] | None = None,
) -> Trust:
    """Return what a record of audits and the alarms so far say about certificates.

    `largest` is what a round can lose within the range of rewards. `names` has the names of actions
    by index; an action without one is called by its index.
    """
    proved = np.zeros(0, dtype=bool) if record is None else np.asarray(record.withdrawn)
    n_certified = 0 if record is None else int(record.n_certified)
    reason = f"rewards changed near round {since:,}" if n_alarms else ""
    if proved.any():
        challenger = _name_challenger(int(np.argmax(proved)), n_actions, names or {})
        reason = f"they lose against {challenger}"
    return Trust(
        bound=bound,
        level=level,
        n_certified=n_certified,
        n_audits=0 if record is None else int(record.n_audits),
        cost=0.0 if record is None else float(record.cost),
        withdrawn=bool(proved.any()) or (n_alarms > 0 and n_certified == 0),
        reason=reason,
        since=since,
        n_alarms=n_alarms,
        informative=bound < largest,
    )


def _name_challenger(index: int, n_actions: int, names: Mapping[int, str]) -> str:
    if index < n_actions:
        return f"always playing action {names.get(index, index)!r}"
    return f"rival {index - n_actions} of the policy"
