"""What changes over time? Families of situations whose rewards or contexts do not stay the same."""

import numpy as np

from banditsrl.problems.context_families import HIGH, LOW, N_COLUMNS, Rng, clicks, direction
from banditsrl.problems.reward_families import draw_levels
from banditsrl.problems.reward_laws import RewardLaw
from banditsrl.problems.situations import Draft, add_family


def elapsed(n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the part of the rounds that is over at the start of each round, (n,)."""
    return np.arange(n) / n


@add_family("swap", change="swap")
def swap(rng: Rng, n: int) -> Draft:
    """Clicks by a plane; at half time the two actions change places."""
    x = rng.normal(size=(n, N_COLUMNS))
    first = x @ direction(rng, N_COLUMNS) > 0
    return clicks(x, first ^ (elapsed(n) >= 0.5))


@add_family("rotation", change="swap")
def rotation(rng: Rng, n: int) -> Draft:
    """Four linear regions; at half time every region passes to the next action."""
    x = rng.normal(size=(n, N_COLUMNS))
    best = np.argmax(x @ rng.normal(size=(N_COLUMNS, 4)), axis=1)
    return clicks(x, (best + (elapsed(n) >= 0.5)) % 4, 4)


@add_family("rising-action", change="rising")
def rising_action(rng: Rng, n: int) -> Draft:
    """Clicks by a plane; a third action rises from the worst to the best after half time."""
    x = rng.normal(size=(n, N_COLUMNS))
    means = clicks(x, x @ direction(rng, N_COLUMNS) > 0, 3).means
    risen = np.clip(4.0 * (elapsed(n) - 0.5), 0.0, 1.0)  # complete at three quarters of the time
    means[:, 2] = 0.5 * LOW + (HIGH + 0.1 - 0.5 * LOW) * risen
    return Draft(x, means, RewardLaw("bernoulli"))


@add_family("better-action", change="rising")
def better_action(rng: Rng, n: int) -> Draft:
    """Smooth means with noise of 0.5; at half time the last action gains 1 everywhere."""
    x, levels = draw_levels(rng, n)
    means = 2.0 * levels
    means[:, -1] += elapsed(n) >= 0.5
    return Draft(x, means, RewardLaw("gaussian", spread=0.5))


@add_family("slow-drift", change="drift")
def slow_drift(rng: Rng, n: int) -> Draft:
    """Clicks by a plane that turns by half a circle in the course of all rounds."""
    x, angle = rng.normal(size=(n, N_COLUMNS)), np.pi * elapsed(n)
    return clicks(x, x[:, 0] * np.cos(angle) + x[:, 1] * np.sin(angle) > 0)


@add_family("fading-means", change="drift")
def fading_means(rng: Rng, n: int) -> Draft:
    """Linear means whose weights slowly turn into others; noise of 0.5."""
    x = rng.normal(size=(n, N_COLUMNS))
    before, after = (
        np.stack([direction(rng, N_COLUMNS) for _ in range(4)], axis=1) for _ in range(2)
    )
    late = elapsed(n)[:, None]
    means = (1.0 - late) * (x @ before) + late * (x @ after)
    return Draft(x, means, RewardLaw("gaussian", spread=0.5))


@add_family("moving-contexts", change="contexts")
def moving_contexts(rng: Rng, n: int) -> Draft:
    """The contexts of "xor" move to another place at half time; the truth stays as it is."""
    x = rng.normal(size=(n, N_COLUMNS))
    x[elapsed(n) >= 0.5, :2] += 1.5 * rng.choice([-1.0, 1.0], 2)
    return clicks(x, x[:, 0] * x[:, 1] > 0)


@add_family("new-segment", change="contexts")
def new_segment(rng: Rng, n: int) -> Draft:
    """From half time on, half of the contexts have a flag under which the other action is best."""
    x = rng.normal(size=(n, N_COLUMNS))
    x[:, 0] = (elapsed(n) >= 0.5) & (rng.random(n) < 0.5)
    return clicks(x, (x[:, 1:] @ direction(rng, N_COLUMNS - 1) > 0) ^ (x[:, 0] > 0))


@add_family("new-category", change="contexts")
def new_category(rng: Rng, n: int) -> Draft:
    """Three of twelve integer codes appear only after half time; each code has its best action."""
    code = np.where(elapsed(n) < 0.5, rng.integers(0, 9, n), rng.integers(0, 12, n))
    shown = rng.permutation(12)[code]  # the new codes lie anywhere among the others
    best = rng.integers(0, 4, 12)[code]
    return clicks(np.column_stack([shown, rng.normal(size=(n, N_COLUMNS - 1))]), best, 4)


@add_family("growing-segment", change="contexts")
def growing_segment(rng: Rng, n: int) -> Draft:
    """A flag reverses the plane: one context in a hundred has it, after half time one in three."""
    x = rng.normal(size=(n, N_COLUMNS))
    x[:, 0] = rng.random(n) < np.where(elapsed(n) < 0.5, 0.01, 1.0 / 3.0)
    return clicks(x, (x[:, 1:] @ direction(rng, N_COLUMNS - 1) > 0) ^ (x[:, 0] > 0))


@add_family("new-combination", change="contexts")
def new_combination(rng: Rng, n: int) -> Draft:
    """Two flags never come together before half time; together they reverse the plane."""
    x = rng.normal(size=(n, N_COLUMNS))
    x[:, :2] = rng.random((n, 2)) < 0.5
    x[(x[:, :2].sum(axis=1) == 2) & (elapsed(n) < 0.5), 1] = 0.0
    both = x[:, :2].sum(axis=1) == 2
    return clicks(x, (x[:, 2:] @ direction(rng, N_COLUMNS - 2) > 0) ^ both)
