"""What does a watched policy remember? The state inside, its audits, and the rewards it saw."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.core.policy import State
from banditsrl.selection.audits import AuditRecord
from banditsrl.selection.drift_alarm import DriftState


class WatchedState(NamedTuple):
    """State of a watched policy."""

    inner: State
    n: Array  # () rounds learned
    since: Array  # () first round that still counts
    n_refreshed: Array  # () rounds since then at the last refresh of the policy inside
    n_alarms: Array  # ()
    n_trusted: Array  # () rounds learned when a loss was proved
    low: Array  # () least reward seen
    high: Array  # () largest reward seen
    total: Array  # () sum of rewards
    key: Array  # data of the key, as plain numbers
    audits: AuditRecord | None
    drift: DriftState | None


def empty_watched(
    inner: State, key: Array, audits: AuditRecord | None, drift: DriftState | None
) -> WatchedState:
    """Return the state before the first round."""
    zero, count = jnp.zeros((), jnp.float64), jnp.zeros((), jnp.int32)
    return WatchedState(
        inner=inner,
        n=count,
        since=count,
        n_refreshed=count,
        n_alarms=count,
        n_trusted=count,
        low=zero + jnp.inf,
        high=zero - jnp.inf,
        total=zero,
        key=jax.random.key_data(key),
        audits=audits,
        drift=drift,
    )
