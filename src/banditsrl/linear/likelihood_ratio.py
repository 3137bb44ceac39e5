"""Is the greedy action certainly the best one? The generalised likelihood ratio test.

GLR(x) = min over a != g of (phi_g - phi_a).theta / ||phi_g - phi_a||_{V^-1}, where g is the greedy
action. This is the distance, in the V norm, from the estimate to the nearest parameter for which
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
"""Two embeddings that are closer than this, relative to their V^-1 norms, count as equal."""

SYMMETRIC = 1e-9
"""V_ij and V_ji may differ by this share of the largest entry: files and sums are rounded."""


class Scores(NamedTuple):
    """Estimates and widths of every action in one context."""

    values: Array  # (A,)    phi . theta
    norms: Array  # (A,)    ||phi||_{V^-1}
    whitened: Array  # (A, d)  phi S, whose Euclidean distances are V^-1 distances of phi


class Ratio(NamedTuple):
    """The greedy action and the distance to the nearest alternative."""

    greedy: Array  # ()  index g; the first of several equal ones
    glr: Array  # ()  GLR(x); infinite when all available embeddings are equal
    tied: Array  # ()  whether the value of another embedding is within the tie tolerance
    twin: Array  # ()  whether another action has the same embedding as g


@seeds_last
def score_actions(root: Array, theta: Array, phi: Array) -> Scores:
    """Return phi . theta, ||phi||_{V^-1} and phi S of every action.

    Args:
        root: S with S S^T = V^-1, (d, d).
        theta: The estimate, (d,).
        phi: The embedding of every action, (A, d).
    """
    whitened = rows_times(phi, root)  # (A, d)
    norms = jnp.sqrt((whitened * whitened).sum(1))
    return Scores((phi * theta[None]).sum(1), norms, whitened)


@seeds_last
def likelihood_ratio(scores: Scores, mask: Array, tie: Array) -> Ratio:
    """Return the likelihood ratio of one context over its available actions.

    Args:
        scores: The scores of all actions.
        mask: Which actions are available, (A,) booleans.
        tie: Another value that is closer than this to the greedy one is a tie, ().
    """
    values = jnp.where(mask, scores.values, -jnp.inf)
    greedy = jnp.argmax(values, axis=0)
    is_greedy = indices(values.shape[0], values) == greedy  # (A,)
    best = (scores.whitened * is_greedy[:, None]).sum(0)  # (d,)
    squared = ((best[None] - scores.whitened) ** 2).sum(1)  # (A,)  ||phi_g - phi_a||^2_{V^-1}
    reference = (scores.norms * is_greedy).sum(0)
    same = squared <= (SAME_EMBEDDING * (reference + scores.norms)) ** 2
    rival = mask & ~is_greedy & ~same
    gap = values.max(0) - jnp.where(mask, scores.values, 0.0)
    ratios = jnp.where(rival, gap**2 / jnp.where(rival, squared, 1.0), jnp.inf)
    tied, twin = (rival & (gap < tie)).any(0), (mask & ~is_greedy & same).any(0)
    return Ratio(greedy, jnp.sqrt(ratios.min(0)), tied, twin)


@in_float64
def glr(phi: Any, theta: Any, *, V: Any, mask: Any = None) -> float:
    r"""Return the generalised likelihood ratio of one context.

    Args:
        phi: Embedding of every action, (n_actions, dim).
        theta: Ridge estimate, (dim,).
        V: Design matrix $\lambda I+\sum\phi\phi^\top$, (dim, dim).
        mask: Which actions are available, (n_actions,); all by default.

    Returns:
        The ratio of Eq. 3; infinite when only one action is available or all embeddings are equal.

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
    """Return the ratio, given the lower Cholesky factor of V."""
    root = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(lower)), lower=True).T
    ratio: Ratio = likelihood_ratio(score_actions(root, theta, phi), mask, jnp.zeros(()))
    return ratio.glr
