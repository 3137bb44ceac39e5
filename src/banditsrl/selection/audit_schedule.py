"""How often is a certificate audited? At a constant rate, or at a rate that decreases.

A rate is a number in [0, 0.5), or a text "c/t" such as "1/t" or "20/t". There t counts the
certified rounds, audited ones included, so that n certified rounds have about c log n audits.
"""

import math
import re
from numbers import Real
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from banditsrl.errors import InvalidArgument
from banditsrl.selection.audits import AuditRates

LARGEST_RATE = 0.25
"""Largest rate of a decreasing schedule: most certified rounds must play the certified action."""

DISPUTED_FACTOR, DISPUTED_LIMIT = 10.0, 0.1
"""By default certificates that a rival disputes are audited more often by this factor, at most
at this rate: such rounds are rare, and they are where certificates are wrong."""

DECREASING = re.compile(r"(\d+(?:\.\d*)?)/t")


class AuditSchedule(NamedTuple):
    """The rate `numerator`, or `numerator` / t if it decreases."""

    numerator: float
    decreases: bool

    def rate(self, t: Array) -> Array:
        """Return the rate in the t-th certified round."""
        if not self.decreases:
            return jnp.full_like(t, self.numerator)
        return jnp.minimum(self.numerator / t, LARGEST_RATE)


def read_schedule(name: str, value: object) -> AuditSchedule:
    """Return the schedule that a setting stands for."""
    if isinstance(value, str) and (found := DECREASING.fullmatch(value)):
        return AuditSchedule(float(found.group(1)), decreases=True)
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not 0.0 <= number < 0.5:
        raise InvalidArgument(
            f"{name} must be a number in [0, 0.5) or a text such as 1/t, got {value!r}."
        )
    return AuditSchedule(number, decreases=False)


def audit_rates(audit: float | str, disputed: float | str | None, t: Array) -> AuditRates:
    """Return both rates of the t-th certified round."""
    rate = read_schedule("audit", audit).rate(t)
    if disputed is None:
        larger = jnp.minimum(DISPUTED_FACTOR * rate, DISPUTED_LIMIT)
    else:
        larger = read_schedule("audit_disputed", disputed).rate(t)
    return AuditRates(rate, jnp.maximum(rate, larger))
