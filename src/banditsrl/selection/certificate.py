"""When may exploration end for this context? A base algorithm under the likelihood ratio test.

`CertifiedPolicy` is what the GLRT wrapper and BanditSRL have in common: it keeps ridge statistics
of one current representation, which see every round; it plays the greedy action where the test
passes and asks the base algorithm elsewhere. The base is

- a linear policy that shares the statistics (warm start), or keeps its own, fed only the rounds
  it played and emptied at each phase (as in the theory), or
- any other object with `init/act/learn`, which keeps a state of its own.
"""

import dataclasses
from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import (
    at_least,
    check_action,
    check_mask,
    check_reward,
    flag,
    one_of,
    positive,
    probability,
)
from banditsrl.core.policy import CONVENTIONS, Choice, Policy, learned
from banditsrl.core.settings import setting
from banditsrl.errors import InvalidType
from banditsrl.linear.bounds import authors_beta, beta, ucb_width
from banditsrl.linear.likelihood_ratio import Ratio, likelihood_ratio, score_actions
from banditsrl.linear.ridge import Ridge, add_sample, empty_ridge, estimate_noise, recompute
from banditsrl.numerics.precision import in_float64
from banditsrl.numerics.seed_axis import indices, select_row
from banditsrl.policies.linear_policy import LinearPolicy, known_or, viewed

RADII = ("trace", "determinant")


class CertifiedState(NamedTuple):
    """State of a policy with a test."""

    ridge: Ridge  # of the current representation, from every round
    base: Any  # the base's own state; () when it shares the statistics
    representation: Array  # () index of the current representation
    active: Array  # (M,) the set Phi_t
    phase: Array  # () j
    largest_norm: Array  # (M,) largest embedding norms seen
    loss: Array  # () of the current representation when it was chosen; nan before
    lambda_min: Array  # () smallest eigenvalue of its Gram matrix then; nan before
    learned: Any = ()  # what a representation that trains has learned


class Settings(NamedTuple):
    """The settings that a policy and its linear base have in common."""

    sigma: float | None
    lam: float
    delta: float
    conventions: str


class Facts(NamedTuple):
    """What is known of the current representation."""

    dim: Array  # ()
    L: Array  # ()
    B: Array  # ()


