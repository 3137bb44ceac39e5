"""From which t on do the paper's inequalities hold? The functions of t, and the solvers.

The solutions can be astronomically large, because the bound for e-greedy contains an eighth power,
but they fit into a float. An inequality is evaluated at all powers of two up to 2^900 at once, and
then bisected between two of them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np

from banditsrl.linear import regret
from banditsrl.linear.bounds import beta, design_deviation, phase_level
from banditsrl.problems.finite import FiniteProblem
from banditsrl.theory.diagnosis import Diagnosis

MAX_LOG2 = 900
"""Times beyond 2^900 count as infinite; up to there every product fits into a float."""

Times: TypeAlias = Any
"""t, or a function of t: a number, or a float64 array with one entry per t."""


@dataclass(frozen=True)
class Analysis:
    """The paper's functions of t for BanditSRL on one problem; they must be evaluated in float64.

    Attributes:
        problem: The problem.
        realizable: Diagnoses of Phi*, the realizable candidates.
        misspecified: Diagnoses of the other candidates.
        base: "linucb" or "egreedy".
        loss: "eig", or "bic", which uses the worst-case R-bar.
        delta: Confidence level.
        lam: Ridge regulariser.
    """

    problem: FiniteProblem
    realizable: tuple[Diagnosis, ...]
    misspecified: tuple[Diagnosis, ...]
    base: str
    loss: str
    delta: float
    lam: float

    @property
    def n_candidates(self) -> int:
        """|Phi|, the number of candidates."""
        return len(self.realizable) + len(self.misspecified)

    @property
    def star(self) -> Diagnosis | None:
        """phi*, the realizable HLS candidate; if there are several, the one of smallest loss."""
        hls = [phi for phi in self.realizable if phi.hls]
        return max(hls, key=lambda phi: phi.lambda_star / phi.L**2) if hls else None

    def level(self, t: Times) -> Times:
        """Return delta_{log2 t} / |Phi|, the confidence level of the base at step t."""
        return phase_level(jnp.log2(t), self.delta) / self.n_candidates

    def regret(self, t: Times, phi: Diagnosis, level: Times) -> Times:
        """Return R-bar(t, phi, level), the regret bound of the base algorithm."""
        known = {**self._known_quantities(phi), "delta": level}
        n_actions = self.problem.n_actions
        if self.base == "linucb" and self.loss == "eig":
            return regret.linucb_regret(t, gap=jnp.asarray(self.problem.gap), **known)
        if self.base == "linucb":
            return regret.linucb_worst_case(t, **known)
        if self.loss == "bic":
            return regret.egreedy_worst_case(t, n_actions=n_actions, **known)
        gamma = jnp.asarray(phi.gamma)
        return regret.egreedy_regret(t, gamma=gamma, n_actions=n_actions, **known)

    def total_regret(self, t: Times) -> Times:
        """Return the regret bound up to t while only realizable candidates are left.

        It is max over phi in Phi* of R-bar(t, phi, delta_{log2 t} / |Phi|), times log2(t) phases.
        With a single candidate the base is never reset, and it is R-bar(t, phi, delta).
        """
        if self.n_candidates == 1:
            return self.regret(t, self.realizable[0], self.delta)
        each = [self.regret(t, phi, self.level(t)) for phi in self.realizable]
        return jnp.stack(each).max(axis=0) * jnp.log2(t)

    def suboptimal_pulls(self, t: Times, tau_elim: float) -> Times:
        """Return g_t(Phi, Delta, delta), a bound on the number of suboptimal actions up to t.

        g_t = (2 tau_elim + total regret) / Delta.
        """
        return (2.0 * tau_elim + self.total_regret(t)) / jnp.asarray(self.problem.gap)

    def eliminates(self, t: Times) -> Times:
        """Return whether all misspecified candidates are eliminated at t, for tau_elim.

        t > max over misspecified phi of (D_t(phi) + min over phi* of D_t(phi*)
        + 328 log(8 |Phi|^2 t^3 / delta)) / epsilon_phi, with D_t(phi) = 160 d log(12 L B t).
        The constant 328 is the one of the paper's proof.
        """

        def cover(phi: Diagnosis) -> Times:
            # D_t(phi). A cover has at least one point, so the logarithm is not negative.
            return 160.0 * phi.dim * jnp.log(jnp.maximum(12.0 * phi.L * phi.B * t, 1.0))

        shared = jnp.stack([cover(phi) for phi in self.realizable]).min(axis=0)
        shared += 328.0 * (jnp.log(8.0 * self.n_candidates**2 / self.delta) + 3.0 * jnp.log(t))
        needed = [(cover(phi) + shared) / phi.misspecification_lower for phi in self.misspecified]
        return t > jnp.stack(needed).max(axis=0)

    def selects(self, t: Times, star: Diagnosis, tau_elim: float) -> Times:
        """Return whether the loss is smallest for phi* at t, for tau_hls.

        t lambda*(phi*) / L^2 > 2 g_t + 16 sqrt(t log(4 d |Phi| t / delta)), and for the loss bic
        also plus R-bar(t, phi*). The constants are those of the paper's proofs.
        """
        needed = 2.0 * self.suboptimal_pulls(t, tau_elim)
        needed += 2.0 * self._deviation(t, max(phi.dim for phi in self.realizable))
        if self.loss == "bic":
            needed += self.regret(t, star, self.level(t))
        return t * star.lambda_star / star.L**2 > needed

    def exceeds_base_regret(self, t: Times, star: Diagnosis) -> Times:
        """Return whether t lambda*(phi*) / L^2 > 8 g_t with tau_elim = 0, for tau_alg."""
        return t * star.lambda_star / star.L**2 > 8.0 * self.suboptimal_pulls(t, 0.0)

    def certifies(self, t: Times, star: Diagnosis, tau_elim: float) -> Times:
        """Return whether the test passes at t in every context, for tau_glrt.

        t >= L^2 / lambda*(phi*) (16 beta_t^2 / Delta^2 + g_t + 8 sqrt(t log(4 d |Phi| t / delta)))
        + 1, which is the paper's lemma "Triggering the GLRT".
        """
        radius = beta(t, delta=self.delta / self.n_candidates, **self._known_quantities(star))
        needed = 16.0 * (radius / jnp.asarray(self.problem.gap)) ** 2
        needed += self.suboptimal_pulls(t, tau_elim) + self._deviation(t, star.dim)
        return t >= star.L**2 / star.lambda_star * needed + 1.0

    def _deviation(self, t: Times, dim: int) -> Times:
        return design_deviation(t, dim=dim, n_candidates=self.n_candidates, delta=self.delta)

    def _known_quantities(self, phi: Diagnosis) -> dict[str, Any]:
        """Return the arguments that all radii and regret bounds of phi share."""
        sigma = self.problem.sigma
        return {"dim": phi.dim, "L": phi.L, "B": phi.B, "lam": self.lam, "sigma": sigma}


def find_first_power(holds: Callable[[Times], Times]) -> float:
    """Return the smallest 2^j, j > 0, from which on `holds` is true at every power of two.

    The result is infinite if there is none up to 2^900.
    """
    powers = 2.0 ** np.arange(1, MAX_LOG2 + 1)
    failing = np.flatnonzero(~np.asarray(holds(powers)))
    first = int(failing[-1]) + 1 if failing.size else 0
    return float(powers[first]) if first < len(powers) else math.inf


def find_first_time(holds: Callable[[Times], Times]) -> float:
    """Return the smallest integer above 1 from which on `holds` is true, or infinity.

    The power of two is found first, then the integer by bisection, which assumes that `holds`
    changes only once between two powers of two. Beyond 2^53, where not every integer is a float,
    the result is the smallest float.
    """
    high = find_first_power(holds)
    low = high / 2.0
    while low < (middle := (low + high) // 2.0) < high:
        low, high = (low, middle) if bool(holds(middle)) else (middle, high)
    return high
