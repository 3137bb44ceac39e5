"""How is a linear reward model fitted in one pass, once for each fold? From sums over its rounds.

With features z of dimension d (`ridge_features.py`), the sums G = sum z z^T, c = sum z r and sum
r^2 are kept for every fold and action. Sums over several folds are sums of these, so that models
without a fold, and their squared errors on it, cost no further pass.

The model is ridge regression per action, shrunk towards what all actions have in common. With
columns in units of their standard deviations,

    theta_0 = argmin sum over all rounds (r - z . theta)^2 + lam_0 |slopes|^2
    theta_a = theta_0 + argmin sum over rounds of a (r - z . (theta_0 + u))^2 + lam |slopes of u|^2
              + (intercept of u)^2

where the slopes of products are penalised by a further factor. An action that was never played is
predicted by theta_0. The penalties are those of least squared error on folds that were left out,
one after the other; a model for fold k chooses them without k. Whether there are hinges is chosen
in the same way.
"""

from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.estimation.ridge_features import choose_features

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COMMON_PENALTIES = (3.0, 300.0)
"""Candidates for lam_0, in rounds."""

OWN_PENALTIES = (3.0, 30.0, 300.0, 1e9)
"""Candidates for lam, in rounds; the last one leaves an action its own intercept only."""

TINY_PENALTY = 1e-9
"""Penalty of the shared intercept: it only keeps the equations solvable without rounds."""

MOST_BYTES = 2**30
"""Most memory for sums."""

NO_SPREAD = 1e-12
"""A column whose variance is below this share of its mean square is constant."""


class Sums(NamedTuple):
    """Sums over rounds; a leading axis of folds may come before these axes."""

    gram: Floats  # (A, d, d)
    cross: Floats  # (A, d)
    squares: Floats  # (A,)


class RidgeSums:
    """Sums for every fold and action, filled batch by batch."""

    def __init__(self, n_folds: int, n_actions: int, n_columns: int) -> None:
        self.features = choose_features(n_folds, n_actions, n_columns)
        d = self.features.dim
        if 8 * n_folds * n_actions * d * d > MOST_BYTES:
            raise InvalidArgument(
                "folds * actions * columns^2 must be at most 134 million for a ridge model, got "
                f"{n_folds} folds, {n_actions} actions and {n_columns} columns."
            )
        self.n_actions = n_actions
        self.sums = Sums(
            np.zeros((n_folds, n_actions, d, d)),
            np.zeros((n_folds, n_actions, d)),
            np.zeros((n_folds, n_actions)),
        )

    def add(self, folds: Ints, actions: Ints, z: Floats, rewards: Floats) -> None:
        """Add rounds, with z of shape (n, d)."""
        cells = folds * self.n_actions + actions
        order = np.argsort(cells, kind="stable")
        present, starts = np.unique(cells[order], return_index=True)
        for cell, rows in zip(present, np.split(order, starts[1:]), strict=True):
            at = divmod(int(cell), self.n_actions)
            some, earned = z[rows], rewards[rows]
            self.sums.gram[at] += some.T @ some
            self.sums.cross[at] += some.T @ earned
            self.sums.squares[at] += earned @ earned

    def without(self, *left_out: int) -> Sums:
        """Return the sums over all folds but these."""
        kept = [k for k in range(len(self.sums.gram)) if k not in left_out]
        return Sums(*(part[kept].sum(axis=0) for part in self.sums))

    def only(self, fold: int) -> Sums:
        """Return the sums over one fold."""
        return Sums(*(part[fold] for part in self.sums))

    def plain(self) -> "RidgeSums":
        """Return the same sums without those of hinges, which are the last features."""
        found, d = copy(self), self.features.n_plain
        found.features = self.features._replace(n_hinges=0)
        gram, cross, squares = self.sums
        found.sums = Sums(gram[..., :d, :d], cross[..., :d], squares)
        return found

    def fit(self, *left_out: int) -> Floats:
        """Return the coefficients (A, d) of a model that has not seen the given folds.

        The penalties, and whether hinges are used, are those of least squared error on folds left
        out, of those that may be seen.
        """
        error, theta = self._fit_best(left_out)
        if self.features.n_hinges:
            plain_error, plain = self.plain()._fit_best(left_out)
            if plain_error <= error:
                return np.pad(plain, [(0, 0), (0, self.features.n_hinges)])
        return theta

    def _fit_best(self, left_out: tuple[int, ...]) -> tuple[float, Floats]:
        """Return the least squared error over penalties, and the coefficients (A, d)."""
        seen = [fold for fold in range(len(self.sums.gram)) if fold not in left_out]
        shapes = self.features.penalty_shapes
        errors = sum(
            squared_errors(self.only(fold), fit_grid(self.without(fold, *left_out), shapes))
            for fold in seen
        )
        best = np.unravel_index(int(np.argmin(errors)), np.shape(errors))
        theta = fit_grid(self.without(*left_out), shapes)[best]
        return float(np.asarray(errors)[best]), np.asarray(theta)


