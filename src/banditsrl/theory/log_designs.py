"""What does a log teach per round? Designs of two kinds of embeddings, for a forecast.

A forecast (`certificate_forecast.py`) needs the predictions for some contexts of the log, and how
the norm of a difference of two features shrinks as rounds like those of the log go on.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.theory.block_features import fit_blocks, rows_by_action
from banditsrl.theory.certificate_forecast import LAM, N_CONTEXTS, Widths

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def choose_contexts(n: int) -> Ints:
    """Return the places of the rounds whose contexts are forecast, spread evenly over n rounds."""
    return np.unique(np.linspace(0, n - 1, min(n, N_CONTEXTS)).astype(np.int64))


class BlockDesign:
    """The design of an embedding in blocks (`block_features.py`), one small matrix per action.

    Args:
        psi: The vector that all actions share, (n, k).
        actions: The actions that were played, (n,).
        rewards: Their rewards, (n,).
        n_actions: Number of actions A.
        available: Which actions were available, (n, A); None if all were.
    """

    def __init__(
        self,
        psi: Floats,
        actions: Ints,
        rewards: Floats,
        *,
        n_actions: int,
        available: Bools | None = None,
    ) -> None:
        self.n = len(psi)
        places = choose_contexts(self.n)
        fit = fit_blocks(psi, actions, rewards, n_actions=n_actions, lam=LAM, location=0.0)
        self._psi = psi[places]
        self._spectra = list(_decompose(psi, actions, n_actions))
        self.dim = n_actions * psi.shape[1]
        self.L = float(np.sqrt(np.square(psi).sum(axis=1).max()))
        self.B = float(np.linalg.norm(fit.theta))
        self.values = fit.predict(self._psi)
        self.available = _read_available(available, places, n_actions)

    def measure(self, some: slice) -> Widths:
        """Return the widths of the gaps of some contexts."""
        psi = self._psi[some]
        images = np.stack([(psi @ vectors) ** 2 for _, vectors in self._spectra], axis=1)
        return BlockWidths(images, np.stack([values for values, _ in self._spectra]))


def _read_available(available: Bools | None, places: Ints, n_actions: int) -> Bools:
    if available is None:
        return np.ones((len(places), n_actions), dtype=bool)
    return available[places]


def _decompose(psi: Floats, actions: Ints, n_actions: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield the spectrum of the second moment per round in the block of each action."""
    for places in rows_by_action(actions, n_actions):
        values, vectors = np.linalg.eigh(psi[places].T @ psi[places] / len(psi))
        yield values.clip(0.0), vectors


class BlockWidths(NamedTuple):
    """Widths of an embedding in blocks: those of the two actions add up."""

    images: Floats  # (x, A, k) squared coordinates along the eigenvectors of each block
    values: Floats  # (A, k) eigenvalues

    def squares(self, greedy: Ints, n: Floats) -> Floats:
        """Return ||phi_g - phi_a||^2 for greedy actions (x,) after rounds n (x,), (x, A)."""
        each = (self.images / (LAM + n[:, None, None] * self.values)).sum(axis=2)  # (x, A)
        return np.asarray(each + np.take_along_axis(each, greedy[:, None], axis=1))


class TableDesign:
    """The design of an embedding that is written out.

    Args:
        table: The embedding of every action in every round, (n, A, d).
        actions: The actions that were played, (n,).
        rewards: Their rewards, (n,).
    """

    def __init__(self, table: Floats, actions: Ints, rewards: Floats) -> None:
        self.n, n_actions, self.dim = table.shape
        places = choose_contexts(self.n)
        played = table[np.arange(self.n), actions]
        gram = played.T @ played
        theta = np.linalg.solve(gram + LAM * np.eye(self.dim), played.T @ rewards)
        moments, self._vectors = np.linalg.eigh(gram / self.n)
        self._moments, self._phi = moments.clip(0.0), table[places]
        self.L = float(np.linalg.norm(table, axis=-1).max())
        self.B = float(np.linalg.norm(theta))
        self.values = self._phi @ theta
        self.available = _read_available(None, places, n_actions)

    def measure(self, some: slice) -> Widths:
        """Return the widths of the gaps of some contexts."""
        return TableWidths(self._phi[some] @ self._vectors, self._moments)


class TableWidths(NamedTuple):
    """Widths of an embedding that is written out."""

    images: Floats  # (x, A, d) coordinates along the eigenvectors
    values: Floats  # (d,) eigenvalues

    def squares(self, greedy: Ints, n: Floats) -> Floats:
        """Return ||phi_g - phi_a||^2 for greedy actions (x,) after rounds n (x,), (x, A)."""
        best = np.take_along_axis(self.images, greedy[:, None, None], axis=1)
        shrunk = LAM + n[:, None, None] * self.values
        return np.asarray(((best - self.images) ** 2 / shrunk).sum(axis=2))
