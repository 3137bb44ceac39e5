"""What do certified rounds lose? Audits answer this without any model.

In a certified round the greedy action g is played with probability 1 - epsilon, and another
available action otherwise. So the loss of g against a challenger that would have played h has an
estimate that is right on average, whatever is known about rewards:

    Z = f_h - f_g + 1{a = h} (y - f_h) / p_h - 1{a = g} (y - f_g) / p_g,    and 0 if h = g.

Here a is the action played, y its reward, p the distribution it was drawn from, and f any guess of
the mean rewards that was made before y was seen: a good guess makes Z less noisy, and a bad one
does not make it wrong. The challengers are every constant action and the rivals that the policy
names itself. A confidence sequence for the mean of Z (`confidence_sequence`) gives two statements:
what certified rounds lose at most, and whether they provably lose something. The level is shared
among the challengers; after a restart the k-th part of a run has the share 1 / (k (k + 1)) of it.

Rewards and guesses are clipped to a range, and the statements are about clipped rewards. Rounds
count with weight (audit rate) / (width of the range), so they count equally if both are constant.
A round with a single available action is not counted.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.core.policy import Choice
from banditsrl.numerics.precision import in_float64
from banditsrl.selection.confidence_sequence import (
    BetSequence,
    add_observation,
    empty_bets,
    evidence_against,
    upper_bound,
)


class AuditRecord(NamedTuple):
    """What the audits have shown, for S challengers: A constant actions, then C rivals."""

    losses: BetSequence  # of Z
    gains: BetSequence  # of -Z
    withdrawn: Array  # (S,) the loss against this challenger is proved
    part: Array  # ()   parts of the run so far, this one included
    n_certified: Array  # ()   certified rounds of this part, audits included
    n_audits: Array  # ()   audits of this part
    cost: Array  # ()   estimated reward that the audits of this part gave up


class AuditedRound(NamedTuple):
    """One certified or audited round."""

    choice: Choice
    rivals: Array  # (C,) actions
    reward: Array  # ()   within the range
    guesses: Array  # (A,) predicted mean rewards, within the range
    width: Array  # ()   width of the range of rewards
    floors: Array  # (S,) least probability with which each challenger's action is audited


@in_float64
def empty_record(n_actions: int, n_rivals: int, part: Array) -> AuditRecord:
    """Return a record without rounds."""
    size, zero = n_actions + n_rivals, jnp.zeros((), dtype=jnp.float64)
    return AuditRecord(
        losses=empty_bets(size),
        gains=empty_bets(size),
        withdrawn=jnp.zeros((size,), dtype=bool),
        part=zero + part,
        n_certified=zero,
        n_audits=zero,
        cost=zero,
    )


class AuditRates(NamedTuple):
    """Probability of an audit where no rival disagrees with the certificate, and where one does."""

    agreed: Array
    disputed: Array


def distribute(
    choice: Choice, available: Array, rivals: Array, withdrawn: Array, rates: AuditRates
) -> tuple[Array, Array]:
    """Return the distribution (A,) to draw from, and whether the certificate holds.

    If it holds, the greedy action is played, except in audits. If it is withdrawn here, since a
    challenger that is proved to be better disagrees, that challenger is played with probability
    1/2. Where nothing is certified, the distribution is that of the choice.
    """
    indices = jnp.arange(available.shape[0])
    greedy = indices == choice.action
    proved = withdrawn[:, None] & (jnp.append(indices, rivals)[:, None] == indices)
    better = proved.any(0) & available & ~greedy
    doubted = better.any() & choice.certified
    holds = choice.certified & ~doubted
    audit = _spread_audit(available & ~greedy, rivals, rates)
    checked = jnp.where(greedy, 1.0 - audit.sum(), audit)
    instead = 0.5 * greedy + 0.5 * better / jnp.maximum(better.sum(), 1)
    pmf = jnp.where(holds, checked, jnp.where(doubted, instead, choice.pmf))
    return pmf, holds


def _spread_audit(others: Array, rivals: Array, rates: AuditRates) -> Array:
    """Return the probability of every other available action (A,) in a round that may be audited.

    All of them are equally likely. If rivals disagree with the greedy action, half of the
    probability goes to them.
    """
    named = others & (rivals[:, None] == jnp.arange(others.shape[0])).any(0)
    uniform = others / jnp.maximum(others.sum(), 1)
    half = 0.5 * named / jnp.maximum(named.sum(), 1) + 0.5 * uniform
    return jnp.where(named.any(), rates.disputed * half, rates.agreed * uniform)


def floors_of_audits(rates: AuditRates, n_actions: int, n_rivals: int) -> Array:
    """Return the least probability (S,) with which an audit plays each challenger's action."""
    others = max(n_actions - 1, 1)
    least = jnp.minimum(rates.agreed, 0.5 * rates.disputed) if n_rivals else rates.agreed
    constant = jnp.full((n_actions,), least / others)
    rival = jnp.full((n_rivals,), 0.5 * rates.disputed / max(n_rivals, 1))
    return jnp.concatenate([constant, rival])


