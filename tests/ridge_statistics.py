"""Ridge statistics of random samples, computed by NumPy from the definitions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from banditsrl.linear.ridge import Ridge


def statistics_of(phi: Any, rewards: Any, lam: float) -> Ridge:
    """The statistics of samples phi (n, d) with rewards (n,)."""
    n, dim = phi.shape
    V = lam * np.eye(dim) + phi.T @ phi
    b = phi.T @ rewards
    parts = {
        "V": V,
        "root": np.linalg.cholesky(np.linalg.inv(V)),
        "b": b,
        "theta": np.linalg.solve(V, b),
        "log_det": np.linalg.slogdet(V)[1] - dim * np.log(lam),
        "n": float(n),
        "yy": rewards @ rewards,
    }
    with jax.enable_x64(True):
        return Ridge(**{name: jnp.asarray(part, jnp.float64) for name, part in parts.items()})


def random_statistics(seed: int, *, n: int, dim: int, lam: float) -> Ridge:
    """The statistics of n random samples, whose rewards are linear up to noise."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(n, dim))
    return statistics_of(phi, phi @ rng.normal(size=dim) + 0.3 * rng.normal(size=n), lam)
