"""What does the paper promise on this problem? Its times and regret bounds as numbers.

The paper defines tau_elim, tau_hls, tau_alg and tau_glrt as the smallest t that satisfies an
inequality; here the inequalities are evaluated and solved. A problem that violates an assumption
still gets numbers, next to a sentence for each assumption that it violates.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from banditsrl.arguments import count, one_of, positive, probability
from banditsrl.errors import InvalidArgument
from banditsrl.linear import regret
from banditsrl.linear.bounds import beta, design_deviation, phase_level
from banditsrl.linear.lanes import double
from banditsrl.problems.finite import FiniteProblem
from banditsrl.representations.spectrum import Diagnosis, diagnose

MAX_LOG2 = 900
"""Times beyond 2^900 are reported as infinite; up to there every product fits a float."""

ROUNDING = 1e-9
"""What an assumed bound of one may be exceeded by before it counts as violated."""

TIMES = ("tau_elim", "tau_hls", "tau_alg", "tau_glrt", "tau_opt")
BOUNDS = ("bound", "bound_single", "bound_no_hls")


@dataclass(frozen=True)
class Theory:
    """The paper's times and regret bounds for BanditSRL on one problem.

    A time that does not exist, or lies beyond 2^900, is infinite; `notes` says why.

    Attributes:
        tau_elim: From here on only realizable representations are left.
        tau_hls: From here on, and from tau_elim, the HLS representation is selected.
        tau_alg: The base algorithm's own share of tau_hls and tau_glrt.
        tau_glrt: From here on, and from the other two, the test always triggers.
        tau_opt: The largest of tau_elim, tau_hls and tau_glrt: no regret after it.
        bound: Regret bound of the main theorem, at the horizon if there is one.
        bound_single: The same when the only representation is realizable; None otherwise.
        bound_no_hls: The same at the horizon when no representation is HLS; None otherwise.
        violations: One sentence for each assumption that the problem violates.
        notes: What else to know when reading the numbers.
    """

    tau_elim: float
    tau_hls: float
    tau_alg: float
    tau_glrt: float
    tau_opt: float
    bound: float
    bound_single: float | None
    bound_no_hls: float | None
    violations: tuple[str, ...]
    notes: tuple[str, ...]

    def as_rows(self) -> tuple[tuple[str, float, float], ...]:
        """(name, value, log10 of the value) of every number that applies; log10 of 0 is -inf."""
        numbers = [(name, getattr(self, name)) for name in TIMES + BOUNDS]
        return tuple(
            (name, value, math.log10(value) if value > 0 else -math.inf)
            for name, value in numbers
            if value is not None
        )


@double
def theory(
    problem: FiniteProblem,
    *,
    base: str = "linucb",
    loss: str = "eig",
    delta: float = 0.01,
    lam: float = 1.0,
    horizon: int | None = None,
) -> Theory:
    """Evaluate the paper's times and regret bounds, which hold with probability 1 - 4 delta.

    Where lemmas and proofs disagree the proofs are followed: the constant 328 in tau_elim, and
    2 g_t + 16 sqrt(...) in tau_hls for both losses. Where the paper takes the first t that
    satisfies an inequality, this takes the first from which all do, which its lemmas need; they
    differ only if a small t satisfies it by accident. tau_elim uses the certified lower bound on
    epsilon_phi. The base of a single representation is never reset, so that its regret is
    R-bar(t, phi, delta), without the factor log2(t).

    Args:
        problem: A finite problem with at least one candidate representation.
        base: The base algorithm, "linucb" or "egreedy".
        loss: "eig", or "bic" (best in class), where R-bar is the worst-case one throughout.
        delta: Confidence level.
        lam: Ridge regularisation.
        horizon: T, at least 2; without it `bound` holds for every T.

    Example:
        >>> from banditsrl.problems.synthetic import vardim
        >>> result = theory(vardim(variant="realizable"))
        >>> result.tau_elim, result.tau_opt == max(result.tau_hls, result.tau_glrt)
        (0.0, True)
    """
    diagnoses = tuple(diagnose(problem, k) for k in range(len(problem.representations)))
    if not diagnoses:
        raise InvalidArgument("problem must have at least one representation, got none.")
    setting = _Setting(
        problem=problem,
        realizable=tuple(d for d in diagnoses if d.realizable),
        misspecified=tuple(d for d in diagnoses if not d.realizable),
        base=one_of("base", base, ("linucb", "egreedy")),
        loss=one_of("loss", loss, ("eig", "bic")),
        delta=probability("delta", delta),
        lam=positive("lam", lam),
        horizon=math.inf if horizon is None else float(count("horizon", horizon, 2)),
    )
    times = _times(setting)
    bounds = _bounds(setting, times)
    violations = tuple(_violations(problem, diagnoses))
    return Theory(
        *times, *bounds, violations=violations, notes=tuple(_notes(setting, times, bounds[0]))
    )


@dataclass(frozen=True)
class _Setting:
    """The problem and the settings, with the functions of t (an array) the times are made of."""

    problem: FiniteProblem
    realizable: tuple[Diagnosis, ...]
    misspecified: tuple[Diagnosis, ...]
    base: str
    loss: str
    delta: float
    lam: float
    horizon: float

    @property
    def n_candidates(self) -> int:
        return len(self.realizable) + len(self.misspecified)

    @property
    def star(self) -> Diagnosis | None:
        """phi*, the realizable HLS representation; of several, the one the loss would prefer."""
        hls = [d for d in self.realizable if d.hls]
        return max(hls, key=lambda d: d.lambda_star / d.L**2) if hls else None

    def regret(self, t: Any, phi: Diagnosis, level: Any) -> Any:
        """R-bar(t, phi, level) of the base algorithm."""
        known = {"dim": phi.dim, "L": phi.L, "B": phi.B, "lam": self.lam, "delta": level}
        known["sigma"], n_actions = self.problem.sigma, self.problem.n_actions
        if self.base == "linucb" and self.loss == "eig":
            return regret.linucb_regret(t, gap=jnp.asarray(self.problem.gap), **known)
        if self.base == "linucb":
            return regret.linucb_worst_case(t, **known)
        if self.loss == "eig":
            gamma = jnp.asarray(phi.gamma)
            return regret.egreedy_regret(t, gamma=gamma, n_actions=n_actions, **known)
        return regret.egreedy_worst_case(t, n_actions=n_actions, **known)

    def regrets(self, t: Any, until: Any) -> Any:
        """R-bar(t, phi, delta_{log2 until} / |Phi|) of every realizable phi, (realizable, n)."""
        level = phase_level(jnp.log2(until), self.delta) / self.n_candidates
        return jnp.stack([self.regret(t, phi, level) for phi in self.realizable])

    def total(self, t: Any) -> Any:
        """Regret of all phases up to t after elimination: max over phi of R-bar, times log2(t)."""
        if self.n_candidates == 1:
            return self.regret(t, self.realizable[0], self.delta)
        return self.regrets(t, t).max(axis=0) * jnp.log2(t)

    def pulls(self, t: Any, tau_elim: float) -> Any:
        """g_t(Phi, Delta, delta): how often a suboptimal action is played up to t."""
        return (2.0 * tau_elim + self.total(t)) / jnp.asarray(self.problem.gap)

    def deviation(self, t: Any, dim: int) -> Any:
        """8 sqrt(t log(4 d |Phi| t / delta))."""
        return design_deviation(t, dim=dim, n_candidates=self.n_candidates, delta=self.delta)

    def survival(self, t: Any) -> Any:
        """A misspecified phi may survive until t is this large (Lemma "Elimination")."""
        def cover(phi: Diagnosis) -> Any:  # D_t; a cover has at least one point
            return 160.0 * phi.dim * jnp.log(jnp.maximum(12.0 * phi.L * phi.B * t, 1.0))

        shared = jnp.stack([cover(phi) for phi in self.realizable]).min(axis=0)
        shared += 328.0 * (jnp.log(8.0 * self.n_candidates**2 / self.delta) + 3.0 * jnp.log(t))
        excess = [(cover(d) + shared) / d.misspecification_lower for d in self.misspecified]
        return jnp.stack(excess).max(axis=0)


def _times(s: _Setting) -> tuple[float, float, float, float, float]:
    """tau_elim, tau_hls, tau_alg, tau_glrt, tau_opt."""
    tau_elim, star = _elimination(s), s.star
    if star is None:
        return tau_elim, math.inf, math.inf, math.inf, math.inf
    share = star.lambda_star / star.L**2
    widest = max(phi.dim for phi in s.realizable)
    noise = 16.0 * jnp.asarray(s.problem.gap) ** -2.0

    def selected(t: Any) -> Any:
        needed = 2.0 * s.pulls(t, tau_elim) + 2.0 * s.deviation(t, widest)
        if s.loss == "bic":
            needed += s.regret(t, star, s.level(t))
        return t * share > needed

    def certain(t: Any) -> Any:
        level = s.delta / s.n_candidates
        radius = beta(
            t, dim=star.dim, delta=level, sigma=s.problem.sigma, lam=s.lam, L=star.L, B=star.B
        )
        needed = noise * radius**2 + s.pulls(t, tau_elim) + s.deviation(t, star.dim)
        return (t - 1.0) * share >= needed

    tau_hls = _first_power(selected) if s.n_candidates > 1 else 0.0
    tau_alg = _first_power(lambda t: t * share > 8.0 * s.pulls(t, 0.0))
    tau_glrt = _first_time(certain)
    return tau_elim, tau_hls, tau_alg, tau_glrt, max(tau_elim, tau_hls, tau_glrt)


def _elimination(s: _Setting) -> float:
    if not s.misspecified:
        return 0.0
    if not s.realizable or not all(d.misspecification_lower > 0 for d in s.misspecified):
        return math.inf
    return _first_power(lambda t: t > s.survival(t))


def _first_power(holds: Callable[[Any], Any]) -> float:
    """The smallest 2^j, j > 0, from which `holds` is true at every power of two."""
    powers = 2.0 ** np.arange(1, MAX_LOG2 + 1)
    failing = np.flatnonzero(~np.asarray(holds(powers)))
    first = int(failing[-1]) + 1 if failing.size else 0
    return float(powers[first]) if first < len(powers) else math.inf


def _first_time(holds: Callable[[Any], Any]) -> float:
    """The smallest integer from which `holds` is true: doubling, then bisection between powers.

    Beyond 2^53 integers are no longer told apart and it is the smallest float.
    """
    high = _first_power(holds)
    low = high / 2.0
    while low < (middle := (low + high) // 2.0) < high:
        low, high = (low, middle) if bool(holds(np.array([middle]))[0]) else (middle, high)
    return high


def _bounds(
    s: _Setting, tau_elim: float, tau_glrt: float, tau_opt: float
) -> tuple[float, float | None, float | None]:
    """The bound of the main theorem and of its two corollaries."""
    if not s.realizable:
        return math.inf, None, None

    def phased(steps: float, end: float, worst: Callable[..., Any]) -> float:
        if math.isinf(tau_elim) or math.isinf(end):
            return math.inf
        base = worst(s.regrets(jnp.asarray(steps), jnp.asarray(end)))
        return 2.0 * tau_elim + float(base) * math.log2(end)

    T = s.horizon
    bound = phased(min(tau_opt - tau_elim, T), min(tau_opt, T), jnp.max)
    single = no_hls = None
    if s.n_candidates == 1:
        end = min(tau_glrt, T)
        single = float(s.regret(jnp.asarray(end), s.realizable[0], s.delta))
    elif s.star is None and T < math.inf:
        no_hls = phased(T, T, jnp.min if s.loss == "bic" else jnp.max)
    return bound, single, no_hls


def _violations(problem: FiniteProblem, diagnoses: tuple[Diagnosis, ...]) -> Iterator[str]:
    """One sentence for each assumption of Section 2 that does not hold."""
    if problem.noise == "gaussian" and problem.noise_std > 0:
        yield "Rewards must satisfy |y| <= 1 almost surely, but Gaussian noise has no bound."
    largest = np.abs(problem.mean_rewards[problem.available & (problem.rho > 0)[:, None]]).max()
    if largest > 1.0 + ROUNDING:
        yield f"Rewards must satisfy |y| <= 1, but a mean reward is {largest:.3g} in size."
    reach = max(d.L * d.B for d in diagnoses)
    if reach > 1.0 + ROUNDING:
        yield f"|phi.theta| must be at most 1 for theta in the ball, but L B reaches {reach:.3g}."
    if not problem.gap > 0:
        yield "The smallest gap must be positive, but some context has two optimal actions."
    realizable = [k for k, d in enumerate(diagnoses) if d.realizable]
    if not realizable:
        yield "Some representation must be realizable, but none is."
    if redundant := [k for k in realizable if diagnoses[k].redundant]:
        yield f"Realizable representations must not be redundant, but {redundant} are."
    n_hls = sum(diagnoses[k].hls for k in realizable)
    if n_hls != 1:
        yield f"One realizable representation must be HLS, but {n_hls or 'none'} are."
    unknown = [
        k for k, d in enumerate(diagnoses) if not d.realizable and d.misspecification_lower == 0
    ]
    if unknown:
        yield f"Misspecification must be positive, but for {unknown} it is unknown (bound 0)."


def _notes(s: _Setting, result: dict[str, Any]) -> Iterator[str]:
    ...
