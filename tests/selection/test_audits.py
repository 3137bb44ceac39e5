"""Audits have exact distributions, estimates that are right on average, and bounds that cover."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from banditsrl.core.policy import Choice
from banditsrl.numerics.precision import in_float64
from banditsrl.selection.audits import (
    AuditedRound,
    AuditRates,
    AuditRecord,
    add_audited_round,
    distribute,
    empty_record,
    estimate_losses,
    floors_of_audits,
    loss_bounds,
    shared_level,
)
from banditsrl.selection.confidence_sequence import evidence_against

RATES = AuditRates(np.float64(0.04), np.float64(0.2))
NOBODY = np.zeros(0, dtype=np.int32)


def certify(action: int, n_actions: int) -> Choice:
    """Return a certified choice of one action."""
    pmf = jnp.arange(n_actions) == action
    return Choice.without_test(jnp.asarray(action), pmf * 1.0)._replace(certified=jnp.asarray(True))


@in_float64
def pmf_of(choice: Choice, mask: list[int], rivals: Any, withdrawn: Any) -> tuple[Any, bool]:
    available = jnp.asarray(mask, dtype=bool)
    pmf, holds = distribute(choice, available, jnp.asarray(rivals), jnp.asarray(withdrawn), RATES)
    return np.asarray(pmf), bool(holds)


def test_an_audit_is_uniform_over_the_other_available_actions() -> None:
    pmf, holds = pmf_of(certify(1, 4), [1, 1, 0, 1], NOBODY, np.zeros(4, bool))
    assert holds
    np.testing.assert_allclose(pmf, [0.02, 0.96, 0.0, 0.02])


def test_half_of_a_disputed_audit_goes_to_rivals_that_disagree() -> None:
    rivals = np.array([1, 3, 2], dtype=np.int32)  # one agrees, one disagrees, one is unavailable
    pmf, _ = pmf_of(certify(1, 4), [1, 1, 0, 1], rivals, np.zeros(7, bool))
    np.testing.assert_allclose(pmf, [0.05, 0.8, 0.0, 0.15])


def test_rivals_that_agree_change_nothing() -> None:
    pmf, _ = pmf_of(certify(1, 3), [1, 1, 1], np.array([1], np.int32), np.zeros(4, bool))
    np.testing.assert_allclose(pmf, [0.02, 0.96, 0.02])


def test_a_single_action_is_not_audited() -> None:
    pmf, holds = pmf_of(certify(1, 3), [0, 1, 0], NOBODY, np.zeros(3, bool))
    assert holds
    np.testing.assert_allclose(pmf, [0.0, 1.0, 0.0])


def test_a_withdrawn_certificate_gives_half_to_the_challenger() -> None:
    withdrawn = np.array([True, False, False])
    pmf, holds = pmf_of(certify(1, 3), [1, 1, 1], NOBODY, withdrawn)
    assert not holds
    np.testing.assert_allclose(pmf, [0.5, 0.5, 0.0])


def test_a_certificate_that_agrees_with_the_better_challenger_holds() -> None:
    pmf, holds = pmf_of(certify(0, 3), [1, 1, 1], NOBODY, np.array([True, False, False]))
    assert holds
    np.testing.assert_allclose(pmf, [0.96, 0.02, 0.02])


def test_without_a_certificate_the_choice_stays() -> None:
    choice = Choice.without_test(jnp.asarray(2), jnp.array([0.2, 0.3, 0.5]))
    pmf, holds = pmf_of(choice, [1, 1, 1], NOBODY, np.ones(3, bool))
    assert not holds
    np.testing.assert_allclose(pmf, [0.2, 0.3, 0.5])


GUESSES = np.array([0.2, 0.9, 0.0, 0.4])


@in_float64
def losses_if(action: int, reward: float, rivals: Any) -> tuple[Any, Any]:
    """Return Z and its bounds when this action of four was played, with action 1 certified."""
    pmf, _ = distribute(
        certify(1, 4), jnp.ones(4, bool), jnp.asarray(rivals), jnp.zeros(6, bool), RATES
    )
    choice = certify(action, 4)._replace(pmf=pmf)
    floors = floors_of_audits(RATES, 4, len(rivals))
    audited = AuditedRound(
        choice,
        jnp.asarray(rivals),
        jnp.asarray(reward),
        jnp.asarray(GUESSES),
        jnp.asarray(1.0),
        floors,
    )
    z, bounds = estimate_losses(audited)
    return np.asarray(pmf), (np.asarray(z), np.asarray(bounds))


@pytest.mark.parametrize("rivals", [[1, 3], [1, 1]])
def test_losses_are_right_on_average_whatever_the_guesses(rivals: list[int]) -> None:
    chances = np.array([0.3, 0.6, 0.8, 0.5])  # of a reward of one
    named = np.array(rivals, dtype=np.int32)
    average = np.zeros(6)
    for action, reward in itertools.product(range(4), (0.0, 1.0)):
        pmf, (z, _) = losses_if(action, reward, named)
        weight = pmf[action] * (chances[action] if reward else 1.0 - chances[action])
        average = average + weight * z
    np.testing.assert_allclose(average, chances[[0, 1, 2, 3, *rivals]] - chances[1])


def test_losses_stay_within_their_bounds() -> None:
    for action, reward in itertools.product(range(4), (0.0, 1.0)):
        _, (z, bounds) = losses_if(action, reward, np.array([1, 3], dtype=np.int32))
        assert (np.abs(z) <= bounds * (1 + 1e-12)).all()


N_RUNS, N_STEPS, LEVEL = 2000, 600, 0.1
MEANS = np.array([[0.2, 0.6], [0.7, 0.3]])  # of two contexts; action 1 is certified in both


@in_float64
def play(key: jax.Array) -> tuple[AuditRecord, jax.Array, jax.Array]:
    """Play a run in which certificates become wrong; return where a bound is below the loss."""
    rates = AuditRates(jnp.asarray(0.2), jnp.asarray(0.2))
    floors = floors_of_audits(rates, 2, 0)

    def step(carry: tuple[Any, Any], now: tuple[Any, Any]) -> tuple[Any, Any]:
        record, total = carry
        key, t = now
        keys = jax.random.split(key, 3)
        context = (jax.random.uniform(keys[0]) < t / N_STEPS).astype(int)
        pmf = jnp.array([0.2, 0.8])
        action = (jax.random.uniform(keys[1]) < 0.8).astype(jnp.int32)
        means = jnp.asarray(MEANS)[context]
        reward = (jax.random.uniform(keys[2]) < means[action]) * 1.0
        choice = Choice.without_test(action, pmf)._replace(
            certified=action == 1, audited=action == 0
        )
        audited = AuditedRound(
            choice, jnp.zeros(0, jnp.int32), reward, jnp.array([0.5, 0.5]), jnp.asarray(1.0), floors
        )
        record = add_audited_round(record, audited, level=LEVEL, tolerance=0.0)
        share = t / N_STEPS  # the mean loss given the past, before the context is seen
        total = total + share * (MEANS[1, 0] - MEANS[1, 1]) - (1 - share) * 0.4
        losses = jnp.array([1.0, 0.0]) * total / (t + 1)
        limit = -jnp.log(shared_level(record, LEVEL))
        return (record, total), evidence_against(record.losses, losses) >= limit

    steps = (jax.random.split(key, N_STEPS), jnp.arange(N_STEPS) * 1.0)
    start = (empty_record(2, 0, jnp.asarray(1.0)), jnp.zeros(()))
    (record, _), violated = jax.lax.scan(step, start, steps)
    return record, violated.any(), loss_bounds(record, LEVEL).max()


def test_the_bound_covers_at_all_times() -> None:
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(3), N_RUNS)
        record, violated, bounds = jax.jit(jax.vmap(play))(keys)
    assert np.asarray(violated).mean() <= stats.binom.ppf(0.999, N_RUNS, LEVEL) / N_RUNS
    assert np.asarray(bounds).mean() < 0.5  # out of a range of one
    # The average loss is below zero until nearly the end: nothing may be withdrawn before.
    assert np.asarray(record.withdrawn)[:, 1].sum() == 0
    assert np.asarray(record.withdrawn)[:, 0].mean() <= LEVEL


def test_a_proved_loss_withdraws() -> None:
    rates = AuditRates(np.float64(0.2), np.float64(0.2))
    record = empty_record(2, 0, jnp.asarray(1.0))
    rng = np.random.default_rng(0)
    choice = certify(1, 2)._replace(pmf=jnp.array([0.2, 0.8]))
    add = jax.jit(lambda *a: add_audited_round(*a, level=0.01, tolerance=0.0))
    with jax.enable_x64(True):
        floors = floors_of_audits(rates, 2, 0)
        for _ in range(400):
            action = int(rng.random() < 0.8)
            reward = float(rng.random() < (0.8, 0.2)[action])
            own = choice._replace(
                action=jnp.asarray(action), certified=action == 1, audited=action == 0
            )
            guesses = jnp.array([0.5, 0.5])
            audited = AuditedRound(
                own, jnp.zeros(0, jnp.int32), jnp.asarray(reward), guesses, jnp.asarray(1.0), floors
            )
            record = add(record, audited)
    assert np.asarray(record.withdrawn).tolist() == [True, False]
    assert int(record.n_certified) == 400
    assert 50 < int(record.n_audits) < 110