def estimate_losses(audited: AuditedRound) -> tuple[Array, Array]:
    """Return Z (S,) of one round, and bounds (S,) on its absolute value.

    With rewards and guesses in a range of width R, |Z| is at most R / p_h, since p_h <= p_g.
    """
    pmf, f, y = audited.choice.pmf, audited.guesses, audited.reward
    a, g = audited.choice.action, jnp.argmax(pmf)
    h = jnp.concatenate([jnp.arange(pmf.shape[0]), audited.rivals])  # (S,)
    p, contests = pmf[h], (h != g) & (pmf[h] > 0)
    safe = jnp.where(contests, p, 1.0)
    z = f[h] - f[g] + (a == h) * (y - f[h]) / safe - (a == g) * (y - f[g]) / pmf[g]
    least = jnp.where(contests, jnp.minimum(p, audited.floors), audited.floors)
    width = jnp.where(audited.width > 0, audited.width, 1.0)
    return jnp.where(contests, z, 0.0), width / least


@in_float64
def add_audited_round(
    record: AuditRecord, audited: AuditedRound, *, level: float, tolerance: float
) -> AuditRecord:
    """Return the record after a certified or audited round; certificates may be withdrawn."""
    z, bounds = estimate_losses(audited)
    losses = add_observation(record.losses, z, bounds)
    gains = add_observation(record.gains, -z, bounds)
    evidence = evidence_against(gains, jnp.full(z.shape, -tolerance))
    was_audit = jnp.asarray(audited.choice.audited)
    given_up = audited.guesses[jnp.argmax(audited.choice.pmf)] - audited.reward
    return record._replace(
        losses=losses,
        gains=gains,
        withdrawn=record.withdrawn | (evidence >= -jnp.log(shared_level(record, level))),
        n_certified=record.n_certified + 1.0,
        n_audits=record.n_audits + was_audit,
        cost=record.cost + jnp.where(was_audit, given_up, 0.0),
    )


@in_float64
def loss_bounds(record: AuditRecord, level: float | Array) -> Array:
    """Return what certified rounds lose at most per round against every challenger, (S,)."""
    return upper_bound(record.losses, shared_level(record, level))


@in_float64
@jax.jit
def largest_loss(record: AuditRecord, level: float | Array, width: Array) -> Array:
    """Return what certified rounds lose at most; no reward is outside a range of this width."""
    found = loss_bounds(record, level).max()
    return jnp.where(record.n_audits > 0, jnp.minimum(found, width), jnp.inf)


def shared_level(record: AuditRecord, level: float | Array) -> Array:
    """Return the share of the level that one challenger has in this part of the run."""
    return level / (record.part * (record.part + 1.0) * record.withdrawn.shape[0])
