"""What do logged rounds show about an embedding in blocks? All of it, computed block by block.

Where every action has a parameter of its own, the embedding of action a is the vector psi(x), of
dimension k, copied into block a and zero elsewhere. Written out for n rounds and A actions, it has
n A (A k) numbers. Nothing of that is needed: the second moment of such features is block-diagonal,
so its eigenvalues are those of A small matrices, singular values of the whole are those of the
rows of each action, and a ridge fit is A separate fits. Memory grows with n k + A k^2.

The numbers are those that `log_diagnosis.py` finds in the embedding that is written out.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.theory.column_scales import RANK_TOLERANCE, column_scales

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class BlockSpectra(NamedTuple):
    """Which directions features in blocks span; d = A k."""

    rank: int  # dimension of the span of the features of all actions
    played: Floats  # (d,) eigenvalues of the second moment of the played features, ascending
    greedy: Floats  # (d,) the same for the greedy actions
    played_rank: int
    greedy_rank: int
    L: float  # largest norm of a feature


class BlockFit(NamedTuple):
    """A ridge fit with one parameter per action."""

    theta: Floats  # (A, k)
    location: float  # what was subtracted from the targets, and is added to predictions

    def predict(self, psi: Floats) -> Floats:
        """Return the prediction of every action for rows psi (n, k), (n, A)."""
        return np.asarray(psi @ self.theta.T + self.location)


def rows_by_action(actions: Ints, n_actions: int) -> list[Ints]:
    """Return the places of the rounds of each action, in the order of the log."""
    order = np.argsort(actions, kind="stable")
    ends = np.searchsorted(actions[order], np.arange(1, n_actions))
    return np.split(order, ends)


def fit_blocks(
    psi: Floats, actions: Ints, targets: Floats, *, n_actions: int, lam: float, location: float
) -> BlockFit:
    """Return the ridge fit of each action to its own rounds, shrunk towards a location.

    Args:
        psi: The vector that all actions share, (n, k).
        actions: The actions that were played, (n,).
        targets: What is to be predicted, (n,).
        n_actions: Number of actions A.
        lam: Ridge parameter lambda.
        location: What an action without rounds is predicted to earn.
    """
    k = psi.shape[1]
    theta = np.zeros((n_actions, k))
    for action, places in enumerate(rows_by_action(actions, n_actions)):
        rows = psi[places]
        gram = rows.T @ rows + lam * np.eye(k)
        theta[action] = np.linalg.solve(gram, rows.T @ (targets[places] - location))
    return BlockFit(theta, location)


def choose_greedy(values: Floats, available: Bools | None) -> Ints:
    """Return the available action of largest value in each round, (n,), from values (n, A)."""
    allowed = values if available is None else np.where(available, values, -np.inf)
    return np.asarray(allowed.argmax(axis=1), dtype=np.int64)


def measure_blocks(
    psi: Floats, actions: Ints, greedy: Ints, *, n_actions: int, available: Bools | None = None
) -> BlockSpectra:
    """Return spectra and ranks of features in blocks.

    Args:
        psi: The vector that all actions share, (n, k).
        actions: The actions that were played, (n,).
        greedy: The greedy actions, (n,).
        n_actions: Number of actions A.
        available: Which actions were available, (n, A); None if all were.
    """
    played_rows = rows_by_action(actions, n_actions)
    greedy_rows = rows_by_action(greedy, n_actions)
    if available is None:
        rank = n_actions * count_rank(psi, [np.arange(len(psi))])
    else:
        rank = count_rank(psi, [np.flatnonzero(column) for column in available.T])
    return BlockSpectra(
        rank=rank,
        played=_eigenvalues(psi, played_rows),
        greedy=_eigenvalues(psi, greedy_rows),
        played_rank=count_rank(psi, played_rows),
        greedy_rank=count_rank(psi, greedy_rows),
        L=float(np.sqrt(np.square(psi).sum(axis=1).max())),
    )


def count_rank(psi: Floats, blocks: Sequence[Ints]) -> int:
    """Return the dimension of the span of features in blocks, which hold these rows of psi."""
    none = np.zeros(len(psi))
    values = [factor.values for factor in _factorise(psi, none, blocks)]
    together = np.concatenate(values)
    return int((together > RANK_TOLERANCE * together.max(initial=0.0)).sum())


def fit_residuals(
    psi: Floats, actions: Ints, targets: Floats, *, n_actions: int
) -> tuple[Floats, int]:
    """Return the residuals of the least-squares fit, (n,), and their degrees of freedom."""
    blocks = rows_by_action(actions, n_actions)
    factors = list(_factorise(psi, targets, blocks))
    cutoff = RANK_TOLERANCE * max((f.values.max(initial=0.0) for f in factors), default=0.0)
    residuals, rank = np.array(targets), 0
    for places, factor in zip(blocks, factors, strict=True):
        counts = factor.values > cutoff
        parts = factor.images[counts] / factor.values[counts]
        theta = parts @ factor.directions[counts] / factor.scales
        residuals[places] -= psi[places] @ theta
        rank += int(counts.sum())
    return residuals, len(targets) - rank


class _Factor(NamedTuple):
    """Singular values of the rows of one block, in units of each column."""

    values: Floats  # (r,)
    directions: Floats  # (r, k)
    images: Floats  # (r,) the targets along the left singular vectors
    scales: Floats  # (k,)


def _factorise(psi: Floats, targets: Floats, blocks: Sequence[Ints]) -> Iterator[_Factor]:
    """Yield the factors of every block; a triangle replaces the rows, of which there are more."""
    k = psi.shape[1]
    largest = np.stack([np.abs(psi[places]).max(axis=0, initial=0.0) for places in blocks])
    scales = column_scales(largest.reshape(1, -1)).reshape(largest.shape)  # (blocks, k)
    for places, scale in zip(blocks, scales, strict=True):
        together = np.column_stack([psi[places] / scale, targets[places]])
        triangle: Floats = np.asarray(np.linalg.qr(together, mode="r"))[:k]
        left, values, directions = np.linalg.svd(triangle[:, :k], full_matrices=False)
        yield _Factor(values, directions, triangle[:, k] @ left, scale)


def _eigenvalues(psi: Floats, blocks: Sequence[Ints]) -> Floats:
    found = [np.linalg.eigvalsh(psi[places].T @ psi[places]) for places in blocks]
    return np.sort(np.concatenate(found)).clip(0.0) / len(psi)
