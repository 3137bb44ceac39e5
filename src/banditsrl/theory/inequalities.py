"""From which t on do the paper's inequalities hold? Its functions of t, and how they are solved.

Times become astronomically large (the bound for e-greedy holds an eighth power) but fit a float:
an inequality is evaluated at every power of two up to 2^900 at once, then bisected in between.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from banditsrl.linear import regret
from banditsrl.linear.bounds import beta, design_deviation, phase_level
from banditsrl.problems.finite import FiniteProblem
from banditsrl.theory.diagnosis import Diagnosis

MAX_LOG2 = 900
"""Times beyond 2^900 count as infinite; up to there every product still fits a float."""

Times = Any  # t: a number or a float64 array, and every function of it alike


@dataclass(frozen=True)
class Analysis:
    """The paper's functions of t for BanditSRL on one problem; evaluate them in float64.

    Attributes:
        problem: The problem.
        realizable: Diagnoses of Phi*, not empty.
        misspecified: Diagnoses of the other candidates.
        base: "linucb" or "egreedy".
        loss: "eig", or "bic", whose R-bar is the worst-case one.
        delta: Confidence level.
        lam: Ridge regularisation.
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
        """|Phi|."""
        return len(self.realizable) + len(self.misspecified)

    @property
    def star(self) -> Diagnosis | None:
        """phi*, the realizable HLS representation; of several, the one the loss would prefer."""
        hls = [phi for phi in self.realizable if phi.hls]
        return max(hls, key=lambda phi: phi.lambda_star / phi.L**2) if hls else None

    def level(self, t: Times) -> Times:
        """delta_{log2 t} / |Phi|."""
        return phase_level(jnp.log2(t), self.delta) / self.n_candidates

    def regret(self, t: Times, phi: Diagnosis, level: Times) -> Times:
        """R-bar(t, phi, level) of the base algorithm."""
        known = {**self._radius(phi), "delta": level}
        n_actions = self.problem.n_actions
        if self.base == "linucb" and self.loss == "eig":
            return regret.linucb_regret(t, gap=jnp.asarray(self.problem.gap), **known)
        if self.base == "linucb":
            return regret.linucb_worst_case(t, **known)
        if self.loss == "bic":
            return regret.egreedy_worst_case(t, n_actions=n_actions, **known)
        gamma = jnp.asarray(phi.gamma)
        return regret.egreedy_regret(t, gamma=gamma, n_actions=n_actions, **known)

    def total(self, t: Times) -> Times:
        """Regret up to t once all is realizable: max over phi of R-bar, in each of log2(t) phases.

        The base of a single representation is never reset: R-bar(t, phi, delta).
        """
        if self.n_candidates == 1:
            return self.regret(t, self.realizable[0], self.delta)
        each = [self.regret(t, phi, self.level(t)) for phi in self.realizable]
        return jnp.stack(each).max(axis=0) * jnp.log2(t)

    def pulls(self, t: Times, tau_elim: float) -> Times:
        """g_t(Phi, Delta, delta): how often suboptimal actions are played up to t."""
        return (2.0 * tau_elim + self.total(t)) / jnp.asarray(self.problem.gap)

    def eliminates(self, t: Times) -> Times:
        """Whether no misspecified candidate survives at t (constant 328, from the proof)."""

        def cover(phi: Diagnosis) -> Times:  # D_t; a cover has at least one point
            return 160.0 * phi.dim * jnp.log(jnp.maximum(12.0 * phi.L * phi.B * t, 1.0))

        shared = jnp.stack([cover(phi) for phi in self.realizable]).min(axis=0)
        shared += 328.0 * (jnp.log(8.0 * self.n_candidates**2 / self.delta) + 3.0 * jnp.log(t))
        needed = [(cover(phi) + shared) / phi.misspecification_lower for phi in self.misspecified]
        return t > jnp.stack(needed).max(axis=0)

    def selects(self, t: Times, star: Diagnosis, tau_elim: float) -> Times:
        """Whether the loss prefers phi* at t (2 g + 16 sqrt(...), from the proofs)."""
        needed = 2.0 * self.pulls(t, tau_elim)
        needed += 2.0 * self._deviation(t, max(phi.dim for phi in self.realizable))
        if self.loss == "bic":
            needed += self.regret(t, star, self.level(t))
        return t * star.lambda_star / star.L**2 > needed

    def outgrows(self, t: Times, star: Diagnosis) -> Times:
        """Whether t has outgrown the base algorithm's own regret, for tau_alg."""
        return t * star.lambda_star / star.L**2 > 8.0 * self.pulls(t, 0.0)

    def certifies(self, t: Times, star: Diagnosis, tau_elim: float) -> Times:
        """Whether the test triggers at t in every context (Lemma "Triggering the GLRT")."""
        radius = beta(t, delta=self.delta / self.n_candidates, **self._radius(star))
        needed = 16.0 * (radius / jnp.asarray(self.problem.gap)) ** 2
        needed += self.pulls(t, tau_elim) + self._deviation(t, star.dim)
        return t >= star.L**2 / star.lambda_star * needed + 1.0

    def _deviation(self, t: Times, dim: int) -> Times:
        return design_deviation(t, dim=dim, n_candidates=self.n_candidates, delta=self.delta)

    def _radius(self, phi: Diagnosis) -> dict[str, Any]:
        sigma = self.problem.sigma
        return {"dim": phi.dim, "L": phi.L, "B": phi.B, "lam": self.lam, "sigma": sigma}


def first_power(holds: Callable[[Times], Times]) -> float:
    """The smallest 2^j, j > 0, from which `holds` is true at every power of two; or infinity."""
    powers = 2.0 ** np.arange(1, MAX_LOG2 + 1)
    failing = np.flatnonzero(~np.asarray(holds(powers)))
    first = int(failing[-1]) + 1 if failing.size else 0
    return float(powers[first]) if first < len(powers) else math.inf


def first_time(holds: Callable[[Times], Times]) -> float:
    """The smallest integer above 1 from which `holds` is true: doubling, then bisection.

    Between two powers of two `holds` is taken to change once. Beyond 2^53, where floats skip
    integers, the answer is the smallest float.
    """
    high = first_power(holds)
    low = high / 2.0
    while low < (middle := (low + high) // 2.0) < high:
        low, high = (low, middle) if bool(holds(middle)) else (middle, high)
    return high
