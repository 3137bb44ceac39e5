r"""Which candidate has the best spectrum? Representation losses of BanditSRL on a finite set.

A loss maps the evidence at the end of a phase to one number per candidate, and the candidate with
the smallest number is selected. `eig` prefers played features that span $\mathbb{R}^d$. `weak` and
`weak-normalised` prefer played features that are not orthogonal to the others. `span` is bounded
exactly if every played feature lies in the span of the optimal ones. `bic` (best in class) also
takes the regret bound of the base algorithm into account.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from banditsrl.arguments import at_least, positive
from banditsrl.core.policy import RegretBound
from banditsrl.core.settings import DescribedMeta
from banditsrl.errors import ContractViolation, InvalidArgument, InvalidType
from banditsrl.linear.bounds import design_deviation
from banditsrl.registry import Registry
from banditsrl.selection.evidence import Evidence

LOSS_TIE = 1e-9
"""Losses that differ by less than this, times t and the scale of the loss, are ties.

On redundant features lambda_min is only rounding noise.
"""


class Loss(eqx.Module, metaclass=DescribedMeta):
    """A representation loss.

    A subclass must define `__call__`. It sets a flag for each costly part of the evidence that it
    reads; other losses find zeros there.
    """

    needs_forms: ClassVar[bool] = False  # reads weak or weak_normalised
    needs_uncertainty: ClassVar[bool] = False  # reads uncertainty

    @abstractmethod
    def __call__(self, evidence: Evidence) -> Array:
        """Return one number per candidate, (M,); smaller is better."""

    def scale(self, evidence: Evidence) -> Array:
        """Return the scale of the loss, (M,); the tolerance for ties is relative to it."""
        return jnp.ones_like(evidence.L)


class Eig(Loss):
    r"""The smallest eigenvalue, $-\lambda_{\min}(V-\lambda I)/L^2$ (paper, Section 3)."""

    def __call__(self, evidence: Evidence) -> Array:
        """Return the negative smallest eigenvalue, scaled by the norm bound."""
        return -evidence.lambda_min / evidence.L**2


class Weak(Loss):
    r"""The weak loss, $-\min_s\phi_s^\top(V-\lambda I)\phi_s/L^2$ (paper, Section 5)."""

    needs_forms: ClassVar[bool] = True

    def __call__(self, evidence: Evidence) -> Array:
        """Return the negative smallest quadratic form, scaled by the norm bound."""
        return -evidence.weak / evidence.L**2

    def scale(self, evidence: Evidence) -> Array:
        r"""Return $L^2$: the form has four factors $\phi$, of which the norm bound cancels two."""
        return evidence.L**2


class WeakNormalised(Loss):
    r"""The weak loss of unit features (paper, Appendix C.1.2).

    It is $-\min_s\phi_s^\top(V-\lambda I)\phi_s/\lVert\phi_s\rVert^2$.
    """

    needs_forms: ClassVar[bool] = True

    def __call__(self, evidence: Evidence) -> Array:
        """Return the negative smallest quadratic form of the unit features."""
        return -evidence.weak_normalised

    def scale(self, evidence: Evidence) -> Array:
        """Return $L^2$, as for the weak loss."""
        return evidence.L**2


class Span(Loss):
    r"""Weak HLS by its definition, beyond the paper: $\max_s t\,\lVert\phi_s\rVert^2_{V^{-1}}$.

    While $V$ grows like $t$ times the second moment $M$ of the optimal features,
    $t\,\lVert\phi\rVert^2_{V^{-1}}$ tends to $\phi^\top M^+\phi$ if $\phi$ lies in the span of the
    optimal features, and grows like $t$ otherwise. So the loss stays bounded exactly when every
    played feature lies in that span. The paper's weak loss uses $\phi^\top M\phi$ instead, which is
    positive for any $\phi$ that is not *orthogonal* to the span. On padded features it prefers the
    wrong candidate even with unlimited data.
    """

    needs_uncertainty: ClassVar[bool] = True

    def __call__(self, evidence: Evidence) -> Array:
        """Return the largest uncertainty about a feature that was played, times t."""
        return evidence.t * evidence.uncertainty


class BestInClass(Loss):
    r"""The best candidate of the class (paper, Appendix C.1.1).

    The loss is $\bar{R}(t,\phi)-[\lambda_{\min}/L^2-g_t-\text{deviation}]_+$. If no
    candidate is HLS, the one with the smallest regret bound is selected. If one is HLS, it is
    selected in the end.

    Args:
        regret: The regret bound $\bar{R}$; None means the base's own.
        gap: $\Delta$, if it is known; otherwise $t^{-l}$ is used in its place.
        exponent: Exponent $l$ of that schedule; the paper's 1/4 suits a bound of order $\sqrt{t}$.
        tau_elim: Bound on the elimination time in $g_t$.
    """

    regret: RegretBound | None = eqx.field(static=True, default=None, kw_only=True)
    gap: float | None = eqx.field(static=True, default=None, kw_only=True)
    exponent: float = eqx.field(static=True, default=0.25, kw_only=True)
    tau_elim: float = eqx.field(static=True, default=0.0, kw_only=True)

    def __check_init__(self) -> None:
        if self.gap is not None:
            positive("gap", self.gap)
        positive("exponent", self.exponent)
        at_least("tau_elim", self.tau_elim, 0.0)

    def bound(self, evidence: Evidence) -> Array:
        """Return R-bar(t, phi, level) of every candidate, (M,)."""
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
        """Return the regret bound minus the spectral bonus."""
        t, bound = evidence.t, self.bound(evidence)
        gap = t**-self.exponent if self.gap is None else self.gap
        worst = jnp.where(evidence.active, bound, 0.0).max()
        pulls = (2.0 * self.tau_elim + worst * jnp.log2(t)) / gap
        deviation = design_deviation(
            t, dim=evidence.dim, n_candidates=evidence.dim.shape[0], delta=evidence.delta
        )
        bonus = jnp.maximum(evidence.lambda_min / evidence.L**2 - pulls - deviation, 0.0)
        return bound - bonus


class FunctionLoss(Loss):
    """A plain function of the evidence as a loss; all parts of the evidence are computed for it."""

    needs_forms: ClassVar[bool] = True
    needs_uncertainty: ClassVar[bool] = True
    function: Callable[[Evidence], Array] = eqx.field(static=True)

    def __call__(self, evidence: Evidence) -> Array:
        """Return what the function returns, if that is one number per candidate."""
        losses = jnp.asarray(self.function(evidence))
        if losses.shape != evidence.L.shape:
            raise ContractViolation(
                f"loss must return one number per candidate, shape {evidence.L.shape}, "
                f"got shape {losses.shape}."
            )
        return losses


AnyLoss: TypeAlias = str | Loss | Callable[[Evidence], Array]
"""What people may hand over as a loss: a name, a `Loss`, or a function of the evidence."""

LOSSES: Registry[Callable[[], Loss]] = Registry("representation loss")
LOSSES.add("eig", Eig)
LOSSES.add("weak", Weak)
LOSSES.add("weak-normalised", WeakNormalised)
LOSSES.add("span", Span)
LOSSES.add("bic", BestInClass)


def as_loss(source: AnyLoss, regret: RegretBound | None) -> Loss:
    """Return a loss from its name or from a function, or the loss itself.

    Args:
        source: A name in `LOSSES`, a loss, or a function of the evidence.
        regret: Regret bound of the base, which `bic` uses if it has none of its own.
    """
    loss = LOSSES[source]() if isinstance(source, str) else source
    if isinstance(loss, type) or not callable(loss):
        raise InvalidType(f"loss must be a name, a Loss or a function, got {source!r}.")
    if not isinstance(loss, Loss):
        return FunctionLoss(loss)
    if isinstance(loss, BestInClass) and loss.regret is None:
        return dataclasses.replace(loss, regret=regret)
    return loss


def select_candidate(loss: Loss, losses: Array, evidence: Evidence, key: Array) -> Array:
    """Return the active candidate of smallest loss, () index; ties are broken by the key.

    A loss that is not a number counts as the largest one.
    """
    usable = evidence.active & ~jnp.isnan(losses)
    contenders = jnp.where(usable, losses, jnp.inf)
    scale = jnp.where(evidence.active, loss.scale(evidence), 0.0).max()
    tied = contenders <= contenders.min() + LOSS_TIE * evidence.t * scale
    tied = tied & evidence.active
    lots = jax.random.uniform(key, losses.shape, dtype=jnp.float32)
    return jnp.argmax(jnp.where(tied, lots, -1.0)).astype(jnp.int32)
