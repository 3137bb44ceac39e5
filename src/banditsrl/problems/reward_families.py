"""Which rewards occur in practice? Families of situations that differ in how rewards are paid.

Most of them share one shape of truth: four actions whose means are smooth in six columns, with an
interaction in it, so that neither a linear model nor a table is right.
"""

import numpy as np

from banditsrl.problems.context_families import N_COLUMNS, Rng, clicks, direction
from banditsrl.problems.reward_laws import RewardLaw
from banditsrl.problems.situations import Draft, Floats, add_family

N_ACTIONS = 4
TIE = 0.01
"""The gap of a near tie."""


def draw_levels(rng: Rng, n: int) -> tuple[Floats, Floats]:
    """Return columns (n, m), and levels (n, A) between 0 and 1 that are smooth in them."""
    x = rng.normal(size=(n, N_COLUMNS))
    linear = x @ np.stack([direction(rng, N_COLUMNS) for _ in range(N_ACTIONS)], axis=1)
    product = 0.7 * (x[:, :1] * x[:, 1:2]) * rng.choice([-1.0, 1.0], N_ACTIONS)
    return x, 1.0 / (1.0 + np.exp(-2.0 * (linear + product)))


def _add_noise_family(sigma: float) -> None:
    @add_family(f"noise-{sigma:g}")
    def noise(rng: Rng, n: int) -> Draft:
        x, levels = draw_levels(rng, n)
        return Draft(x, 2.0 * levels, RewardLaw("gaussian", spread=sigma))


for _sigma in (0.05, 1.0, 2.0, 3.0):
    _add_noise_family(_sigma)


@add_family("linear-means")
def linear_means(rng: Rng, n: int) -> Draft:
    """Means that are exactly linear in the columns, different ones for each action."""
    x = rng.normal(size=(n, N_COLUMNS))
    weights = np.stack([direction(rng, N_COLUMNS) for _ in range(N_ACTIONS)], axis=1)
    return Draft(x, x @ weights + 0.3 * rng.normal(size=4), RewardLaw("gaussian", spread=0.5))


@add_family("smooth")
def smooth(rng: Rng, n: int) -> Draft:
    """Clicks with smooth rates, which is the bounded case."""
    x, levels = draw_levels(rng, n)
    return Draft(x, levels, RewardLaw("bernoulli"))


@add_family("unbounded")
def unbounded(rng: Rng, n: int) -> Draft:
    """Means that grow exponentially along a direction of each action; noise of 1."""
    x = rng.normal(size=(n, N_COLUMNS))
    weights = np.stack([direction(rng, N_COLUMNS) for _ in range(N_ACTIONS)], axis=1)
    return Draft(x, np.exp(x @ weights), RewardLaw("gaussian", spread=1.0))


@add_family("near-ties")
def near_ties(rng: Rng, n: int) -> Draft:
    """Clicks by a plane, where the two actions are nearly equal in half of the contexts."""
    x = rng.normal(size=(n, N_COLUMNS))
    sign = np.where(x @ direction(rng, N_COLUMNS) > 0, 1.0, -1.0)
    gap = np.where(x[:, 0] > 0, 0.6, TIE)
    means = 0.5 + 0.5 * (sign * gap)[:, None] * np.array([-1.0, 1.0])
    return Draft(x, means, RewardLaw("bernoulli"))


@add_family("rare-clicks")
def rare_clicks(rng: Rng, n: int) -> Draft:
    """Click rates between 1 and 3 in a hundred."""
    x, levels = draw_levels(rng, n)
    return Draft(x, 0.01 + 0.02 * levels, RewardLaw("bernoulli"))


@add_family("counts")
def counts(rng: Rng, n: int) -> Draft:
    """Counts with means between 0.5 and 6."""
    x, levels = draw_levels(rng, n)
    return Draft(x, 0.5 + 5.5 * levels, RewardLaw("counts"))


@add_family("revenue")
def revenue(rng: Rng, n: int) -> Draft:
    """Revenue up to 500 euros: 5 to 40 rounds in a hundred pay, 125 euros on average."""
    x, levels = draw_levels(rng, n)
    return Draft(x, 125.0 * (0.05 + 0.35 * levels), RewardLaw("revenue"))


@add_family("heavy-rewards")
def heavy_rewards(rng: Rng, n: int) -> Draft:
    """Noise with heavy tails: Student's t with four degrees of freedom, times a half."""
    x, levels = draw_levels(rng, n)
    return Draft(x, 2.0 * levels, RewardLaw("heavy", spread=0.5))


def rescaled_clicks(rng: Rng, n: int, scale: float, shift: float) -> Draft:
    """Return clicks by a plane, paid as shift or shift + scale."""
    x = rng.normal(size=(n, N_COLUMNS))
    plain = clicks(x, x @ direction(rng, N_COLUMNS) > 0)
    law = RewardLaw("bernoulli", scale=scale, shift=shift)
    return Draft(x, shift + scale * plain.means, law)


@add_family("shifted-1000")
def shifted_1000(rng: Rng, n: int) -> Draft:
    """Rewards of 1000 and 1001."""
    return rescaled_clicks(rng, n, 1.0, 1000.0)


@add_family("shifted-minus-10")
def shifted_minus_10(rng: Rng, n: int) -> Draft:
    """Rewards of -10 and -9."""
    return rescaled_clicks(rng, n, 1.0, -10.0)


@add_family("scaled-100")
def scaled_100(rng: Rng, n: int) -> Draft:
    """Rewards of 0 and 100."""
    return rescaled_clicks(rng, n, 100.0, 0.0)


@add_family("scaled-0.01")
def scaled_001(rng: Rng, n: int) -> Draft:
    """Rewards of 0 and 0.01."""
    return rescaled_clicks(rng, n, 0.01, 0.0)


@add_family("missing-rewards", missing=0.5)
def missing_rewards(rng: Rng, n: int) -> Draft:
    """Clicks by a plane; half of the rewards are never seen."""
    return rescaled_clicks(rng, n, 1.0, 0.0)


@add_family("delayed-rewards", delay=200)
def delayed_rewards(rng: Rng, n: int) -> Draft:
    """Clicks by a plane; every reward is seen 200 rounds later."""
    return rescaled_clicks(rng, n, 1.0, 0.0)


@add_family("no-signal")
def no_signal(rng: Rng, n: int) -> Draft:
    """Equal means and normal noise: there is nothing to learn, and nothing to certify."""
    x = rng.normal(size=(n, N_COLUMNS))
    return Draft(x, np.zeros((n, N_ACTIONS)), RewardLaw("gaussian", spread=1.0))


@add_family("no-signal-clicks")
def no_signal_clicks(rng: Rng, n: int) -> Draft:
    """Equal click rates of 0.3 for every action."""
    x = rng.normal(size=(n, N_COLUMNS))
    return Draft(x, np.full((n, N_ACTIONS), 0.3), RewardLaw("bernoulli"))
