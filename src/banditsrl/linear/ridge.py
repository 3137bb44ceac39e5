"""What do the rewards seen so far say about theta? Ridge regression on one representation.

The statistics determine the estimate, every confidence width, and the squared error of *any*
parameter, so that a policy need not look at its history for these. V^-1 is stored as a square root
S with S S^T = V^-1, which Potter's rank-one formula updates in O(d^2). The width ||phi||_{V^-1} is
then the Euclidean norm of S^T phi, which rounding cannot make negative, and Thompson sampling
multiplies its noise by S. `recompute` removes accumulated rounding errors; it takes the symmetric
square root, the only one that changes continuously with V.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from banditsrl.errors import InvalidArgument
from banditsrl.linear.spectra import Spectrum, decompose
from banditsrl.numerics.seed_axis import MAX_UNROLLED, matrix_times, seeds_last

REFRESH_GROWTH = 8.0
"""Statistics are recomputed each time their number of samples has grown by this factor.

The rounding errors after a million steps are then near 1e-12, as they are with a factor of two.
"""


class Ridge(NamedTuple):
    """Sufficient statistics of ridge regression on one representation of dimension d.

    A candidate of smaller dimension may be padded with zeros up to d. On the padding V is lam I and
    theta is zero, which changes none of the quantities below.
    """

    V: Array | None  # (d, d)  lam I + sum phi phi^T; None if it is not kept
    root: Array  # (d, d)  S with S S^T = V^-1
    b: Array  # (d,)    sum phi y
    theta: Array  # (d,)    V^-1 b
    log_det: Array  # ()      log det V - log det(lam I)
    n: Array  # ()      number of samples
    yy: Array  # ()      sum y^2

    @property
    def dim(self) -> int:
        """d, with padding."""
        return int(self.b.shape[0])

    @property
    def design(self) -> Array:
        """V, (d, d), which must have been kept."""
        if self.V is None:
            raise InvalidArgument("V must have been kept in these statistics, got None.")
        return self.V

    def without_design(self) -> "Ridge":
        """Return statistics that do not keep V, which makes a step cheaper.

        V is needed only to recompute the other quantities. A policy that rebuilds its statistics
        from the history has no use for it.
        """
        return self._replace(V=None)


def empty_ridge(dim: int, lam: float) -> Ridge:
    """Return the statistics before any sample: V = lam I and b = 0."""
    eye = jnp.eye(dim, dtype=jnp.float64)
    zero = jnp.zeros((), dtype=jnp.float64)
    return Ridge(
        V=lam * eye,
        root=eye / jnp.sqrt(lam),
        b=jnp.zeros(dim, dtype=jnp.float64),
        theta=jnp.zeros(dim, dtype=jnp.float64),
        log_det=zero,
        n=zero,
        yy=zero,
    )


@seeds_last
def add_sample(ridge: Ridge, phi: Array, reward: Array) -> Ridge:
    """Return the statistics after one more sample.

    With w = S^T phi, the new V^-1 = S (I - w w^T / (1 + w.w)) S^T.

    Args:
        ridge: The statistics.
        phi: Feature of the action played, (d,).
        reward: y, ().
    """
    w = matrix_times(jnp.swapaxes(ridge.root, 0, 1), phi)  # (d,)  S^T phi
    gain = _apply_root(ridge.root, w)  # (d,)  V^-1 phi
    ww = (w * w).sum(0)
    error = reward - (phi * ridge.theta).sum(0)
    # With this k, I - k w w^T is the symmetric square root of I - w w^T / (1 + w.w).
    k = 1.0 / (1.0 + ww + jnp.sqrt(1.0 + ww))
    return Ridge(
        V=None if ridge.V is None else ridge.V + phi[:, None] * phi[None],
        root=ridge.root - gain[:, None] * (k * w)[None],
        b=ridge.b + phi * reward,
        theta=ridge.theta + gain * (error / (1.0 + ww)),
        log_det=ridge.log_det + jnp.log1p(ww),
        n=ridge.n + 1.0,
        yy=ridge.yy + reward * reward,
    )


def _apply_root(root: Array, w: Array) -> Array:
    """Return S w, (d,). A short product is a sum, which XLA does not repeat for every column."""
    if w.shape[0] > MAX_UNROLLED:
        return matrix_times(root, w)
    return (root * w[None]).sum(1)


def ridge_from_spectrum(
    spectrum: Spectrum, gram: Array, b: Array, n: Array, yy: Array, *, lam: float
) -> Ridge:
    """Return the statistics of given sums, with S = (G + lam I)^(-1/2).

    Args:
        spectrum: Eigendecomposition of G.
        gram: G = sum phi phi^T, (d, d).
        b: sum phi y, (d,).
        n: Number of samples, ().
        yy: sum y^2, ().
        lam: Ridge regulariser.
    """
    shifted = jnp.maximum(spectrum.values, 0.0) + lam
    root = (spectrum.vectors / jnp.sqrt(shifted)) @ spectrum.vectors.T  # (d, d)
    return Ridge(
        V=gram + lam * jnp.eye(gram.shape[0], dtype=jnp.float64),
        root=root,
        b=b,
        theta=root @ (root @ b),
        log_det=jnp.log(shifted / lam).sum(),
        n=n,
        yy=yy,
    )


def recompute(ridge: Ridge, *, lam: float) -> Ridge:
    """Return the statistics with S, theta and log det recomputed from V and b."""
    gram = ridge.design - lam * jnp.eye(ridge.b.shape[0], dtype=jnp.float64)
    return ridge_from_spectrum(decompose(gram), gram, ridge.b, ridge.n, ridge.yy, lam=lam)


def crop(ridge: Ridge, dim: int) -> Ridge:
    """Return the statistics of the first `dim` coordinates; the others must be padding."""
    return ridge._replace(
        V=None if ridge.V is None else ridge.V[:dim, :dim],
        root=ridge.root[:dim, :dim],
        b=ridge.b[:dim],
        theta=ridge.theta[:dim],
    )


def inverse(ridge: Ridge) -> Array:
    """Return V^-1, (d, d)."""
    return ridge.root @ ridge.root.T


def squared_error(ridge: Ridge, theta: Array, *, lam: float) -> Array:
    """Return sum_s (phi_s . theta - y_s)^2 = y.y - 2 theta.b + theta.(V - lam I).theta.

    Args:
        ridge: The statistics.
        theta: Any parameter, (d,).
        lam: The ridge regulariser that V contains.
    """
    quadratic = theta @ (ridge.design @ theta) - lam * (theta @ theta)
    return ridge.yy - 2.0 * (theta @ ridge.b) + quadratic


def estimate_noise(ridge: Ridge, dim: Array) -> Array:
    """Estimate sigma from the residuals: sigma^2 = (RSS + d v) / n.

    RSS = y.y - b.theta includes the penalty lam ||theta||^2, and v = y.y / n is the raw second
    moment of the rewards. The term d v makes up for what d fitted parameters can absorb: it makes
    early estimates larger and vanishes as n grows. Like any estimate this one may be too small;
    set sigma where it is known. Before the first reward the estimate is one.

    Args:
        ridge: The statistics.
        dim: d, without padding.
    """
    residual = jnp.maximum(ridge.yy - (ridge.b * ridge.theta).sum(0), 0.0)
    n = jnp.maximum(ridge.n, 1.0)
    estimate = jnp.sqrt((residual + dim * ridge.yy / n) / n)
    return jnp.where(ridge.n > 0, estimate, 1.0)
