"""GLRT: any policy on one representation, made to stop exploring (paper, Corollary 1)."""

from dataclasses import KW_ONLY
from typing import Any, cast

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from banditsrl.core.history import History
from banditsrl.core.policy import keeps_history
from banditsrl.core.representation import Representation
from banditsrl.errors import InvalidArgument
from banditsrl.linear.ridge import REFRESH_GROWTH, empty
from banditsrl.numerics.precision import in_float64
from banditsrl.policies.linear_policy import LinearPolicy, known_or, largest_norm
from banditsrl.representations.conversion import as_representation
from banditsrl.selection.certificate import CertifiedPolicy, CertifiedState, Facts


def _optional(source: Any) -> Representation | None:
    return None if source is None else as_representation(source)


class GLRT(CertifiedPolicy):
    """Play greedily wherever the data prove the greedy action best, else ask the base.

    With a realizable HLS representation the regret is constant, whatever no-regret algorithm the
    base is; without one it is the base's.

    Args:
        base: A linear policy (its representation is used unless another is given), or any object
            with `init/act/learn`, which then sees the problem's own contexts.
        representation: The embedding in which the test is made.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> base = banditsrl.EpsilonGreedy(problem.representations[0])
        >>> policy = banditsrl.GLRT(base=base, sigma=0.3)
        >>> result = banditsrl.simulate(problem, policy, horizon=2000, seeds=2)
        >>> bool(result.certified[:, -1].min() > 0)
        True
    """

    base: Any = eqx.field()
    _: KW_ONLY
    representation: Any = eqx.field(default=None, converter=_optional)

    def __check_init__(self) -> None:
        if not isinstance(self.embedding, Representation):
            raise InvalidArgument(
                "representation must be given to GLRT when the base has none, got None."
            )

    @property
    def embedding(self) -> Representation:
        """The representation given, or the base's."""
        own = self.representation
        found = getattr(self.base, "representation", None) if own is None else own
        return cast(Representation, found)

    @in_float64
    def init(self, key: Array) -> CertifiedState:
        """Empty statistics."""
        dim = self.embedding.dim
        return CertifiedState(
            ridge=empty(dim, self.settings.lam),
            base=self.fresh_base(dim, key),
            representation=jnp.zeros((), dtype=jnp.int32),
            active=jnp.ones(1, dtype=bool),
            phase=jnp.zeros((), dtype=jnp.int32),
            largest_norm=jnp.zeros(1, dtype=jnp.float64),
            loss=jnp.full((), jnp.nan, dtype=jnp.float64),
            lambda_min=jnp.full((), jnp.nan, dtype=jnp.float64),
        )

    @in_float64
    def refresh(self, state: CertifiedState, history: History, key: Array) -> CertifiedState:
        """Recompute the square root of V^-1, against drift, and end the base's phase if it has any.

        The base sees the history of all rounds, certified ones included; nothing is reset.
        """
        if self._phased_base:
            state = state._replace(base=self.base.refresh(state.base, history, key))
        return self.undrifted(state)

    def report(self, state: CertifiedState) -> dict[str, Array]:
        """Nothing is chosen here."""
        del state
        return {}

    @property
    def phase_growth(self) -> float | None:
        """The base's, if it has phases; else the statistics are refreshed now and then."""
        growth: float = self.base.phase_growth if self._phased_base else REFRESH_GROWTH
        return growth

    @property
    def uses_history(self) -> bool:
        """If the base does."""
        return self._phased_base and keeps_history(self.base)

    @property
    def _phased_base(self) -> bool:
        """Whether the base has phases of its own; a linear one's statistics are kept here."""
        phased = getattr(self.base, "phase_growth", None) is not None
        return phased and not isinstance(self.base, LinearPolicy)

    def embed(self, state: CertifiedState, context: Any) -> Array:
        """The embedding, (A, d)."""
        del state
        return self.embedding.embed(context)

    def facts(self, state: CertifiedState) -> Facts:
        """Given bounds, or the largest norm seen and the norm of the estimate."""
        estimate = jnp.sqrt((state.ridge.theta**2).sum())
        return Facts(
            dim=jnp.asarray(float(self.embedding.dim)),
            L=known_or(self.embedding.L, state.largest_norm[0]),
            B=known_or(self.embedding.B, estimate),
        )

    def levels(self, state: CertifiedState) -> tuple[Array, Array]:
        """With a single representation both are delta."""
        delta = self.decayed_delta(state)
        return delta, delta

    def base_context(self, context: Any, phi: Array) -> Any:
        """The base sees what the problem deals."""
        del phi
        return context

    def seen(self, state: CertifiedState, phi: Array) -> Array:
        """Tracked unless known."""
        return largest_norm(self.embedding, phi, state.largest_norm)
