"""What do the rewards seen so far say about theta? Ridge statistics of one representation.

The statistics determine the estimate, every confidence width, and the squared error of *any*
parameter, so no policy ever needs to look back at its history for them. V^-1 is kept as a square
root, V^-1 = S S^T, updated by a rank-one formula (Potter's): ||phi||_{V^-1} is then the plain norm
of S^T phi, which can not become negative, and S is what Thompson sampling multiplies its noise
with. A step costs O(d^2); `refreshed` recomputes S from V, against drift, as the symmetric root:
it is the only one that does not jump when V moves by a rounding error.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from banditsrl.linear.spectra import Spectrum, spectrum
from banditsrl.numerics.seed_axis import MAX_UNROLLED, matrix_times, seeds_last

REFRESH_GROWTH = 8.0
"""Statistics are refreshed each time their number has grown by this factor.

After a million steps the drift is near 1e-12 then, as it is with a refresh at every doubling.
"""


class Ridge(NamedTuple):
    """Sufficient statistics of ridge regression on one representation of dimension d.

    A candidate that is padded with zeros up to d has V = lam I, theta = 0 on the padding, which
    changes none of the quantities below.
    """

    V: Array  # (d, d)  lam I + sum phi phi^T
    root: Array  # (d, d)  S with S S^T = V^-1
    b: Array  # (d,)    sum phi y
    theta: Array  # (d,)    V^-1 b
    log_det: Array  # ()      log det V - log det(lam I)
    n: Array  # ()      number of samples
    yy: Array  # ()      sum y^2


def empty(dim: int, lam: float) -> Ridge:
    """The statistics before any sample."""
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
def observed(ridge: Ridge, phi: Array, reward: Array) -> Ridge:
    """The statistics after one more sample (phi (d,), reward ())."""
    w = matrix_times(jnp.swapaxes(ridge.root, 0, 1), phi)  # (d,)  S^T phi
    gain = _gain(ridge.root, w)  # (d,)  V^-1 phi
    ww = (w * w).sum(0)
    error = reward - (phi * ridge.theta).sum(0)
    # (I - k w w^T) is the symmetric square root of I - w w^T / (1 + w.w), with this k:
    k = 1.0 / (1.0 + ww + jnp.sqrt(1.0 + ww))
    return Ridge(
        V=ridge.V + phi[:, None] * phi[None],
        root=ridge.root - gain[:, None] * (k * w)[None],
        b=ridge.b + phi * reward,
        theta=ridge.theta + gain * (error / (1.0 + ww)),
        log_det=ridge.log_det + jnp.log1p(ww),
        n=ridge.n + 1.0,
        yy=ridge.yy + reward * reward,
    )


def _gain(root: Array, w: Array) -> Array:
    """`root @ w`; for short ones as a sum, lest it be fused into every column of the update."""
    if w.shape[0] > MAX_UNROLLED:
        return matrix_times(root, w)
    return (root * w[None]).sum(1)


def from_spectrum(
    found: Spectrum, gram: Array, b: Array, n: Array, yy: Array, *, lam: float
) -> Ridge:
    """The statistics from `gram` = sum phi phi^T, its spectrum, and the other sums."""
    shifted = jnp.maximum(found.values, 0.0) + lam
    root = (found.vectors / jnp.sqrt(shifted)) @ found.vectors.T  # (d, d)
    return Ridge(
        V=gram + lam * jnp.eye(gram.shape[0], dtype=jnp.float64),
        root=root,
        b=b,
        theta=root @ (root @ b),
        log_det=jnp.log(shifted / lam).sum(),
        n=n,
        yy=yy,
    )


def refreshed(ridge: Ridge, *, lam: float) -> Ridge:
    """The same statistics with S, theta and log det recomputed from V and b."""
    gram = ridge.V - lam * jnp.eye(ridge.b.shape[0], dtype=jnp.float64)
    return from_spectrum(spectrum(gram), gram, ridge.b, ridge.n, ridge.yy, lam=lam)


def cropped(ridge: Ridge, dim: int) -> Ridge:
    """The same statistics without the padding beyond `dim`; undoes `padded`."""
    return ridge._replace(
        V=ridge.V[:dim, :dim],
        root=ridge.root[:dim, :dim],
        b=ridge.b[:dim],
        theta=ridge.theta[:dim],
    )


def padded(ridge: Ridge, dim: int, *, lam: float) -> Ridge:
    """The same statistics of features with zeros appended up to `dim`."""
    rest = jnp.eye(dim, dtype=jnp.float64)[:, ridge.b.shape[0] :]
    return ridge._replace(
        V=jnp.concatenate([_tall(ridge.V, dim), lam * rest], axis=1),
        root=jnp.concatenate([_tall(ridge.root, dim), rest / jnp.sqrt(lam)], axis=1),
        b=_tall(ridge.b, dim),
        theta=_tall(ridge.theta, dim),
    )


def _tall(array: Array, dim: int) -> Array:
    return jnp.pad(array, [(0, dim - array.shape[0])] + [(0, 0)] * (array.ndim - 1))


def inverse(ridge: Ridge) -> Array:
    """V^-1 (d, d)."""
    return ridge.root @ ridge.root.T


def squared_error(ridge: Ridge, theta: Array, *, lam: float) -> Array:
    """sum_s (phi_s . theta - y_s)^2 of any theta (d,), without the data."""
    quadratic = theta @ (ridge.V @ theta) - lam * (theta @ theta)
    return ridge.yy - 2.0 * (theta @ ridge.b) + quadratic


def noise_estimate(ridge: Ridge, dim: Array) -> Array:
    """Sigma from the residuals: (RSS + d v) / n with v the raw second moment of the rewards.

    RSS includes the penalty lam ||theta||^2. The second term is what d fitted parameters could have
    absorbed; it makes the estimate larger early and vanishes as n grows. Like any estimate it may
    be too small: give sigma where it is known. Before any reward it is one.
    """
    residual = jnp.maximum(ridge.yy - (ridge.b * ridge.theta).sum(0), 0.0)
    n = jnp.maximum(ridge.n, 1.0)
    estimate = jnp.sqrt((residual + dim * ridge.yy / n) / n)
    return jnp.where(ridge.n > 0, estimate, 1.0)
