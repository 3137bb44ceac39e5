"""How often does a policy learn a row of a log? Once, or in proportion to one over its propensity.

A policy fits the mean reward of each action. The rows of an action come from the contexts where the
logging policy preferred it. That does no harm if the model of rewards is right and the logging
policy knew nothing but the context. Otherwise each action should count as if actions had been
played evenly in every context, which is the weight

    w = 1 / (A p),    at most `largest_weight`,

for a row whose action had probability p among A actions: 1 for every row of an even log. Policies
have no weights, so rows are chosen at random instead:

- "ips": rows are drawn in proportion to w, as many as the effective sample size (sum w)^2 / sum
  w^2. A row of large weight comes several times.
- "thinned": each row is kept with probability w / max w. Every kept round is one that happened, so
  widths, certificates and tests count rounds rightly. It keeps fewer rows.

Chosen rows stay in the order of the log. The choice sees actions and propensities and no rewards.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import at_least, finite_array, one_of
from banditsrl.errors import InvalidArgument

WEIGHTINGS = ("none", "ips", "thinned")

LARGEST_WEIGHT = 10.0
"""Default limit of a weight: a row counts for at most ten rows of an even log."""

ROUNDING = 1e-9
"""Numbers that differ by less than this, relative to one, are equal."""

SHOWN_ACTIONS = 5
"""Actions that a sentence lists."""


class WeighedLog(NamedTuple):
    """Which rows are learned, and what may be wrong with that."""

    places: NDArray[np.int64]  # (k,) places of the learned rows, in the order of the log
    note: str


def weigh_log(
    actions: NDArray[Any],
    propensities: Any = None,
    *,
    weighting: str,
    n_actions: int,
    largest_weight: float = LARGEST_WEIGHT,
    rng: np.random.Generator,
) -> WeighedLog:
    """Choose the rows that a policy learns from, and say what bias remains.

    Args:
        actions: (n,) indices.
        propensities: (n,) probabilities of these actions, or None if they are not known.
        weighting: One of `WEIGHTINGS`.
        n_actions: Number of actions A.
        largest_weight: Largest weight w of a row, at least 1.
        rng: Draws the rows.
    """
    one_of("weighting", weighting, WEIGHTINGS)
    n, untried = len(actions), _describe_untried(actions, n_actions)
    known = None if propensities is None else _check_propensities(propensities, n)
    if weighting == "none":
        return WeighedLog(np.arange(n), f"{_describe_plain(known, n)}{untried}")
    if known is None:
        raise InvalidArgument(f"propensities must be given for weighting {weighting!r}, got None.")
    largest = at_least("largest_weight", largest_weight, 1.0)
    full = 1.0 / (n_actions * known)
    choose = _resample if weighting == "ips" else _thin
    places = choose(np.minimum(full, largest), rng)
    n_cut = int((full > largest * (1.0 + ROUNDING)).sum())
    kept, cut = _describe_weights(weighting, places, n), _describe_cut(n_cut, n, largest)
    return WeighedLog(places, f"{kept}{cut}{untried}")


def _resample(weights: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw rows in proportion to their weights, as many as the effective sample size.

    One uniform number shifts a comb of equal distances, so a row of twice the weight comes twice
    as often up to one.
    """
    size = max(int(weights.sum() ** 2 / (weights**2).sum()), 1)
    marks = (np.arange(size) + rng.random()) / size * weights.sum()
    places = np.searchsorted(np.cumsum(weights), marks, side="right")
    return np.asarray(np.minimum(places, len(weights) - 1), dtype=np.int64)


def _thin(weights: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Keep each row with a probability in proportion to its weight; the heaviest always stay."""
    return np.asarray(np.flatnonzero(rng.random(len(weights)) * weights.max() < weights))


def _check_propensities(propensities: Any, n: int) -> NDArray[np.float64]:
    known = finite_array("propensities", propensities, "(n,)")
    if len(known) != n:
        raise InvalidArgument(
            f"propensities must be {n} numbers, one per reward, got {len(known)}."
        )
    bad = ~((known > 0.0) & (known <= 1.0))
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidArgument(
            f"propensities must be above 0 and at most 1, got {known[i]:g} at index {i}."
        )
    return known


def _describe_plain(propensities: NDArray[np.float64] | None, n: int) -> str:
    even = propensities is not None and np.ptp(propensities) <= ROUNDING
    if even:
        return f"All {n:,} logged rounds count once; all actions were played evenly."
    return (
        f"All {n:,} logged rounds count once: predictions are biased if the logging policy used "
        "what the contexts do not contain, and fit best where it preferred the action."
    )


def _describe_weights(weighting: str, places: NDArray[np.int64], n: int) -> str:
    if weighting == "thinned":
        return (
            f"Of {n:,} logged rounds {len(places):,} were kept, as if actions had been played "
            "evenly."
        )
    n_rows = len(np.unique(places))
    return (
        f"Of {n:,} logged rounds {n_rows:,} were drawn {len(places):,} times, as if actions had "
        "been played evenly; certificates and tests count repeated rounds as different ones, so "
        "they are too confident."
    )


def _describe_cut(n_cut: int, n: int, largest: float) -> str:
    if not n_cut:
        return " No weight was cut, so no bias of the logging policy remains on average."
    return (
        f" The weights of {n_cut:,} of {n:,} rounds ({n_cut / n:.1%}) were cut to {largest:g}: "
        "there the bias of the logging policy remains in part."
    )


def _describe_untried(actions: NDArray[Any], n_actions: int) -> str:
    """Return a sentence about the actions that the log does not contain, or nothing."""
    missing = np.setdiff1d(np.arange(n_actions), actions)
    if not len(missing):
        return ""
    shown = ", ".join(str(index) for index in missing[:SHOWN_ACTIONS])
    more = f" and {len(missing) - SHOWN_ACTIONS} more" if len(missing) > SHOWN_ACTIONS else ""
    return f" Actions that were never played, about which nothing was learned: {shown}{more}."
