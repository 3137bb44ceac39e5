"""BanditSRL: select a realizable representation with a good spectrum, and stop exploring.

This is Algorithm 1 of the paper. Within a phase the greedy action of the current representation is
played where the likelihood ratio test passes, and the choice of the base algorithm elsewhere. At
the end of a phase the candidate with the smallest spectral loss, among those compatible with the
data, becomes current.
"""

from dataclasses import KW_ONLY
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import above, check_action, check_mask, check_reward
from banditsrl.core.history import History
from banditsrl.core.policy import Choice, State
from banditsrl.core.problem import Problem
from banditsrl.core.representation import Context, Representation
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidArgument
from banditsrl.linear.bounds import OFFSETS, phase_level
from banditsrl.linear.likelihood_ratio import likelihood_ratio, score_actions
from banditsrl.linear.ridge import Ridge, add_sample, crop, empty_ridge, recompute
from banditsrl.numerics.padding import Padding
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.base_player import Moment, keep_if_certified
from banditsrl.policies.tested_policy import PolicyAroundBase
from banditsrl.representations.conversion import as_representations
from banditsrl.selection.candidates import CandidateSet
from banditsrl.selection.certificate import Certificate, Facts
from banditsrl.selection.elimination_forecast import (
    describe_late_elimination,
    forecast_elimination,
)
from banditsrl.selection.evidence import Review, review_candidates
from banditsrl.selection.losses import (
    LOSSES,
    AnyLoss,
    BestInClass,
    Loss,
    as_loss,
    select_candidate,
)


class BanditSRLState(NamedTuple):
    """State of BanditSRL with M candidates."""

    ridge: Ridge  # statistics of the current candidate, from every round
    base: State  # the base's own state
    representation: Array  # () index of the current candidate
    active: Array  # (M,) the set Phi_t
    phase: Array  # () j
    largest_norm: Array  # (M,) largest embedding norms seen
    loss: Array  # () loss of the current candidate when it was selected; nan before
    lambda_min: Array  # () smallest eigenvalue of its Gram matrix at that time; nan before


