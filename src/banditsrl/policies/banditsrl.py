"""BanditSRL: select a realizable representation with a good spectrum, and know when to stop.

Algorithm 1 of the paper. Within a phase the current representation is played through the
likelihood ratio test and the base algorithm; at the end of a phase the candidate of smallest
spectral loss among those compatible with the data becomes current.
"""

import dataclasses
from dataclasses import KW_ONLY
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from banditsrl.arguments import above, one_index
from banditsrl.core.history import History
from banditsrl.core.policy import Policy, learned
from banditsrl.core.representation import Representation
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.linear.bounds import OFFSETS, phase_level
from banditsrl.linear.ridge import Ridge, cropped, empty, padded
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import look_up
from banditsrl.policies.linear_policy import LinearPolicy, known_or
from banditsrl.representations.conversion import as_representations
from banditsrl.representations.table import Table
from banditsrl.selection.certificate import CertifiedPolicy, CertifiedState, Facts
from banditsrl.selection.elimination import offset_name, smallest, weigh
from banditsrl.selection.losses import BestInClass, Loss, as_loss
from banditsrl.selection.moments import tables_only

WORTH_NARROWING = 256
"""Steps of a phase from which on it is played with smaller arrays if they are enough."""


class BanditSRL(CertifiedPolicy):
    """Bandit Spectral Representation Learner on a finite set of candidates.

    Args:
        representations: The candidates Phi; they may differ in dimension.
        base: Any no-regret algorithm. A linear policy shares the statistics; an object with
            `init/act/learn` sees the current embedding (A, d) as its context, padded with zeros to
            the largest dimension, is fed the rounds it played, and starts anew each phase (or,
            if it has a true attribute `replays`, is fed all past rounds of the new embedding).
        loss: "eig", "weak", "weak-normalised", "span", "bic", or a `Loss`.
        gamma: Growth of the phases, t_{j+1} = ceil(gamma t_j).
        offset: "paper" (constant 40) or "tight" (the authors' experiments).

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> policy = banditsrl.BanditSRL(
        ...     problem.representations, base=banditsrl.LinUCB(), sigma=0.3
        ... )
        >>> result = banditsrl.simulate(problem, policy, horizon=4000, seeds=3)
        >>> int(result.final_representation[0])  # the HLS one
        0
    """

    representations: tuple[Representation, ...] = eqx.field(converter=as_representations)
    _: KW_ONLY
    loss: str | Loss = setting("eig", "eig, weak, weak-normalised, span, bic, or a Loss")
    gamma: float = setting(2.0, "growth of the phases")
    offset: str | None = setting(None, "paper or tight; by the conventions when None")
    _width: int | None = setting(None, "length of padded embeddings, while a phase is narrowed")

    def __check_init__(self) -> None:
        above("gamma", self.gamma, 1.0)
        OFFSETS[self._offset]
        loss = self._loss
        if isinstance(loss, BestInClass) and loss.regret is None:
            raise InvalidArgument(
                "loss bic needs a regret bound, and the base must have worst_case_regret, got none."
            )

    # Sizes and bounds of the candidates, padded to the largest dimension.

    @property
    def n_candidates(self) -> int:
        """M = |Phi|."""
        return len(self.representations)

    @property
    def padded_dim(self) -> int:
        """The dimension to which embeddings are padded."""
        return self._width or max(r.dim for r in self.representations)

    @property
    def dims(self) -> NDArray[np.float64]:
        """D of every candidate, (M,)."""
        return np.array([float(r.dim) for r in self.representations])

    @property
    def phase_growth(self) -> float | None:
        """Gamma."""
        return self.gamma

    @property
    def uses_history(self) -> bool:
        """All candidates are fitted to all rounds, unless there is only one."""
        return self.n_candidates > 1

    @in_float64
    def init(self, key: Array) -> CertifiedState:
        """Empty statistics of a first representation, drawn by the key (authors: the first)."""
        base_key = jax.random.fold_in(key, 1)
        m = jax.random.randint(key, (), 0, self.n_candidates, dtype=jnp.int32)
        first = jnp.zeros_like(m) if self.authors else m
        return CertifiedState(
            ridge=empty(self.padded_dim, self.settings.lam),
            base=self.fresh_base(self.padded_dim, base_key),
            representation=first,
            active=jnp.ones(self.n_candidates, dtype=bool),
            phase=jnp.zeros((), dtype=jnp.int32),
            largest_norm=jnp.zeros(self.n_candidates, dtype=jnp.float64),
            loss=jnp.full((), jnp.nan, dtype=jnp.float64),
            lambda_min=jnp.full((), jnp.nan, dtype=jnp.float64),
        )

    def embed(self, state: CertifiedState, context: Any) -> Array:
        """The current candidate's embedding, padded, (A, d)."""
        return self.embed_by(context, state.representation)

    def embed_by(self, context: Any, m: Array) -> Array:
        """Candidate m's embedding of a context, padded with zeros, (A, d)."""
        if tables_only(self.representations):
            tables = self._stacked  # (M, X, A, d)
            one_index("context", context, tables.shape[1])
            each = tables.reshape(-1, *tables.shape[2:])
            return look_up(each, m * tables.shape[1] + context)
        return jnp.stack([self._wide(r.embed(context)) for r in self.representations])[m]

    def facts(self, state: CertifiedState) -> Facts:
        """Dimension and bounds of the current candidate."""
        norm = jnp.sqrt((state.ridge.theta**2).sum())
        L = [known_or(r.L, state.largest_norm[k]) for k, r in enumerate(self.representations)]
        B = [known_or(r.B, norm) for r in self.representations]
        m = state.representation
        return Facts(jnp.asarray(self.dims)[m], jnp.stack(L)[m], jnp.stack(B)[m])

    def levels(self, state: CertifiedState) -> tuple[Array, Array]:
        """Delta / |Phi| for the test, delta_j / |Phi| for the base; delta for one candidate."""
        delta = self.decayed_delta(state)
        if self.authors or self.n_candidates == 1:
            return delta, delta
        base = phase_level(state.phase, delta)
        return delta / self.n_candidates, base / self.n_candidates

    def base_context(self, context: Any, phi: Array) -> Any:
        """The base sees the current embedding."""
        del context
        return phi

    def seen(self, state: CertifiedState, phi: Array) -> Array:
        """Norms of embeddings whose bound is not known; the others are filled in at phases."""
        if all(isinstance(r, Table) for r in self.representations):
            return state.largest_norm
        norm = jnp.sqrt((phi * phi).sum(-1)).max()
        return state.largest_norm.at[state.representation].max(norm)

    # The end of a phase.

    @in_float64
    def refresh(self, state: CertifiedState, history: History, key: Array) -> CertifiedState:
        """Select the next representation and rebuild its statistics from all past rounds."""
        if self.n_candidates == 1:
            return self.undrifted(state)
        _agree(state, history)
        select_key, base_key = jax.random.split(key)
        _, level = self.levels(state._replace(phase=state.phase + 1))
        weighed = weigh(
            self.representations,
            history,
            lam=self.settings.lam,
            sigma=self.settings.sigma,
            delta=self.decayed_delta(state),
            level=level,
            offset=self._offset,
            in_ball=not self.authors,
            loss=self._loss,
            among=state.active if self.authors else None,  # theirs leave for good
        )
        evidence = weighed.evidence
        losses = self._loss(evidence)
        chosen = smallest(losses, self._loss, evidence, select_key)
        return CertifiedState(
            ridge=weighed.fits.ridge(chosen),
            base=self._next_base(history, chosen, base_key),
            representation=chosen,
            active=evidence.active,
            phase=state.phase + 1,
            largest_norm=weighed.largest_norms,
            loss=losses[chosen],
            lambda_min=evidence.lambda_min[chosen],
        )

    # Most candidates are smaller than the largest: a long phase that plays only small ones is
    # played with arrays of their size. What is left out is zero, so the choices are the same.

    def narrowed(self, report: dict[str, Any], n_steps: int) -> "BanditSRL":
        """With embeddings padded only to the largest candidate in use, if that is worth it."""
        needed = int(self.dims[np.asarray(report["representation"])].max())
        linear = isinstance(self.base, LinearPolicy)
        if not linear or n_steps < WORTH_NARROWING or 2 * needed > self.padded_dim:
            return self
        return dataclasses.replace(self, _width=needed)

    @in_float64
    def moved(self, state: CertifiedState, other: Policy) -> CertifiedState:
        """The statistics, cut or padded to the other's dimension."""
        dim, lam = cast(BanditSRL, other).padded_dim, self.settings.lam

        def resized(ridge: Ridge) -> Ridge:
            return cropped(ridge, dim) if dim < self.padded_dim else padded(ridge, dim, lam=lam)

        if dim == self.padded_dim:
            return state
        base = resized(state.base) if isinstance(state.base, Ridge) else state.base
        return state._replace(ridge=resized(state.ridge), base=base)

    def _next_base(self, history: History, m: Array, key: Array) -> Any:
        fresh = self.fresh_base(self.padded_dim, key)
        if self.shares or not getattr(self.base, "replays", False):
            return fresh

        def round_(i: Array, base: Any) -> Any:
            context = jax.tree.map(lambda buffer: buffer[i], history.contexts)
            phi = self.embed_by(context, m)
            return learned(self.base, base, phi, history.actions[i], history.rewards[i], False)

        return jax.lax.fori_loop(0, history.n, round_, fresh)

    @property
    def _offset(self) -> str:
        return offset_name(self.offset, authors=self.authors)

    @property
    def _loss(self) -> Loss:
        return as_loss(self.loss, self.base)

    @property
    def _stacked(self) -> Array:
        """All tables, padded, (M, X, A, d)."""
        tables = [r.features for r in self.representations if isinstance(r, Table)]
        return jnp.stack([self._wide(jnp.asarray(features)) for features in tables])

    def _wide(self, phi: Array) -> Array:
        """`phi` (..., d) cut or padded with zeros to the common dimension."""
        missing = max(self.padded_dim - phi.shape[-1], 0)
        cut = phi[..., : self.padded_dim]
        return jnp.pad(cut, [(0, 0)] * (phi.ndim - 1) + [(0, missing)])


def _agree(state: CertifiedState, history: History) -> None:
    """Refuse a history of other rounds than the state has learned, where that is known now."""
    n = (history.n, state.ridge.n)
    if not any(isinstance(number, jax.core.Tracer) for number in n) and int(n[0]) != int(n[1]):
        raise InvalidArgument(
            f"history must hold the {int(n[1])} rounds that the state has learned, got {int(n[0])}."
        )