class CertifiedPolicy(Policy):
    """Settings and rounds shared by `GLRT` and `BanditSRL`; see those two."""

    _: KW_ONLY
    base: Any = eqx.field()
    sigma: float | None = setting(None, "noise level; a linear base's by default, else estimated")
    lam: float | None = setting(
        None, "ridge regularizer lambda; a linear base's by default, else 1"
    )
    delta: float | None = setting(None, "level of the test; a linear base's by default, else 0.01")
    delta_decay: float = setting(0.0, "p of the schedule delta / t^p; 0 keeps delta constant")
    glrt_scale: float | None = setting(1.0, "alpha_GLRT; 0 or None switches the test off")
    radius: str = setting("trace", "of the test: the paper's beta (trace), or determinant: tighter")
    conventions: str | None = setting(None, "paper or authors; a linear base's by default")
    warm_start: bool = setting(True, "a linear base shares all statistics; else it is reset")

    def __check_init__(self) -> None:
        if self.settings.sigma is not None:
            positive("sigma", self.settings.sigma)
        positive("lam", self.settings.lam)
        probability("delta", self.settings.delta)
        at_least("delta_decay", self.delta_decay, 0.0)
        if self.glrt_scale is not None:
            at_least("glrt_scale", self.glrt_scale, 0.0)
        one_of("radius", self.radius, RADII)
        flag("warm_start", self.warm_start)
        one_of("conventions", self.settings.conventions, CONVENTIONS)
        if isinstance(self.base, type):
            raise InvalidType(f"base must be a policy, got the class {self.base.__name__} itself.")
        missing = [name for name in ("init", "act", "learn") if not hasattr(self.base, name)]
        if missing:
            raise InvalidType(
                "base must be a policy with init, act and learn, "
                f"got {type(self.base).__name__} without {', '.join(missing)}."
            )

    @property
    def settings(self) -> Settings:
        """What was set here, or else on a linear base, or else by default."""

        def first(name: str, default: Any) -> Any:
            here = getattr(self, name)
            linear = self.base if isinstance(self.base, LinearPolicy) else None
            return getattr(linear, name, default) if here is None else here

        return Settings(
            first("sigma", None),
            first("lam", 1.0),
            first("delta", 0.01),
            first("conventions", "paper"),
        )

    @property
    def authors(self) -> bool:
        """Whether the variants of the authors' experiments are on."""
        return self.settings.conventions == "authors"

    # What a kind of certified policy has to say about its representations.

    def embed(self, state: CertifiedState, context: Any) -> Array:
        """The current representation's embedding, (A, d)."""
        raise NotImplementedError

    def facts(self, state: CertifiedState) -> Facts:
        """Dimension and bounds of the current representation."""
        raise NotImplementedError

    def levels(self, state: CertifiedState) -> tuple[Array, Array]:
        """Delta of the test and delta of the base, this round."""
        raise NotImplementedError

    def base_context(self, context: Any, phi: Array) -> Any:
        """What a base with a state of its own sees."""
        raise NotImplementedError

    def seen(self, state: CertifiedState, phi: Array) -> Array:
        """The largest embedding norms after this one, (M,)."""
        raise NotImplementedError

    def may_certify(self, state: CertifiedState, found: Ratio, mask: Array) -> Array:
        """Whether a passed test counts; always, unless a policy says otherwise."""
        del state, found, mask
        return jnp.ones((), dtype=bool)

    @property
    def tie(self) -> float:
        """With the authors' conventions, predicted gaps below this leave a context undecided."""
        return 0.01

    # The rounds.

    def report(self, state: CertifiedState) -> dict[str, Array]:
        """The representation in use, the set Phi_t, and how good the choice looked."""
        return {
            "representation": state.representation,
            "active": state.active,
            "loss": state.loss,
            "lambda_min": state.lambda_min,
        }

    @property
    def shares(self) -> bool:
        """Whether the base chooses on the shared statistics."""
        return isinstance(self.base, LinearPolicy) and self.warm_start

    @property
    def pmf_draws(self) -> int:
        """As the base."""
        return getattr(self.base, "pmf_draws", 0)

    @in_float64
    def act(self, state: CertifiedState, context: Any, mask: Any, key: Array) -> Choice:
        """Greedy where the test passes, the base's choice elsewhere."""
        phi = self.embed(state, context)
        available = check_mask(mask, phi.shape[0])
        facts = self.facts(state)
        test_level, base_level = self.levels(state)
        scores = score_actions(state.ridge.root, state.ridge.theta, phi)
        found = likelihood_ratio(scores, available, jnp.asarray(self.tie if self.authors else 0.0))
        certified, threshold = self.tested(found, state, facts, test_level)
        certified = certified & self.may_certify(state, found, available)
        action, pmf = self._explore(
            state, context, phi, available, key, facts=facts, level=base_level
        )
        greedy = indices(phi.shape[0], pmf) == found.greedy
        return Choice(
            action=jnp.where(certified, found.greedy, action).astype(jnp.int32),
            pmf=jnp.where(certified, greedy.astype(pmf.dtype), pmf),
            certified=certified,
            glr=found.glr,
            threshold=threshold,
            representation=state.representation,
        )

    @in_float64
    def learn(
        self,
        state: CertifiedState,
        context: Any,
        action: Any,
        reward: Any,
        certified: Any = False,
    ) -> CertifiedState:
        """Add the sample to the statistics, and tell the base if it was its round."""
        phi = self.embed(state, context)
        action, reward = check_action(action, phi.shape[0]), check_reward(reward)
        base = state.base
        if not self.shares:
            taught = self._taught(base, context, phi, action, reward)
            base = jax.tree.map(lambda old, new: jnp.where(certified, old, new), base, taught)
        return state._replace(
            ridge=add_sample(state.ridge, select_row(phi, action), reward),
            base=base,
            largest_norm=self.seen(state, phi),
        )

    def tested(
        self, found: Ratio, state: CertifiedState, facts: Facts, level: Array
    ) -> tuple[Array, Array]:
        """Whether the test passes, and the threshold it had to pass."""
        if not self.glrt_scale:
            return jnp.zeros((), dtype=bool), jnp.full((), jnp.inf)
        radius = self._radius(state.ridge, facts, level)
        if self.authors:  # gap^2 / (2 norm^2) > s beta^2, and no near-ties
            threshold = jnp.sqrt(2.0 * self.glrt_scale) * radius
            return (found.glr > threshold) & ~found.tied, threshold
        threshold = self.glrt_scale * radius
        return found.glr > threshold, threshold

    def _radius(self, ridge: Ridge, facts: Facts, level: Array) -> Array:
        """Of the confidence ellipsoid. det V <= (trace V / d)^d, so the determinant is tighter."""
        sigma, lam = self.noise(ridge, facts), self.settings.lam
        if self.radius == "determinant":
            return ucb_width(ridge.log_det, delta=level, sigma=sigma, lam=lam, B=facts.B)
        bound = authors_beta if self.authors else beta
        return bound(
            ridge.n, dim=facts.dim, delta=level, sigma=sigma, lam=lam, L=facts.L, B=facts.B
        )

    def noise(self, ridge: Ridge, facts: Facts) -> Array:
        """sigma, given or estimated."""
        return known_or(self.settings.sigma, estimate_noise(ridge, facts.dim))

    def decayed_delta(self, state: CertifiedState) -> Array:
        """Delta of this round, before it is shared out."""
        return self.settings.delta / (state.ridge.n + 1.0) ** self.delta_decay

    def undrifted(self, state: CertifiedState) -> CertifiedState:
        """With the statistics recomputed, and those that a linear base keeps for itself."""
        lam = self.settings.lam
        own = isinstance(self.base, LinearPolicy) and not self.shares
        base = recompute(state.base, lam=lam) if own else state.base
        return state._replace(ridge=recompute(state.ridge, lam=lam), base=base)

    def fresh_base(self, dim: int, key: Array) -> Any:
        """The base's own state at the start of a phase."""
        if self.shares:
            return ()
        if isinstance(self.base, LinearPolicy):
            return empty_ridge(dim, self.settings.lam)
        return self.base.init(key)

    def _explore(
        self,
        state: CertifiedState,
        context: Any,
        phi: Array,
        mask: Array,
        key: Array,
        *,
        facts: Facts,
        level: Array,
    ) -> tuple[Array, Array]:
        if not isinstance(self.base, LinearPolicy):
            choice = self.base.act(state.base, self.base_context(context, phi), mask, key)
            return choice.action, choice.pmf
        ridge: Ridge = state.ridge if self.shares else state.base
        view = viewed(
            score_actions(ridge.root, ridge.theta, phi),
            ridge,
            mask,
            level=level,
            step=state.ridge.n + 1.0,
            sigma=self.noise(state.ridge, facts),
            B=facts.B,
        )
        rule = dataclasses.replace(
            self.base, lam=self.settings.lam, conventions=self.settings.conventions
        )
        return rule.decide(view, key)

    def _taught(self, base: Any, context: Any, phi: Array, action: Any, reward: Array) -> Any:
        if isinstance(self.base, LinearPolicy):
            return add_sample(base, select_row(phi, action), reward)
        return learned(self.base, base, self.base_context(context, phi), action, reward, False)