def fit_grid(sums: Sums, shapes: Floats) -> Floats:
    """Return the coefficients for all penalties, (Q, C, P, A, d), with relative ones (Q, d)."""
    scaling = _standardise(sums.gram.sum(axis=0))
    gram, cross = scaling @ sums.gram @ scaling.T, sums.cross @ scaling.T
    common = _penalise(gram.sum(axis=0), shapes, COMMON_PENALTIES, TINY_PENALTY)  # (Q, C, d, d)
    shared = np.linalg.solve(common, cross.sum(axis=0)[:, None])[..., 0]  # (Q, C, d)
    rest = cross - (gram @ shared[:, :, None, :, None])[..., 0]  # (Q, C, A, d)
    own = _penalise(gram[:, None, None], shapes, OWN_PENALTIES, 1.0)  # (A, Q, P, d, d)
    right = rest.transpose(2, 0, 3, 1)[:, :, None]  # (A, Q, 1, d, C)
    found = np.linalg.solve(own, np.broadcast_to(right, (*own.shape[:4], right.shape[-1])))
    theta = shared[:, :, None, None] + found.transpose(1, 4, 2, 0, 3)
    return np.asarray(theta @ scaling)


def squared_errors(sums: Sums, theta: Floats) -> Floats:
    """Return the sum of (r - z . theta_a)^2 over rounds, (...), with theta (..., A, d)."""
    flat = np.moveaxis(theta.reshape(-1, *theta.shape[-2:]), 1, 0)  # (A, k, d)
    errors = (flat @ sums.gram * flat).sum(axis=(0, 2))
    errors -= 2.0 * (flat @ sums.cross[..., None]).sum(axis=(0, 2))
    return np.asarray(sums.squares.sum() + errors.reshape(theta.shape[:-2]))


def _penalise(
    gram: Floats, shapes: Floats, penalties: tuple[float, ...], intercept: float
) -> Floats:
    """Return gram (..., d, d) with penalties on its diagonal, (..., Q, P, d, d)."""
    diagonals = np.multiply.outer(np.array(penalties), shapes).transpose(1, 0, 2)  # (Q, P, d)
    diagonals[..., 0] = intercept
    return np.asarray(gram + diagonals[..., None] * np.eye(gram.shape[-1]))


def _standardise(gram: Floats) -> Floats:
    """Return the M (d, d) for which M z has columns of mean 0 and variance 1 besides its first."""
    n = max(float(gram[0, 0]), 1.0)
    mean, squares = gram[0, 1:] / n, np.diagonal(gram)[1:] / n
    variance = squares - mean**2
    scale = np.where(variance > NO_SPREAD * squares, np.sqrt(np.maximum(variance, 0.0)), np.inf)
    scaling = np.eye(len(gram))
    scaling[1:, 1:] = np.diag(1.0 / scale)
    scaling[1:, 0] = -mean / scale
    return scaling
