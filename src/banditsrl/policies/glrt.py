"""GLRT: stop exploring where the test passes, on one representation (paper, Corollary 1)."""

import dataclasses
from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from banditsrl.arguments import check_action, check_mask, check_reward
from banditsrl.core.history import History
from banditsrl.core.policy import AnyPolicy, Choice, State
from banditsrl.core.representation import Context, Representation
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.linear.ridge import (
    REFRESH_GROWTH,
    Ridge,
    add_sample,
    empty_ridge,
    estimate_noise,
    recompute,
)
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import select_row
from banditsrl.policies.base_names import as_base
from banditsrl.policies.base_player import Moment, keep_if_certified
from banditsrl.policies.tested_policy import PolicyAroundBase
from banditsrl.representations.conversion import optional_representation
from banditsrl.selection.certificate import Certificate, Facts, known_or
from banditsrl.selection.norms import update_largest_norm


class GLRTState(NamedTuple):
    """State of GLRT."""

    ridge: Ridge  # statistics of every round
    base: State  # the base's own state
    largest_norm: Array  # () largest embedding norm seen


class GLRT(PolicyAroundBase[GLRTState]):
    """Play greedily where the test passes, and ask the base elsewhere.

    If the representation is realizable and HLS, the regret is constant with any no-regret base.
    Otherwise it is the base's regret.

    The signature is that of `BanditSRL`: ``GLRT(representation, base=base)``. The representation of
    a linear base is used unless another is given, so ``GLRT(base=base)`` and ``GLRT(base)`` are
    enough for one that has its own.

    Args:
        representation: The embedding in which the test is made.
        base: A linear policy or its name, or any object with `init`, `act` and `learn`, which then
            sees the problem's own contexts.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> base = banditsrl.EpsilonGreedy()
        >>> policy = banditsrl.GLRT(problem.representations[0], base=base, sigma=0.3)
        >>> result = banditsrl.simulate(problem, policy, horizon=2000, seeds=2)
        >>> bool(result.certified[:, -1].min() > 0)
        True
    """

    base: AnyPolicy | str = eqx.field(converter=as_base)
    _: KW_ONLY
    representation: Representation | None = eqx.field(
        default=None, converter=optional_representation
    )

    def __init__(
        self,
        first: Any = None,
        /,
        *,
        base: AnyPolicy | str | None = None,
        representation: Any = None,
        **settings: Any,
    ) -> None:
        if base is None:  # the order before version 0.3: GLRT(base, representation=...)
            first, base = None, first
        if base is None:
            raise InvalidType("base must be given to GLRT, got None.")
        if first is not None and representation is not None:
            raise InvalidType("representation must be given once to GLRT, got two.")
        self.base = base
        self.representation = representation if first is None else first
        for field in dataclasses.fields(self):
            if field.name not in ("base", "representation"):
                object.__setattr__(self, field.name, settings.pop(field.name, field.default))
        if settings:
            raise TypeError(f"GLRT() got an unexpected keyword argument {next(iter(settings))!r}")

    def __check_init__(self) -> None:
        if self.representation is None and not self.base_policy.embeddings:
            raise InvalidArgument(
                "representation must be given to GLRT when the base has none, got None."
            )

    @property
    def embedding(self) -> Representation:
        """The representation given, or the base's."""
        return (
            self.base_policy.embeddings[0] if self.representation is None else self.representation
        )

    @property
    def embeddings(self) -> tuple[Representation, ...]:
        """The one representation."""
        return (self.embedding,)

    @property
    def certificate(self) -> Certificate:
        """The test on a fixed embedding."""
        return self.make_certificate(tie=self.rules.tie_of_tables, refuses_twins=False)

    @in_float64
    def init(self, key: Array) -> GLRTState:
        """Return empty statistics."""
        dim = self.embedding.dim
        return GLRTState(
            ridge=empty_ridge(dim, self.effective.lam),
            base=self.player.init(dim, key),
            largest_norm=jnp.zeros((), dtype=jnp.float64),
        )

    @in_float64
    def act(self, state: GLRTState, context: Context, mask: ArrayLike | None, key: Array) -> Choice:
        """Play the greedy action if the test passes, otherwise the choice of the base."""
        phi = self.embedding.embed(context)
        available = check_mask(mask, phi.shape[0])
        facts, delta = self.facts(state), self.delta_after(state.ridge.n)
        verdict = self.certificate.test(state.ridge, phi, available, facts, delta)
        moment = Moment(context, phi, available, state.ridge, delta, facts.sigma, facts.B)
        action, pmf = self.player.choose(state.base, moment, key)
        return verdict.override(action, pmf, jnp.zeros((), dtype=jnp.int32))

    @in_float64
    def learn(
        self,
        state: GLRTState,
        context: Context,
        action: ArrayLike,
        reward: ArrayLike,
        certified: ArrayLike = False,
    ) -> GLRTState:
        """Add the sample to the statistics; if the base played the round, it learns too."""
        phi = self.embedding.embed(context)
        played, y = check_action(action, phi.shape[0]), check_reward(reward)
        taught = self.player.learn(state.base, context, phi, played, y)
        return GLRTState(
            ridge=add_sample(state.ridge, select_row(phi, played), y),
            base=keep_if_certified(certified, state.base, taught),
            largest_norm=update_largest_norm(self.embedding, phi, state.largest_norm),
        )

    @in_float64
    def predict(self, state: GLRTState, context: Context) -> Array | None:
        """Return the ridge prediction of every action."""
        return self.embedding.embed(context) @ state.ridge.theta

    @in_float64
    def refresh(self, state: GLRTState, history: History, key: Array) -> GLRTState:
        """Recompute the square root of V^-1, and end a phase of the base if it has phases.

        The base receives the history of all rounds, including certified ones. Its state is not
        reset.
        """
        base = self.player.refresh(state.base, history, key)
        return state._replace(
            ridge=recompute(state.ridge, lam=self.effective.lam), base=self.player.recompute(base)
        )

    @property
    def phase_growth(self) -> float | None:
        """The base's growth if it has phases; otherwise the growth between recomputations."""
        return self.player.phase_growth or REFRESH_GROWTH

    @property
    def uses_history(self) -> bool:
        """Whether the base uses the history."""
        return self.player.uses_history

    def largest_norms(self, state: GLRTState) -> Array | None:
        """Return the largest norm seen, (1,)."""
        return state.largest_norm[None]

    def facts(self, state: GLRTState) -> Facts:
        """Return dimension, bounds and noise level, given or estimated."""
        dim = jnp.asarray(float(self.embedding.dim))
        return Facts(
            dim=dim,
            L=known_or(self.embedding.L, state.largest_norm),
            B=known_or(self.embedding.B, jnp.sqrt((state.ridge.theta**2).sum())),
            sigma=known_or(self.effective.sigma, estimate_noise(state.ridge, dim)),
        )
