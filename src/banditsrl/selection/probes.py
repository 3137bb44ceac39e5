"""How often does a policy try what it believes to be inferior, so that it can certify the rest?

A policy that plays well hardly plays anything else, and so never becomes sure that the other
actions are worse. A probe tries the rival of a round that contributes most to its expected loss
(`twin_certificate`). In round t its probability is

    share min(1, t / PROBE_ROUNDS) min(1, loss of random play / predicted loss of the rival).

A probe costs the same at any time. What it brings, a certificate, lasts for all rounds to come, and
a policy that has played for long can expect to go on for long. So probes are rare at first.
"""

import jax
import jax.numpy as jnp
from jax import Array

PROBE_STREAM = 2
"""Probes are drawn with a key of their own: neither that of `act` nor that of audits."""

PROBE_ROUNDS = 50_000
"""From this round on probes are as frequent as their share says."""


def probe_rates(
    share: float, losses: Array, predicted: Array, random_loss: Array, n_rounds: Array
) -> Array:
    """Return the probability with which an uncertified round probes each action, (A,).

    Args:
        share: Largest share of uncertified rounds that are probes.
        losses: Expected loss against each rival, (A,); zero for other actions.
        predicted: Predicted rewards, (A,); minus infinity where an action is not available.
        random_loss: What random play loses, ().
        n_rounds: Number of rounds so far, ().
    """
    rival = jnp.argmax(losses)
    cost = predicted.max() - predicted[rival]
    cheap = jnp.where(cost > random_loss, random_loss / jnp.where(cost > 0, cost, 1.0), 1.0)
    rate = share * cheap * jnp.minimum(n_rounds / PROBE_ROUNDS, 1.0)
    return jnp.where((jnp.arange(len(losses)) == rival) & (losses > 0), rate, 0.0)


def add_probes(rates: Array, action: Array, pmf: Array, key: Array) -> tuple[Array, Array]:
    """Return the action and its pmf if one action is played with its rate (A,) instead."""
    rate = rates.sum()
    probes = jax.random.bernoulli(jax.random.fold_in(key, PROBE_STREAM), rate)
    return jnp.where(probes, jnp.argmax(rates), action).astype(jnp.int32), (1 - rate) * pmf + rates
