"""Which candidate has the best spectrum? Representation losses of BanditSRL on a finite set.

A loss maps the evidence gathered at the end of a phase to one number per candidate; the smallest
wins. `eig` asks that the features played span R^d, `weak` and `weak-normalised` only that they
span each other, `span` asks that exactly, and `bic` (best in class) also weighs the base
algorithm's own regret bound.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least, positive
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.linear.bounds import design_deviation
from banditsrl.registry import Registry


class Evidence(NamedTuple):
    """What is known of the M candidates after t rounds."""

    t: Array  # ()
    lambda_min: Array  # (M,) smallest eigenvalue of V - lam I
    weak: Array  # (M,) min over rounds of phi_s^T (V - lam I) phi_s
    weak_normalised: Array  # (M,) the same divided by ||phi_s||^2
    uncertainty: Array  # (M,) max over rounds of ||phi_s||^2_{V^-1}
    dim: Array  # (M,)
    L: Array  # (M,)
    B: Array  # (M,)
    active: Array  # (M,) the set Phi_t
    sigma: Array  # (M,)
    lam: float
    delta: float | Array
    level: Array  # () the base's level in the phase that begins
    n_actions: int


class Loss(eqx.Module):
    """A representation loss, and which costly evidence it reads."""

    needs_forms: ClassVar[bool] = False  # weak and weak_normalised
    needs_uncertainty: ClassVar[bool] = False

    def __call__(self, evidence: Evidence) -> Array:
        """One number per candidate, (M,); smaller is better."""
        raise NotImplementedError

    def scale(self, evidence: Evidence) -> Array:
        """What the numbers grow with when features are scaled, (M,): ties are relative to it."""
        return jnp.ones_like(evidence.L)


class Eig(Loss):
    """-lambda_min(V - lam I) / L^2 (paper, Section 3)."""

    def __call__(self, evidence: Evidence) -> Array:
        """Negative smallest eigenvalue, scaled by the norm."""
        return -evidence.lambda_min / evidence.L**2


class Weak(Loss):
    """-min_s phi_s^T (V - lam I) phi_s / L^2 (paper, Section 5)."""

    needs_forms: ClassVar[bool] = True

    def __call__(self, evidence: Evidence) -> Array:
        """Negative smallest quadratic form, scaled by the norm bound."""
        return -evidence.weak / evidence.L**2

    def scale(self, evidence: Evidence) -> Array:
        """The form has four factors phi, of which the bound takes two."""
        return evidence.L**2


class WeakNormalised(Loss):
    """-min_s phi_s^T (V - lam I) phi_s / ||phi_s||^2 (paper, Appendix C.1.2)."""

    needs_forms: ClassVar[bool] = True

    def __call__(self, evidence: Evidence) -> Array:
        """Negative smallest quadratic form of the unit features."""
        return -evidence.weak_normalised

    def scale(self, evidence: Evidence) -> Array:
        """As the weak loss."""
        return evidence.L**2


class Span(Loss):
    """max_s t ||phi_s||^2_{V^-1}: weak HLS by its definition, beyond the paper.

    While V grows like t times the second moment M of the optimal features, t ||phi||^2_{V^-1} tends
    to phi^T M^+ phi if phi lies in the span of the optimal features, and grows like t otherwise.
    So the loss stays bounded exactly when every played feature lies in that span. The paper's weak
    loss looks at phi^T M phi instead, which is positive for any phi that is not *orthogonal* to
    the span, and on padded features prefers the wrong candidate even with unlimited data.
    """

    needs_uncertainty: ClassVar[bool] = True

    def __call__(self, evidence: Evidence) -> Array:
        """The largest uncertainty about a feature that was played, times t."""
        return evidence.t * evidence.uncertainty


class BestInClass(Loss):
    """R-bar(t, phi) - [lambda_min / L^2 - g_t - deviation]_+ (paper, Appendix C.1.1).

    Without an HLS candidate this picks the smallest regret bound, with one it picks that.

    Args:
        regret: R-bar of the base from known quantities; the base's own when None.
        gap: Delta, if known. Otherwise it is guessed as 1 / t^exponent.
        exponent: l of the schedule; the paper's 1/4 suits a bound of order sqrt(t).
        tau_elim: Bound on the elimination time that enters g_t.
    """

    regret: Callable[..., Array] | None = eqx.field(static=True, default=None, kw_only=True)
    gap: float | None = eqx.field(static=True, default=None, kw_only=True)
    exponent: float = eqx.field(static=True, default=0.25, kw_only=True)
    tau_elim: float = eqx.field(static=True, default=0.0, kw_only=True)

    def __check_init__(self) -> None:
        if self.gap is not None:
            positive("gap", self.gap)
        positive("exponent", self.exponent)
        at_least("tau_elim", self.tau_elim, 0.0)

    def bound(self, evidence: Evidence) -> Array:
        """R-bar(t, phi, level) of every candidate, (M,)."""
        if self.regret is None:
            raise InvalidArgument(
                "regret must be given to the loss bic when the base has no worst_case_regret, "
                "got None."
            )
        return self.regret(
            evidence.t,
            n_actions=evidence.n_actions,
            dim=evidence.dim,
            delta=evidence.level,
            sigma=evidence.sigma,
            lam=evidence.lam,
            L=evidence.L,
            B=evidence.B,
        )

    def __call__(self, evidence: Evidence) -> Array:
        """The regret bound less the spectral bonus."""
        t, bound = evidence.t, self.bound(evidence)
        gap = t**-self.exponent if self.gap is None else self.gap
        worst = jnp.where(evidence.active, bound, 0.0).max()
        pulls = (2.0 * self.tau_elim + worst * jnp.log2(t)) / gap
        deviation = design_deviation(
            t, dim=evidence.dim, n_candidates=evidence.dim.shape[0], delta=evidence.delta
        )
        bonus = jnp.maximum(evidence.lambda_min / evidence.L**2 - pulls - deviation, 0.0)
        return bound - bonus


LOSSES: Registry[Callable[[], Loss]] = Registry("representation loss")
LOSSES.add("eig", Eig)
LOSSES.add("weak", Weak)
LOSSES.add("weak-normalised", WeakNormalised)
LOSSES.add("span", Span)
LOSSES.add("bic", BestInClass)


def as_loss(source: Any, base: Any) -> Loss:
    """A loss from its name or itself; `bic` takes its regret bound from the base if it has none."""
    loss = LOSSES[source]() if isinstance(source, str) else source
    if not isinstance(loss, Loss):
        raise InvalidType(f"loss must be a name or a Loss, got {source!r}.")
    if isinstance(loss, BestInClass) and loss.regret is None:
        loss = dataclasses.replace(loss, regret=getattr(base, "worst_case_regret", None))
    return loss
