"""Which settings does a policy with a test have? One list for all of them.

`TestedPolicy` declares the settings of the test and builds the `Certificate` that a policy has.
`PolicyAroundBase` adds the base algorithm, which chooses where the test does not pass. Each policy
defines for itself how it plays a round.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any, TypeVar

import equinox as eqx
from jax import Array

from banditsrl.arguments import at_least, flag, one_of, positive, probability
from banditsrl.core.policy import AnyPolicy, Policy, RidgeSettings
from banditsrl.core.settings import setting
from banditsrl.policies.base_names import as_base
from banditsrl.policies.base_player import BasePlayer, make_player
from banditsrl.selection.certificate import RADII, Certificate
from banditsrl.selection.conventions import CONVENTIONS, Conventions

StateT = TypeVar("StateT")

DEFAULTS = RidgeSettings(sigma=None, lam=1.0, delta=0.01, conventions="paper")
"""Settings that apply where neither the policy nor its base sets a value."""


class TestedPolicy(Policy[StateT]):
    """A policy with a test. A subclass must define `certificate`, using `make_certificate`."""

    _: KW_ONLY
    sigma: float | None = setting(None, "Noise level; by default the base's, else estimated.")
    lam: float | None = setting(None, "Ridge parameter lambda; by default the base's, else 1.")
    delta: float | None = setting(None, "Level of the test; by default the base's, else 0.01.")
    delta_decay: float = setting(0.0, "Exponent p of the schedule delta / t^p; 0 is constant.")
    glrt_scale: float | None = setting(1.0, "alpha_GLRT; 0 or None switches the test off.")
    radius: str = setting("trace", "Radius of the test: trace (the paper's), or determinant.")
    conventions: str | None = setting(None, "paper or authors; by default the base's, else paper.")

    def __check_init__(self) -> None:
        if self.effective.sigma is not None:
            positive("sigma", self.effective.sigma)
        positive("lam", self.effective.lam)
        probability("delta", self.effective.delta)
        at_least("delta_decay", self.delta_decay, 0.0)
        if self.glrt_scale is not None:
            at_least("glrt_scale", self.glrt_scale, 0.0)
        one_of("radius", self.radius, RADII)
        one_of("conventions", self.effective.conventions, tuple(CONVENTIONS))

    @property
    def inherited(self) -> RidgeSettings:
        """Settings that apply where this policy sets no value."""
        return DEFAULTS

    @property
    def effective(self) -> RidgeSettings:
        """Settings in effect: the values set here, and inherited values for the others."""
        other = self.inherited
        return RidgeSettings(
            sigma=other.sigma if self.sigma is None else self.sigma,
            lam=other.lam if self.lam is None else self.lam,
            delta=other.delta if self.delta is None else self.delta,
            conventions=other.conventions if self.conventions is None else self.conventions,
        )

    @property
    def rules(self) -> Conventions:
        """The object that the conventions name."""
        return CONVENTIONS[self.effective.conventions]

    @property
    @abstractmethod
    def certificate(self) -> Certificate:
        """The test."""

    def make_certificate(self, *, tie: float, refuses_twins: bool) -> Certificate:
        """Return the test with these settings."""
        return Certificate(
            lam=self.effective.lam,
            scale=self.glrt_scale,
            radius=self.radius,
            conventions=self.rules,
            tie=tie,
            refuses_twins=refuses_twins,
        )

    def delta_after(self, n: Array) -> Array:
        """Return delta of round n + 1, before it is divided among candidates."""
        return self.effective.delta / (n + 1.0) ** self.delta_decay


class PolicyAroundBase(TestedPolicy[StateT]):
    """A policy that asks a base algorithm where the test does not pass."""

    _: KW_ONLY
    base: AnyPolicy | str = eqx.field(converter=as_base)
    warm_start: bool = setting(
        True, "Whether a linear base shares all statistics; if not, it starts afresh each phase."
    )

    def __check_init__(self) -> None:
        flag("warm_start", self.warm_start)

    def __repr__(self) -> str:
        """Return one line, with the name of the base."""
        return f"{super().__repr__()[:-1]}, base={self.base_policy.display_name})"

    @property
    def base_policy(self) -> Policy[Any]:
        """The base, adapted if it is an outside object."""
        return as_base(self.base)

    @property
    def inherited(self) -> RidgeSettings:
        """The settings of a linear base, or the defaults for any other base."""
        return self.base_policy.ridge_settings or DEFAULTS

    @property
    def player(self) -> BasePlayer:
        """The object through which the base chooses and learns."""
        return make_player(
            self.base_policy,
            warm_start=self.warm_start,
            lam=self.effective.lam,
            conventions=self.effective.conventions,
        )

    @property
    def pmf_draws(self) -> int:
        """Number of draws behind the pmf of the base; 0 means that the pmf is exact."""
        return self.base_policy.pmf_draws
