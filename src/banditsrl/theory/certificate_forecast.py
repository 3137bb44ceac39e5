"""How many rounds would a certificate need? A forecast from the gaps, the noise and the design.

The test certifies the greedy action g of a context x when, for every other action a,

    (phi_g - phi_a).theta / ||phi_g - phi_a||_{V^-1}  >  beta(N),

see `linear.likelihood_ratio` and `linear.bounds.beta`. The forecast asks for the smallest N with

    gap_a / sqrt((phi_g - phi_a).(lam I + N S)^-1.(phi_g - phi_a))  >  beta(N)   for all a,

where S is the second moment of the played features per round of the log, and gap_a is the gap
predicted by ridge regression. For large N the left side is gap_a sqrt(N s_a) / ||phi_g - phi_a||,
where s_a is the (harmonic mean) eigenvalue of S along the direction that separates the two actions.
So N is about beta(N)^2 ||phi_g - phi_a||^2 / (s_a gap_a^2).

*Assumptions.* Rewards are linear in the embedding; further rounds have contexts and actions as in
the log; the estimated gaps, noise level, L and B are right. A gap of less than `TOO_CLOSE` standard
errors may be a tie, and no number of rounds certifies a tie, so such a context counts as never.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from banditsrl.linear.bounds import beta
from banditsrl.linear.likelihood_ratio import SAME_EMBEDDING
from banditsrl.numerics.precision import in_float64

TOO_CLOSE = 2.0
"""A gap of fewer standard errors than this may be a tie."""

N_CONTEXTS = 400
"""Most contexts of a forecast; they are spread evenly over the log."""

CHUNK = 50
"""Contexts that are forecast together, which bounds the memory."""

MOST_LOG2 = 60
"""A forecast of more than 2^60 rounds is never."""

N_HALVINGS = 45
"""Halvings of the interval of log2 N, after which N is known to 12 digits."""

LAM, DELTA = 1.0, 0.01
"""Ridge parameter and level of the test: the defaults of the policies that have it."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Design(Protocol):
    """What the log teaches per round, and the contexts of a forecast (see `log_designs.py`).

    Attributes:
        n: Number of rounds from which it was computed.
        dim: Dimension of the embedding.
        L: Largest norm of a feature.
        B: Norm of the ridge fit.
        values: Predictions for every context and action, (x, A).
        available: Which actions are available, (x, A).
    """

    n: int
    dim: int
    L: float
    B: float
    values: Floats
    available: Bools

    def measure(self, some: slice) -> "Widths":
        """Return the widths of the gaps of some contexts."""


class Widths(Protocol):
    """Squared norms ||phi_g - phi_a||^2 in the inverse design after N rounds."""

    def squares(self, greedy: Ints, n: Floats) -> Floats:
        """Return them for greedy actions (x,) after rounds n (x,), (x, A)."""


class Forecast(NamedTuple):
    """After how many rounds contexts are certified, if further rounds are like those of the log."""

    rounds: Floats  # (x,) ascending, counted from the start of the log; infinite for never
    n: int  # rounds of the log
    too_close: float  # share of contexts whose best two actions the log cannot tell apart

    def more_rounds(self, share: float) -> float:
        """Return how many more rounds certify this share of the contexts; infinite for never."""
        last = math.ceil(share * len(self.rounds)) - 1
        return max(float(self.rounds[last]) - self.n, 0.0)

    @property
    def certified(self) -> float:
        """Share of the contexts that the log certifies already."""
        return float((self.rounds <= self.n).mean())


@in_float64
def forecast_certificates(design: Design, *, n: int, sigma: float) -> Forecast:
    """Return after how many rounds the contexts of a log are certified.

    Args:
        design: What the log teaches per round.
        n: Number of rounds of the log, of which the design may have seen a sample.
        sigma: Noise level of the rewards.
    """
    rounds, close = [], []
    for first in range(0, len(design.values), CHUNK):
        some = slice(first, first + CHUNK)
        widths = design.measure(some)
        gaps = _find_gaps(design, some, widths)
        now = np.full(len(gaps.greedy), float(design.n))
        errors = sigma * np.sqrt(widths.squares(gaps.greedy, now))
        is_close = (gaps.rivals & (gaps.gaps < TOO_CLOSE * errors)).any(axis=1)
        rounds.append(np.where(is_close, np.inf, _find_rounds(design, gaps, widths, sigma)))
        close.append(is_close)
    return Forecast(np.sort(np.concatenate(rounds)), n, float(np.concatenate(close).mean()))


class _Gaps(NamedTuple):
    """By how much the greedy actions are predicted to be better than the others."""

    greedy: Ints  # (x,)
    gaps: Floats  # (x, A)
    rivals: Bools  # (x, A) the other available actions, unless their embedding is the same


def _find_gaps(design: Design, some: slice, widths: Widths) -> _Gaps:
    values, allowed = design.values[some], design.available[some]
    greedy = np.where(allowed, values, -np.inf).argmax(axis=1)
    best = np.take_along_axis(values, greedy[:, None], axis=1)
    differs = widths.squares(greedy, np.zeros(len(greedy))) > (SAME_EMBEDDING * design.L) ** 2 / LAM
    rivals = allowed & differs & (np.arange(values.shape[1]) != greedy[:, None])
    return _Gaps(greedy, np.where(rivals, best - values, np.inf), rivals)


def _find_rounds(design: Design, gaps: _Gaps, widths: Widths, sigma: float) -> Floats:
    """Return the smallest N that certifies each context, (x,), by halving the interval of log2 N.

    The ratio grows like sqrt(N) and the radius like sqrt(log N), so the test keeps passing once it
    does. Without data it never passes, because a gap is at most B times the norm.
    """

    def passes(log2: Floats) -> Bools:
        n = np.exp2(log2)
        known = {"dim": design.dim, "L": design.L, "B": design.B, "lam": LAM}
        radius = np.asarray(beta(n, delta=DELTA, sigma=sigma, **known))
        lengths = np.sqrt(widths.squares(gaps.greedy, n))
        is_sure = gaps.gaps > radius[:, None] * lengths
        return np.asarray((is_sure | ~gaps.rivals).all(axis=1))

    low = np.zeros(len(gaps.greedy))
    high = np.full(len(gaps.greedy), float(MOST_LOG2))
    never = ~passes(high)
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2.0
        done = passes(middle)
        low, high = np.where(done, low, middle), np.where(done, middle, high)
    return np.where(never, np.inf, np.ceil(np.exp2(high)))
