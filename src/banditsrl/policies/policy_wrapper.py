"""Which settings does a watched policy have, and what does it take over from the policy inside?

`PolicyAroundPolicy` declares the settings of audits and of the test for changes; its other members
are those of the policy inside. `Watched` plays the rounds.
"""

from dataclasses import KW_ONLY
from typing import Any, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike

from banditsrl.arguments import at_least, probability, real
from banditsrl.core.adapters import as_policy
from banditsrl.core.policy import AnyPolicy, Policy
from banditsrl.core.representation import Representation
from banditsrl.core.settings import list_changed_settings, setting
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.padding import Padding
from banditsrl.selection.audit_schedule import audit_rates, read_schedule
from banditsrl.selection.audits import AuditRates, AuditRecord, empty_record

StateT = TypeVar("StateT")

LONGEST_PHASE = 250
"""Rounds between two phase ends at most, if there may be alarms: phases start afresh soon after."""


class PolicyAroundPolicy(Policy[StateT]):
    """A policy around a policy; a subclass must define `init`, `act` and `learn`."""

    policy: AnyPolicy = eqx.field(converter=as_policy)
    _: KW_ONLY
    audit: float | str = setting(
        0.0, "Share of certified rounds that check the certificate: a number below 0.5, or c/t."
    )
    audit_disputed: float | str | None = setting(
        None, "The same where a rival disagrees; None: ten times `audit`, at most 0.1."
    )
    delta_audit: float = setting(0.01, "Level of the statement of the audits.")
    tolerance_loss: float = setting(
        0.0, "Certificates are withdrawn when the loss per round is proved to exceed this."
    )
    reward_range: tuple[float, float] | None = setting(
        None, "Least and largest reward, for the audits; None: the range seen so far."
    )
    drift: float | None = setting(
        None, "Average number of rounds between false alarms of a change; None: no test."
    )

    def __repr__(self) -> str:
        """Return one line: the policy inside, and the settings that are not the default."""
        parts = [repr(self.inner), *list_changed_settings(self)]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __check_init__(self) -> None:
        read_schedule("audit", self.audit)
        if self.audit_disputed is not None:
            read_schedule("audit_disputed", self.audit_disputed)
        probability("delta_audit", self.delta_audit)
        at_least("tolerance_loss", self.tolerance_loss, 0.0)
        _check_range(self.reward_range)
        if self.drift:
            at_least("drift", self.drift, 100.0)
        if self.inner.n_actions is None:
            raise InvalidArgument(
                f"policy must have n_actions to be watched, got {self.inner.display_name} without."
            )

    # The policy inside.

    @property
    def inner(self) -> Policy[Any]:
        """The policy inside, adapted if it is an outside object."""
        return as_policy(self.policy)

    @property
    def phase_growth(self) -> float | None:
        """The growth of the policy inside."""
        return self.inner.phase_growth

    @property
    def longest_phase(self) -> int | None:
        """`LONGEST_PHASE` if there may be alarms; `refresh` decides which phase ends are due."""
        return LONGEST_PHASE if self.drift else self.inner.longest_phase

    @property
    def uses_history(self) -> bool:
        """Whether the policy inside uses it."""
        return self.inner.uses_history

    @property
    def n_actions(self) -> int | None:
        """Number of actions of the policy inside."""
        return self.inner.n_actions

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The representations of the policy inside."""
        return self.inner.embeddings

    @property
    def padding(self) -> Padding | None:
        """The padding of the policy inside, unless it may start afresh within a phase."""
        inner = self.inner.padding
        if inner is None or self.drift:
            return None
        return Padding(
            size=inner.size,
            used=lambda state: inner.used(state.inner),
            crop=lambda state, dim: state._replace(inner=inner.crop(state.inner, dim)),
        )

    @property
    def seeds_at_once(self) -> int | None:
        """As many as the policy inside."""
        return self.inner.seeds_at_once

    @property
    def display_name(self) -> str:
        """The name of the policy inside, and what is done to it."""
        done = ["audited"] if self.audit else []
        done += ["watched for changes"] if self.drift else []
        return f"{self.inner.display_name}{', ' if done else ''}{' and '.join(done)}"

    @property
    def pmf_draws(self) -> int:
        """The draws of the policy inside."""
        return self.inner.pmf_draws

    @property
    def n_known_actions(self) -> int:
        """Number of actions A, which the policy inside must know."""
        return self.inner.n_actions or 0

    def empty_record(self, part: ArrayLike) -> AuditRecord:
        """Return a record of audits without rounds, for the given part of the run."""
        return empty_record(self.n_known_actions, self.inner.n_challengers, jnp.asarray(part))

    def rates(self, record: AuditRecord) -> AuditRates:
        """Return the probabilities of an audit in the next certified round."""
        return audit_rates(self.audit, self.audit_disputed, record.n_certified + 1.0)


def _check_range(value: tuple[float, float] | None) -> None:
    """Refuse a range of rewards that is not two numbers in order."""
    if value is None:
        return
    numbers = tuple(value)
    if len(numbers) != 2 or not real("reward_range", numbers[0]) < real("reward_range", numbers[1]):
        raise InvalidArgument(
            f"reward_range must be two numbers, the smaller one first, got {value!r}."
        )
