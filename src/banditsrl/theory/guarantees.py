"""What does the paper promise on this problem? Its times and regret bounds as numbers.

The paper defines tau_elim, tau_hls, tau_alg and tau_glrt as the smallest t that satisfies an
inequality; here the inequalities are solved. A problem that violates an assumption still gets
numbers, next to a sentence for each assumption that it violates.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import jax.numpy as jnp

from banditsrl.arguments import count, one_of, positive, probability
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.problems.finite import FiniteProblem, check_finite_problem
from banditsrl.theory.assumptions import violations
from banditsrl.theory.diagnosis import diagnose
from banditsrl.theory.inequalities import MAX_LOG2, Analysis, first_power, first_time

BASES = ("linucb", "egreedy")
LOSSES = ("eig", "bic")


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
        bound_single: The bound for one realizable representation; None if there are more.
        bound_no_hls: The bound at the horizon when no realizable one is HLS; None otherwise.
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
        return tuple(
            (name, value, math.log10(value) if value > 0 else -math.inf)
            for name, value in asdict(self).items()
            if isinstance(value, float)
        )


@in_float64
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
    satisfies an inequality, this takes the first from which all do, which its lemmas need; the
    two differ only if a small t satisfies it by accident. tau_elim uses the certified lower bound
    on epsilon_phi. The base of a single representation is never reset, so its g_t holds
    R-bar(t, phi, delta) without the factor log2(t).

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
    candidates = check_finite_problem(problem).representations
    diagnoses = [diagnose(problem, k) for k in range(len(candidates))]
    if not diagnoses:
        raise InvalidArgument("problem must have at least one representation, got none.")
    analysis = Analysis(
        problem=problem,
        realizable=tuple(d for d in diagnoses if d.realizable),
        misspecified=tuple(d for d in diagnoses if not d.realizable),
        base=one_of("base", base, BASES),
        loss=one_of("loss", loss, LOSSES),
        delta=probability("delta", delta),
        lam=positive("lam", lam),
    )
    end = math.inf if horizon is None else float(count("horizon", horizon, 2))
    numbers = _times(analysis)
    numbers |= _bounds(analysis, end, **numbers)
    notes = tuple(_notes(analysis, end, numbers))
    return Theory(**numbers, violations=violations(problem, diagnoses), notes=notes)


def _times(analysis: Analysis) -> dict[str, Any]:
    star = analysis.star
    elim = _elimination(analysis)
    hls = alg = glrt = math.inf
    if star is not None:
        alg = first_power(lambda t: analysis.outgrows(t, star))
        glrt = first_time(lambda t: analysis.certifies(t, star, elim))
        hls = 0.0  # a single representation is selected from the start
        if analysis.n_candidates > 1:
            hls = first_power(lambda t: analysis.selects(t, star, elim))
    return {
        "tau_elim": elim,
        "tau_hls": hls,
        "tau_alg": alg,
        "tau_glrt": glrt,
        "tau_opt": max(elim, hls, glrt),
    }


def _elimination(analysis: Analysis) -> float:
    if not analysis.misspecified:
        return 0.0
    known = all(phi.misspecification_lower > 0 for phi in analysis.misspecified)
    return first_power(analysis.eliminates) if known and analysis.realizable else math.inf


def _bounds(
    analysis: Analysis,
    horizon: float,
    *,
    tau_elim: float,
    tau_glrt: float,
    tau_opt: float,
    **_: float,
) -> dict[str, Any]:
    bound, single, no_hls = math.inf, None, None
    if analysis.realizable:
        start = 2.0 * tau_elim
        steps = tau_opt - tau_elim if tau_elim < math.inf else math.inf
        bound = start + _phased(analysis, min(steps, horizon), min(tau_opt, horizon), max)
        if analysis.n_candidates == 1:
            single = _single(analysis, min(tau_glrt, horizon))
        elif analysis.star is None and horizon < math.inf:
            reduce = min if analysis.loss == "bic" else max
            no_hls = start + _phased(analysis, horizon, horizon, reduce)
    return {"bound": bound, "bound_single": single, "bound_no_hls": no_hls}


def _phased(
    analysis: Analysis, steps: float, end: float, reduce: Callable[[list[float]], float]
) -> float:
    """R-bar(steps, phi, delta_{log2 end} / |Phi|) log2(end), reduced over the realizable phi."""
    if math.isinf(end):
        return math.inf
    t, level = jnp.asarray(steps), analysis.level(jnp.asarray(end))
    each = [float(analysis.regret(t, phi, level)) for phi in analysis.realizable]
    return reduce(each) * math.log2(end)


def _single(analysis: Analysis, end: float) -> float:
    """R-bar(end, phi, delta) of the only representation."""
    if math.isinf(end):
        return math.inf
    return float(analysis.regret(jnp.asarray(end), analysis.realizable[0], analysis.delta))


def _notes(analysis: Analysis, horizon: float, numbers: dict[str, Any]) -> Iterator[str]:
    if not analysis.realizable:
        yield "Nothing is promised: no representation is realizable."
        return
    if n_unknown := sum(not d.misspecification_lower > 0 for d in analysis.misspecified):
        yield f"tau_elim is infinite: the misspecification of {n_unknown} candidates is unknown."
    if analysis.star is None:
        yield "tau_hls, tau_alg and tau_glrt are infinite: no realizable representation is HLS."
        if math.isinf(horizon):
            yield "Without an HLS representation there is a bound only with a horizon."
    elif math.isinf(numbers["tau_opt"]) and not n_unknown:
        names = [name for name in ("tau_elim", "tau_hls", "tau_glrt") if math.isinf(numbers[name])]
        yield f"Given as infinite, since found at no t up to 2^{MAX_LOG2}: {', '.join(names)}."
    if numbers["bound"] > 2.0 * horizon:
        yield "The bound exceeds 2 T, the most that rewards in [-1, 1] can lose."
    yield from _notes_on_base(analysis)


def _notes_on_base(analysis: Analysis) -> Iterator[str]:
    if analysis.loss == "bic":
        if analysis.base == "egreedy":
            yield "R-bar of e-greedy under bic is an order of magnitude, not a bound: see its doc."
        return
    if analysis.base == "linucb":
        level = analysis.delta / analysis.n_candidates
        noise = analysis.problem.sigma * math.sqrt(2.0 * math.log(1.0 / level))
        prior = math.sqrt(analysis.lam) * min(phi.B for phi in analysis.realizable)
        if noise + prior > 2.0 * noise * prior:  # (noise + prior)^2 is beta^2
            yield (
                "R-bar of LinUCB multiplies where its proof adds, and may be too small here: "
                f"beta starts at {noise:.3g} (noise) + {prior:.3g} (sqrt(lam) B)."
            )
