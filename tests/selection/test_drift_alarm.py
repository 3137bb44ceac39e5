"""The alarm is the formula's, rarely false, soon after a change, and knows where the change was."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from banditsrl.selection import drift_alarm
from banditsrl.selection.drift_alarm import (
    BETS_ON_CHANGE,
    BETS_ON_TAILS,
    TAIL_TOLERANCE,
    TOLERANCE,
    WARM_UP,
    add_error,
    empty_drift,
)

N_ACTIONS, RUN_LENGTH = 2, 20_000.0


def watch_errors(errors: Any, actions: Any) -> tuple[Any, Any, Any]:
    """Return log E, and in every round of a run whether the alarm is raised, and since when."""

    def step(drift: Any, now: Any) -> Any:
        error, action, t = now
        drift, alarm = add_error(drift, error, action, t, RUN_LENGTH)
        return drift, alarm

    drift, alarms = jax.lax.scan(
        step, empty_drift(N_ACTIONS), (errors, actions, jnp.arange(len(errors)))
    )
    return drift.log_e, alarms.raised, alarms.since


watch_together = jax.jit(jax.vmap(watch_errors))


def watch_runs(errors: Any, actions: Any) -> tuple[Any, Any, Any]:
    """Do the same for many runs, (runs, rounds)."""
    with jax.enable_x64(True):
        found = watch_together(jnp.asarray(errors), jnp.asarray(actions))
    return tuple(np.asarray(part) for part in found)


def slow_log_e(errors: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Follow the definition round by round, with lists of what was seen."""
    log_e = np.zeros((N_ACTIONS + 2, 2, len(BETS_ON_CHANGE)))
    seen: list[list[float]] = [[] for _ in range(N_ACTIONS)]
    late: list[list[float]] = [[] for _ in range(N_ACTIONS)]
    for t, (error, a) in enumerate(zip(errors, actions, strict=True)):
        pooled = np.mean(np.concatenate(seen)) if t else 0.0
        scale = (np.sum(seen[a]) + 20.0 * pooled) / (len(seen[a]) + 20.0) or 1.0
        clipped = float(np.clip(error / scale, -3.0, 3.0))
        seen[a].append(abs(error))
        if t < WARM_UP:
            continue
        everything = np.concatenate(late)
        z = clipped - np.clip(np.sum(late[a]) / (len(late[a]) + 20.0), -1.5, 1.5)
        for stream, n in ((a, len(late[a])), (N_ACTIONS, len(everything))):
            if n < 50:
                continue
            for s, sign in enumerate((1.0, -1.0)):
                gain = sign * z - TOLERANCE - 2.0 / np.sqrt(n)
                grown = np.log(1.0 + BETS_ON_CHANGE * gain)
                log_e[stream, s] = np.maximum(log_e[stream, s], 0.0) + grown
        n = len(everything)
        for s, sign in enumerate((1.0, -1.0)):
            if n < 50:
                continue
            usual = np.mean(sign * everything >= 2.5) + TAIL_TOLERANCE
            q = min(usual + 2.0 * np.sqrt(usual / n), 1.0)
            factor = 1.0 + BETS_ON_TAILS * ((sign * clipped >= 2.5) / q - 1.0)
            log_e[-1, s] = np.maximum(log_e[-1, s], 0.0) + np.log(factor)
        late[a].append(clipped)
    return log_e


def test_the_statistics_follow_their_definition() -> None:
    rng = np.random.default_rng(0)
    errors, actions = rng.standard_t(3, size=700), rng.integers(0, 2, size=700)
    errors[600:] += 0.5 * actions[600:]
    found, _, _ = watch_runs(errors[None], actions[None])
    np.testing.assert_allclose(found[0], slow_log_e(errors, actions), atol=1e-9)


N_RUNS, N_ROUNDS = 200, 3000

NOISES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "heavy tails": lambda rng, shape: rng.standard_t(2, size=shape),
    "rare clicks": lambda rng, shape: (rng.random(shape) < 0.02) - 0.02,
    "revenue": lambda rng, shape: (rng.random(shape) < 0.1) * rng.lognormal(3, 1, shape) - 3.3,
}


@pytest.mark.parametrize("noise", NOISES)
def test_false_alarms_are_no_more_frequent_than_stated(noise: str) -> None:
    rng = np.random.default_rng(1)
    shape = (N_RUNS, N_ROUNDS)
    _, raised, _ = watch_runs(NOISES[noise](rng, shape), rng.integers(0, 2, size=shape))
    stated = N_ROUNDS / RUN_LENGTH  # probability of an alarm within so many rounds, at most
    assert raised.any(1).mean() <= stated + 3.0 * np.sqrt(stated / N_RUNS)


def expected_delay(shift: float, n_before: int) -> float:
    """Return rounds until the best bet on the mean of action 1 alone reaches the threshold."""
    errors = np.random.default_rng(3).normal(size=100_000) + abs(shift)
    z = np.clip(errors / np.sqrt(2.0 / np.pi), -3.0, 3.0)  # in mean absolute errors
    gain = z - TOLERANCE - 2.0 / np.sqrt(n_before)
    growth = max(np.log1p(bet * gain).mean() for bet in BETS_ON_CHANGE)
    n_statistics = (N_ACTIONS + 2) * 2 * len(BETS_ON_CHANGE)
    return 2.0 * np.log(RUN_LENGTH * n_statistics) / growth  # it is played in every other round


@pytest.mark.parametrize("shift", [4.0, 1.0, -1.0])
def test_a_change_of_one_action_is_found_soon_and_placed_well(shift: float) -> None:
    rng = np.random.default_rng(2)
    shape = (N_RUNS, N_ROUNDS)
    errors, actions = rng.normal(size=shape), rng.integers(0, 2, size=shape)
    errors[:, 1500:] += shift * (actions[:, 1500:] == 1)
    _, raised, since = watch_runs(errors, actions)
    first = np.argmax(raised, axis=1)
    assert raised.any(1).all()
    assert (first >= 1500).mean() > 0.99
    assert np.median(first - 1500) < 1.2 * expected_delay(shift, 600)
    placed = since[np.arange(N_RUNS), first]
    assert np.median(np.abs(placed - 1500)) < 15


def test_the_statistic_stays_positive_in_the_worst_case() -> None:
    tolerance = TOLERANCE + drift_alarm.CENTRE_ERROR / np.sqrt(drift_alarm.ENOUGH)
    worst = drift_alarm.CLIP + drift_alarm.LARGEST_CENTRE + tolerance
    assert BETS_ON_CHANGE.max() * worst < 1.0
