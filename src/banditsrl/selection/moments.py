"""What are the sums over the history for a candidate? Moments of all rounds and quadratic forms.

For tables over finitely many contexts, rounds are first counted for each pair (context, action), so
that the end of a phase costs O(X A d^2) however long the history is. Any other representation is
embedded block by block.

In every matrix product of this file both factors differ between seeds. If seeds shared a factor,
XLA would compute one product for all of them, whose last bits depend on the position of a seed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.core.history import History, Rounds, fold_blocks
from banditsrl.core.representation import Representation
from banditsrl.representations.table import Table


class Moments(NamedTuple):
    """Sums over the history for one candidate of dimension d."""

    gram: Array  # (d, d) sum phi phi^T
    b: Array  # (d,)   sum phi y
    largest_norm: Array  # ()     largest norm of all embeddings of the contexts seen
    weak: Array  # ()     min over rounds of phi_s^T gram phi_s
    weak_normalised: Array  # ()     the same divided by ||phi_s||^2


class Cells(NamedTuple):
    """The history of a finite problem, summed up for each (context, action)."""

    n: Array  # (X A,)
    y: Array  # (X A,) sum of rewards
    yy: Array  # ()     sum of squared rewards over all rounds


class HistorySums(NamedTuple):
    """The sums over the history, for all candidates."""

    moments: list[Moments]
    yy: Array  # () sum y^2
    cells: Cells | None  # None unless all candidates are tables


def sum_history(
    candidates: Sequence[Representation], history: History, *, needs_forms: bool
) -> HistorySums:
    """Return the moments of every candidate; without `needs_forms` the two forms stay zero."""
    first = candidates[0]
    if isinstance(first, Table) and are_all_tables(candidates):
        cells = _count_cells(history, len(first.features), first.n_actions)
        tables = [c for c in candidates if isinstance(c, Table)]
        found = [_moments_of_table(table, cells, needs_forms) for table in tables]
        return HistorySums(found, cells.yy, cells)
    found = [_moments_of_history(candidate, history, needs_forms) for candidate in candidates]
    return HistorySums(found, _total_squares(history), None)


def largest_uncertainty(
    candidate: Representation, history: History, cells: Cells | None, root: Array
) -> Array:
    """Return the largest ||phi_s||^2_{V^-1} over rounds, with `root` S such that S S^T = V^-1."""

    def largest(phi: Array, valid: Array) -> Array:
        return ((jnp.where(valid[:, None], phi, 0.0) @ root) ** 2).sum(-1).max()

    if isinstance(candidate, Table) and cells is not None:
        flat = jnp.asarray(candidate.features).reshape(-1, candidate.dim)
        return largest(flat, cells.n > 0)
    return fold_blocks(
        history,
        jnp.zeros((), dtype=jnp.float64),
        lambda so_far, rounds: jnp.maximum(
            so_far, largest(_embed_block(candidate, rounds)[1], rounds.valid)
        ),
    )


def are_all_tables(candidates: Sequence[Representation]) -> bool:
    """Return whether every candidate is a table over the same contexts."""
    shapes = {c.features.shape[:2] if isinstance(c, Table) else None for c in candidates}
    return len(shapes) == 1 and None not in shapes


def _total_squares(history: History) -> Array:
    return fold_blocks(
        history,
        jnp.zeros((), dtype=jnp.float64),
        lambda total, rounds: total + jnp.where(rounds.valid, rounds.rewards**2, 0.0).sum(),
    )


def _count_cells(history: History, n_contexts: int, n_actions: int) -> Cells:
    def step(carry: Cells, rounds: Rounds) -> Cells:
        at = rounds.contexts * n_actions + rounds.actions
        rewards = jnp.where(rounds.valid, rounds.rewards, 0.0)
        return Cells(
            carry.n.at[at].add(rounds.valid.astype(jnp.float64)),
            carry.y.at[at].add(rewards),
            carry.yy + (rewards**2).sum(),
        )

    zeros = jnp.zeros(n_contexts * n_actions, dtype=jnp.float64)
    return fold_blocks(history, Cells(zeros, zeros, jnp.zeros(())), step)


def _moments_of_table(table: Table, cells: Cells, needs_forms: bool) -> Moments:
    flat = jnp.asarray(table.features).reshape(-1, table.dim)  # (X A, d)
    played = flat * jnp.sqrt(cells.n)[:, None]
    gram = played.T @ played
    forms = (jnp.zeros(()), jnp.zeros(()))
    if needs_forms:
        forms = _smallest_forms(flat, gram, cells.n > 0)
    b = (flat * cells.y[:, None]).sum(0)
    return Moments(gram, b, jnp.asarray(table.L, jnp.float64), *forms)


def _moments_of_history(candidate: Representation, history: History, needs_forms: bool) -> Moments:
    start = (jnp.zeros((candidate.dim, candidate.dim)), jnp.zeros(candidate.dim), jnp.zeros(()))

    def add(carry: tuple[Array, Array, Array], rounds: Rounds) -> tuple[Array, Array, Array]:
        phi, played = _embed_block(candidate, rounds)
        norms = jnp.sqrt((phi * phi).sum(-1))
        rewards = jnp.where(rounds.valid, rounds.rewards, 0.0)
        gram, b, largest = carry
        return gram + played.T @ played, b + played.T @ rewards, jnp.maximum(largest, norms.max())

    gram, b, largest = fold_blocks(history, start, add)
    forms = (jnp.zeros(()), jnp.zeros(()))
    if needs_forms:
        forms = _smallest_forms_of_history(candidate, history, gram)
    return Moments(gram, b, largest, *forms)


def _smallest_forms_of_history(
    candidate: Representation, history: History, gram: Array
) -> tuple[Array, Array]:
    def step(carry: tuple[Array, Array], rounds: Rounds) -> tuple[Array, Array]:
        _, played = _embed_block(candidate, rounds)
        plain, unit = _smallest_forms(played, gram, rounds.valid)
        return jnp.minimum(carry[0], plain), jnp.minimum(carry[1], unit)

    return fold_blocks(history, (jnp.full((), jnp.inf), jnp.full((), jnp.inf)), step)


def _embed_block(candidate: Representation, rounds: Rounds) -> tuple[Array, Array]:
    """Return all embeddings of a block (block, A, d) and the played ones (block, d)."""
    phi = jax.vmap(candidate.embed)(rounds.contexts)
    phi = jnp.where(rounds.valid[:, None, None], phi, 0.0)
    return phi, jnp.take_along_axis(phi, rounds.actions[:, None, None], axis=1)[:, 0]


def _smallest_forms(phi: Array, gram: Array, valid: Array) -> tuple[Array, Array]:
    """Return the smallest phi^T gram phi, and the smallest of phi / ||phi|| (0 if phi is 0)."""
    played = jnp.where(valid[:, None], phi, 0.0)
    forms = ((played @ gram) * played).sum(-1)
    norms = (played * played).sum(-1)
    unit = forms / jnp.where(norms > 0, norms, 1.0)
    plain = jnp.where(valid, forms, jnp.inf).min()
    return plain, jnp.where(valid, unit, jnp.inf).min()