class BanditSRL(PolicyAroundBase[BanditSRLState]):
    r"""Bandit Spectral Representation Learner on a finite set of candidates.

    Args:
        representations: The candidates Phi; they may differ in dimension.
        base: Any no-regret algorithm. A linear policy, or its name such as "linucb", shares the
            statistics. Any other object with `init`, `act` and `learn` sees the current embedding
            (A, d), padded with zeros to the largest dimension, as its context. It learns from the
            rounds that it played and starts from its initial state in each phase. If it has a true
            attribute `replays`, it learns from all past rounds in the new embedding instead.
        loss: The name of a representation loss (see `LOSSES`), a `Loss`, or a function that takes
            the `Evidence` and returns one number per candidate.
        gamma: A phase ends when the number of rounds has grown by this factor,
            $t_{j+1}=\lceil\gamma t_j\rceil$.
        offset: "tight" (the authors' experiments), "paper" (constant 40, which the paper proves),
            or None for that of the conventions. With the offset of the paper, elimination takes
            tens of thousands of steps and more, and certificates of a misspecified candidate that
            is selected until then are wrong.

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
    loss: AnyLoss = setting(
        "eig", f"Representation loss: {', '.join(LOSSES)}, a Loss, or a function of the evidence."
    )
    gamma: float = setting(2.0, "A phase ends when the number of rounds has grown by this factor.")
    offset: str | None = setting(
        "tight", "Elimination offset: tight, paper, or None for that of the conventions."
    )

    def __check_init__(self) -> None:
        above("gamma", self.gamma, 1.0)
        if self.offset is not None:
            OFFSETS[self.offset]  # those of the conventions exist
        loss = self._loss
        if isinstance(loss, BestInClass) and loss.regret is None:
            raise InvalidArgument(
                "The loss bic needs a regret bound: the base must have worst_case_regret, got none."
            )

    # One round.

    @in_float64
    def init(self, key: Array) -> BanditSRLState:
        """Return empty statistics of the first candidate to play, which is random by default."""
        base_key = jax.random.fold_in(key, 1)
        m = jax.random.randint(key, (), 0, self.n_candidates, dtype=jnp.int32)
        return BanditSRLState(
            ridge=self._drop_design(empty_ridge(self.candidates.padded_dim, self.effective.lam)),
            base=self.player.init(self.candidates.padded_dim, base_key),
            representation=jnp.zeros_like(m) if self.rules.starts_with_first else m,
            active=jnp.ones(self.n_candidates, dtype=bool),
            phase=jnp.zeros((), dtype=jnp.int32),
            largest_norm=jnp.zeros(self.n_candidates, dtype=jnp.float64),
            loss=jnp.full((), jnp.nan, dtype=jnp.float64),
            lambda_min=jnp.full((), jnp.nan, dtype=jnp.float64),
        )

    @in_float64
    def act(
        self, state: BanditSRLState, context: Context, mask: ArrayLike | None, key: Array
    ) -> Choice:
        """Play the greedy action if the test passes, otherwise the choice of the base."""
        phi = self.candidates.embed(context, state.representation)
        available = check_mask(mask, phi.shape[0])
        facts, (test_level, base_level) = self.facts(state), self.levels(state)
        ridge = state.ridge
        used = self.candidates.embed(context, state.representation, ridge.dim)
        found = score_actions(ridge.root, ridge.theta, used)
        ratio = likelihood_ratio(found, available, jnp.asarray(self.certificate.tie))
        scores = found._replace(whitened=self.candidates.pad(found.whitened))
        verdict = self.certificate.test(ridge, phi, available, facts, test_level, ratio)
        moment = Moment(phi, phi, available, ridge, base_level, facts.sigma, facts.B, scores)
        action, pmf = self.player.choose(state.base, moment, key)
        return verdict.override(action, pmf, state.representation)

    @in_float64
    def learn(
        self,
        state: BanditSRLState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> BanditSRLState:
        """Add the sample to the statistics; if the base played the round, it learns too."""
        phi = self.candidates.embed(context, state.representation)
        played, y = check_action(action, phi.shape[0]), check_reward(reward)
        played_phi = self.candidates.embed_action(
            context, state.representation, played, state.ridge.dim
        )
        taught = self.player.learn(state.base, phi, phi, played, y)
        return state._replace(
            ridge=add_sample(state.ridge, played_phi, y),
            base=keep_if_certified(certified, state.base, taught),
            largest_norm=self.candidates.update_norms(
                state.largest_norm, state.representation, phi
            ),
        )

    @in_float64
    def predict(self, state: BanditSRLState, context: Context) -> Array | None:
        """Return the ridge prediction of every action in the current embedding."""
        phi = self.candidates.embed(context, state.representation, state.ridge.dim)
        return phi @ state.ridge.theta

    # The end of a phase.

    @in_float64
    def refresh(self, state: BanditSRLState, history: History, key: Array) -> BanditSRLState:
        """Select the next candidate and rebuild its statistics from all past rounds."""
        if self.n_candidates == 1:
            ridge = recompute(state.ridge, lam=self.effective.lam)
            return state._replace(ridge=ridge, base=self.player.recompute(state.base))
        _check_same_rounds(state, history)
        select_key, base_key = jax.random.split(key)
        review = self._review(state, history)
        losses = self._loss(review.evidence)
        chosen = select_candidate(self._loss, losses, review.evidence, select_key)
        return BanditSRLState(
            ridge=self._drop_design(review.fits.ridge(chosen)),
            base=self._next_base(history, chosen, base_key),
            representation=chosen,
            active=review.evidence.active,
            phase=state.phase + 1,
            largest_norm=review.largest_norms,
            loss=losses[chosen],
            lambda_min=review.evidence.lambda_min[chosen],
        )

    def _review(self, state: BanditSRLState, history: History) -> Review:
        _, level = self.levels(state._replace(phase=state.phase + 1))
        return review_candidates(
            self.representations,
            history,
            lam=self.effective.lam,
            sigma=self.effective.sigma,
            delta=self.delta_after(state.ridge.n),
            level=level,
            offset=self._offset,
            in_ball=self.rules.fits_in_ball,
            needs_forms=self._loss.needs_forms,
            needs_uncertainty=self._loss.needs_uncertainty,
            among=state.active if self.rules.elimination_is_final else None,
        )

    def _drop_design(self, ridge: Ridge) -> Ridge:
        """Drop V: with several candidates, statistics are rebuilt from the history instead."""
        return ridge if self.n_candidates == 1 else ridge.without_design()

    def _next_base(self, history: History, m: Array, key: Array) -> State:
        """Return the base's state at the start of a phase: empty, or after all past rounds."""
        start = self.player.init(self.candidates.padded_dim, key)
        if not self.player.replays:
            return start

        def replay(i: Array, base: State) -> State:
            context = jax.tree.map(lambda buffer: buffer[i], history.contexts)
            phi = self.candidates.embed(context, m)
            return self.player.learn(base, phi, phi, history.actions[i], history.rewards[i])

        return jax.lax.fori_loop(0, history.n, replay, start)

    def report(self, state: BanditSRLState) -> dict[str, Array]:
        """Return the current candidate, its loss and smallest eigenvalue, and the set Phi_t."""
        return {
            "representation": state.representation,
            "active": state.active,
            "loss": state.loss,
            "lambda_min": state.lambda_min,
        }

    @property
    def phase_growth(self) -> float | None:
        """The growth gamma of the phases."""
        return self.gamma

    @property
    def uses_history(self) -> bool:
        """Whether there are several candidates, which are then fitted to all rounds."""
        return self.n_candidates > 1

    def foresee(self, problem: Problem, horizon: int) -> tuple[str, ...]:
        """Return one sentence if a misspecified candidate cannot be eliminated in so many steps."""
        late = forecast_elimination(
            problem, self.representations, delta=self.effective.delta, offset=self._offset
        )
        return describe_late_elimination(late, horizon, self._offset)

    # The candidates.

    @property
    def candidates(self) -> CandidateSet:
        """The candidates, padded with zeros to the largest dimension."""
        return CandidateSet(self.representations)

    @property
    def n_candidates(self) -> int:
        """M = |Phi|."""
        return len(self.representations)

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The candidates."""
        return self.representations

    @property
    def padding(self) -> Padding:
        """The statistics of the current candidate are padded to the largest dimension."""
        dims = jnp.asarray(self.candidates.dims)
        return Padding(
            size=self.candidates.padded_dim,
            used=lambda state: dims[state.representation],
            crop=lambda state, dim: state._replace(ridge=crop(state.ridge, dim)),
        )

    def largest_norms(self, state: BanditSRLState) -> Array | None:
        """Return the largest norm seen of every candidate, (M,)."""
        return state.largest_norm

    # What the test and the base need to know.

    @property
    def certificate(self) -> Certificate:
        """The test on a fixed embedding."""
        return self.make_certificate(tie=self.rules.tie_of_tables, refuses_twins=False)

    def facts(self, state: BanditSRLState) -> Facts:
        """Return dimension, bounds and noise level of the current candidate."""
        m, norms = state.representation, state.largest_norm
        return self.candidates.facts(m, state.ridge, norms, self.effective.sigma)

    def levels(self, state: BanditSRLState) -> tuple[Array, Array]:
        """Return delta / |Phi| for the test and delta_j / |Phi| for the base."""
        delta = self.delta_after(state.ridge.n)
        if self.n_candidates == 1 or not self.rules.shares_delta:
            return delta, delta
        base = phase_level(state.phase, delta)
        return delta / self.n_candidates, base / self.n_candidates

    @property
    def _offset(self) -> str:
        return self.offset or self.rules.offset

    @property
    def _loss(self) -> Loss:
        return as_loss(self.loss, self.base_policy.worst_case_regret)


def _check_same_rounds(state: BanditSRLState, history: History) -> None:
    """Refuse a history of another length than the state; compiled code cannot check this."""
    n = (history.n, state.ridge.n)
    if not any(isinstance(number, jax.core.Tracer) for number in n) and int(n[0]) != int(n[1]):
        raise InvalidArgument(
            f"history must hold the {int(n[1])} rounds that the state has learned, got {int(n[0])}."
        )
