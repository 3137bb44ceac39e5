"""Which policy should decide from now on, with which settings? Advice from errors on unseen rounds.

Candidates are listed from simple to rich (`theory.column_candidates`). One is *as good as the best*
if its squared error exceeds that of the best one by at most one standard error, or by at most
`NEGLIGIBLE` of what the best one explains beyond the mean reward of each action. The first that is
as good is recommended, and with it the policy that plays on such an embedding.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from banditsrl.display.numerals import format_number, format_share
from banditsrl.theory.column_candidates import N_RANDOM
from banditsrl.theory.column_diagnosis import ColumnDiagnosis
from banditsrl.theory.log_diagnosis import mean_and_stderr

NEGLIGIBLE = 0.05
"""A candidate may miss this share of what the best one explains."""

DIGITS = 3
"""Significant digits of a recommended noise level."""

NO_SIGNAL = (
    "no column helps to predict rewards, as far as this log shows; the mean reward of each action "
    "predicts as well as any embedding. This policy costs little, and it learns from columns if "
    "they matter after all."
)

AUDIT = 0.01
"""Share of certified rounds that a recommended policy audits; the default of a loop."""


@dataclass(frozen=True)
class PolicyAdvice:
    """A policy and its settings, and why.

    Attributes:
        candidate: The embedding on which it plays.
        policy: Its name.
        settings: Its settings, by name; all others keep their defaults.
        sigma: Estimated noise level of the rewards; None if it is unknown.
        reason: Why, in words.
        python: The expression that makes the policy.
        command: The command that says what it would have earned; empty if the log is not a file.
        loop: The same in the configuration of a loop.
    """

    candidate: str
    policy: str
    settings: Mapping[str, Any]
    sigma: float | None
    reason: str
    python: str
    command: str = ""
    loop: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """Return the advice for a person to read."""
        lines = {
            "in Python": self.python,
            "in a loop": ", ".join(
                f"{key}: {json.dumps(value)}" for key, value in self.loop.items()
            ),
            "on this log": self.command,
        }
        listed = [f"  {name:<16}{value}" for name, value in lines.items() if value]
        return "\n".join([f"Use {self.policy}: {self.reason}", *listed])

    def as_dict(self) -> dict[str, Any]:
        """Return the advice as plain JSON."""
        return {
            "candidate": self.candidate,
            "policy": self.policy,
            "settings": dict(self.settings),
            "sigma": self.sigma,
            "reason": self.reason,
            "python": self.python,
            "command": self.command or None,
        }


def list_as_good(found: Mapping[str, ColumnDiagnosis]) -> list[str]:
    """Return the candidates that are as good as the best, from simple to rich."""
    errors = {name: float(one.held_out.mean()) for name, one in found.items()}
    best = min(errors, key=errors.__getitem__)
    explained = max(errors["constant"] - errors[best], 0.0)
    good = []
    for name, one in found.items():
        excess, stderr = mean_and_stderr(one.held_out - found[best].held_out)
        if excess <= max(stderr, NEGLIGIBLE * explained):
            good.append(name)
    return good


def advise_policy(
    found: Mapping[str, ColumnDiagnosis],
    *,
    n_columns: int,
    n_actions: int,
    variance: float,
    words: str = "",
) -> PolicyAdvice:
    """Return the policy for a log with these candidates.

    Args:
        found: What the log shows about every candidate.
        n_columns: Number of columns m of a context.
        n_actions: Number of actions A.
        variance: Variance of the noise; nan if it is unknown.
        words: Arguments with which a command reads the log; empty if it is not a file.
    """
    chosen = list_as_good(found)[0]
    sigma = _round(math.sqrt(variance)) if variance > 0.0 else None
    policy, settings = _choose_policy(chosen, sigma)
    noise = "" if sigma is None else f", sigma={sigma:g}"
    stream = f"banditsrl.Stream(n_columns={n_columns}, n_actions={n_actions}{noise})"
    given = "".join(f", {key}={value!r}" for key, value in settings.items())
    listed = given.replace(" ", "")
    return PolicyAdvice(
        candidate=chosen,
        policy=policy,
        settings=settings,
        sigma=sigma,
        reason=_explain(chosen, found),
        python=f'banditsrl.make_policy("{policy}", {stream}{given})',
        command=f"banditsrl evaluate {words} --target learned:{policy}{listed}" if words else "",
        loop=_configure(policy, settings),
    )


def _configure(policy: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lines of a loop's configuration; audits have a place of their own there."""
    own = {key: value for key, value in settings.items() if key != "audit"}
    audit = {"audit": settings["audit"]} if "audit" in settings else {}
    return {"policy": policy, "settings": own, **audit}


def _choose_policy(candidate: str, sigma: float | None) -> tuple[str, dict[str, Any]]:
    """Return the policy that plays on a candidate, and its settings."""
    if candidate in ("constant", "columns"):
        return "linucb-disjoint", {}
    if candidate == "waves":
        return "linucb-disjoint", {"n_features": N_RANDOM}
    if candidate == "leaves":
        return "tree-linucb", {}
    known = {} if sigma is None else {"sigma": sigma}
    return "banditsrl-auto", {**known, "audit": AUDIT}


def _explain(chosen: str, found: Mapping[str, ColumnDiagnosis]) -> str:
    """Return why a candidate and its policy are recommended."""
    errors = {name: one.logged.error for name, one in found.items()}
    if chosen == "constant":
        return NO_SIGNAL
    share = 1.0 - errors[chosen] / errors["constant"] if errors["constant"] > 0 else 0.0
    numbers = (
        f"on held-out rounds they explain {format_share(max(share, 0.0))} of what the mean "
        "reward of each action leaves open"
    )
    if chosen == "columns":
        return f"the columns alone predict as well as any richer embedding ({numbers})."
    against = f"the columns alone have {format_number(errors['columns'] / errors[chosen])} times"
    numbers = f"{numbers}; {against} their squared error"
    if chosen == "waves":
        return f"random waves of the columns predict as well as any richer embedding ({numbers})."
    if chosen == "leaves":
        return (
            f"boosted trees predict better than any fixed embedding ({numbers}). This policy has "
            "no certificates; banditsrl-auto has trees and certificates, and trains longer."
        )
    return (
        f"{chosen} of the columns predict best ({numbers}), and no simple policy plays on them; "
        "this one mixes ridge regressions, trees and networks."
    )


def _round(value: float) -> float:
    return float(np.format_float_positional(value, DIGITS, fractional=False))
