"""May this context be played greedily from now on? The generalized likelihood ratio test.

GLR(x) = min over a != g of (phi_g - phi_a).theta / ||phi_g - phi_a||_{V^-1}, with g the greedy
action, is the distance (in the V norm) from the estimate to the nearest parameter under which
another action is best (paper, Eq. 3 and its appendix). If it exceeds the radius beta of the
confidence ellipsoid, the greedy action is optimal with probability 1 - delta.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from banditsrl.arguments import check_mask, finite_array
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import indices, rows_times, seeds_last

SAME_EMBEDDING = 1e-12
"""Two embeddings nearer than this, relative to their V^-1 norms, are the same action."""

SYMMETRIC = 1e-9
"""Entries of a symmetric matrix may differ by this share of its largest one."""


class Scores(NamedTuple):
    """What the statistics say of every action of one context."""

    values: Array  # (A,)    phi . theta
    norms: Array  # (A,)    ||phi||_{V^-1}
    whitened: Array  # (A, d)  phi S, so that distances are plain ones


class Ratio(NamedTuple):
    """The greedy action and how far the nearest alternative is."""

    greedy: Array  # ()    index; the first of equals
    glr: Array  # ()    infinite when there is nothing to decide
    tied: Array  # ()    whether another action is within the tie tolerance
    twin: Array  # ()    whether another action has the greedy one's embedding


@seeds_last
def score(root: Array, theta: Array, phi: Array) -> Scores:
    """Values, norms and whitened embeddings of phi (A, d) under S (d, d) and theta (d,)."""
    whitened = rows_times(phi, root)  # (A, d)
    norms = jnp.sqrt((whitened * whitened).sum(1))
    return Scores((phi * theta[None]).sum(1), norms, whitened)


@seeds_last
def ratio(scores: Scores, mask: Array, tie: Array) -> Ratio:
    """The likelihood ratio of one context over its available actions (mask (A,))."""
    values = jnp.where(mask, scores.values, -jnp.inf)
    greedy = jnp.argmax(values, axis=0)
    is_greedy = indices(values.shape[0], values) == greedy  # (A,)
    best = (scores.whitened * is_greedy[:, None]).sum(0)  # (d,)
    squared = ((best[None] - scores.whitened) ** 2).sum(1)  # (A,)  of the distance
    reference = (scores.norms * is_greedy).sum(0)
    same = squared <= (SAME_EMBEDDING * (reference + scores.norms)) ** 2
    rival = mask & ~is_greedy & ~same
    gap = values.max(0) - jnp.where(mask, scores.values, 0.0)
    ratios = jnp.where(rival, gap**2 / jnp.where(rival, squared, 1.0), jnp.inf)
    tied, twin = (rival & (gap < tie)).any(0), (mask & ~is_greedy & same).any(0)
    return Ratio(greedy, jnp.sqrt(ratios.min(0)), tied, twin)


@in_float64
def glr(phi: Any, theta: Any, *, V: Any, mask: Any = None) -> float:
    """The generalized likelihood ratio of one context.

    Args:
        phi: Embedding of every action, (n_actions, dim).
        theta: Ridge estimate, (dim,).
        V: Design matrix lam I + sum phi phi^T, (dim, dim).
        mask: Which actions are available, (n_actions,); all by default.

    Returns:
        The ratio of Eq. 3; infinite when only one action is available or all embeddings agree.

    Example:
        >>> import banditsrl
        >>> phi, theta, V = [[1.0, 0.0], [0.0, 1.0]], [1.0, 0.5], [[4.0, 0.0], [0.0, 4.0]]
        >>> round(banditsrl.glr(phi, theta, V=V), 6)
        0.707107
    """
    phi = finite_array("phi", phi, "(n_actions, dim)")
    theta = finite_array("theta", theta, "(dim,)")
    V = finite_array("V", V, "(dim, dim)")
    if theta.shape != phi.shape[1:] or V.shape != 2 * phi.shape[1:]:
        raise InvalidArgument(
            f"phi, theta and V must agree on dim, got shapes {phi.shape}, {theta.shape}, {V.shape}."
        )
    asymmetry = np.abs(V - V.T).max()
    if asymmetry > SYMMETRIC * np.abs(V).max():
        raise InvalidArgument(f"V must be symmetric, got entries that differ by {asymmetry:.3g}.")
    available = check_mask(mask, phi.shape[0])
    try:
        lower = np.linalg.cholesky((V + V.T) / 2.0)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh((V + V.T) / 2.0)[0]
        raise InvalidArgument(
            f"V must be positive definite, got a smallest eigenvalue of {smallest:.3g}."
        ) from None
    return float(_glr(lower, theta, phi, available))


@jax.jit
def _glr(lower: Array, theta: Array, phi: Array, mask: Array) -> Array:
    """From the Cholesky factor of V."""
    root = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(lower)), lower=True).T
    found: Ratio = ratio(score(root, theta, phi), mask, jnp.zeros(()))
    return found.glr
