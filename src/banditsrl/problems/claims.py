"""What does a finite problem claim about its representations? A parameter, and whether it fits.

A claim that is not given is the best linear fit of the mean rewards, over the contexts and actions
that can occur.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import finite_array, flag
from banditsrl.core.settings import DescribedMeta
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.representations.table import SMALLEST_BOUND, Table

EXACT_FIT = 1e-6
"""Without a claim, a candidate counts as realizable if its best fit is exact to this share of the
spread of the rewards: features often come from files, whose numbers were rounded."""

LEAST_SPREAD = 1e-6
"""A spread below this share of the largest reward is taken as this share, because of rounding."""


class Claim(eqx.Module, metaclass=DescribedMeta):
    """What a problem claims about one of its representations.

    Args:
        theta: The parameter, (dim,): the true one if the representation is realizable.
        realizable: Whether features @ theta is the table of mean rewards.
        name: Name of the representation in tables and figures.
    """

    theta: NDArray[np.float64]
    realizable: bool = eqx.field(static=True)
    name: str = eqx.field(static=True)

    def __init__(self, theta: Any, realizable: bool, name: str = "") -> None:
        self.theta = finite_array("theta", theta, "(dim,)")
        self.realizable = flag("realizable", realizable)
        self.name = str(name)


def attach_claims(
    representations: Sequence[Any],
    claims: Sequence[Claim] | None,
    means: NDArray[np.float64],
    possible: NDArray[np.bool_],
) -> tuple[tuple[Table, ...], tuple[Claim, ...]]:
    """Return every candidate as a table with bounds L and B, and one claim about each.

    Args:
        representations: Tables or arrays of features, (n_contexts, n_actions, dim).
        claims: The claims that were given, or None to take the best linear fits.
        means: Mean rewards, (n_contexts, n_actions).
        possible: Which (context, action) pairs can occur, (n_contexts, n_actions).
    """
    if not isinstance(representations, Sequence | np.ndarray):
        kind = type(representations).__name__
        raise InvalidType(f"representations must be a sequence of candidates, got {kind}.")
    tables = [_as_table(source, possible) for source in representations]
    if claims is None:
        claims = [_fit_claim(table, means, possible) for table in tables]
    _check_claims(claims, len(tables))
    pairs = zip(tables, claims, strict=True)
    return tuple(_bound_parameter(table, claim) for table, claim in pairs), tuple(claims)


def best_fit(
    features: NDArray[np.float64], means: NDArray[np.float64], possible: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """Return the best linear fit of the means over the possible pairs, and its largest error."""
    rows = features[possible]
    theta = np.asarray(np.linalg.lstsq(rows, means[possible], rcond=None)[0], dtype=np.float64)
    return theta, float(np.abs(rows @ theta - means[possible]).max())


def reward_spread(means: NDArray[np.float64], possible: NDArray[np.bool_]) -> float:
    """Return the unit in which errors of a fit are measured: the largest difference of means.

    Example:
        >>> reward_spread(np.array([[2.0, 5.0, 9.0]]), np.array([[True, True, False]]))
        3.0
    """
    values = means[possible]
    return max(float(np.ptp(values)), LEAST_SPREAD * float(np.abs(values).max()))


def _check_claims(claims: Sequence[Any], n: int) -> None:
    wrong = [type(claim).__name__ for claim in claims if not isinstance(claim, Claim)]
    if wrong:
        raise InvalidType(f"claims must be a sequence of Claim, got {wrong[0]}.")
    if len(claims) != n:
        raise InvalidArgument(f"claims must be one per representation, got {len(claims)} for {n}.")


def _as_table(source: Any, possible: NDArray[np.bool_]) -> Table:
    is_table = isinstance(source, Table)
    features = source.features if is_table else source
    features = finite_array("features", features, "(n_contexts, n_actions, dim)")
    if features.shape[:2] != possible.shape:
        raise InvalidArgument(
            f"features must have shape ({possible.shape[0]}, {possible.shape[1]}, dim), "
            f"got shape {features.shape}."
        )
    return source if is_table else Table(features, possible=possible)


def _fit_claim(table: Table, means: NDArray[np.float64], possible: NDArray[np.bool_]) -> Claim:
    theta, error = best_fit(table.features, means, possible)
    return Claim(theta, error <= EXACT_FIT * reward_spread(means, possible))


def _bound_parameter(table: Table, claim: Claim) -> Table:
    """Return the table with B, which is the norm of the claimed parameter unless it was given."""
    if claim.theta.shape != (table.dim,):
        raise InvalidArgument(
            f"theta must have shape ({table.dim},), got shape {claim.theta.shape}."
        )
    if table.B is not None:
        return table
    bound = max(float(np.linalg.norm(claim.theta)), SMALLEST_BOUND)
    bounded: Table = eqx.tree_at(lambda t: t.B, table, bound, is_leaf=lambda leaf: leaf is None)
    return bounded
