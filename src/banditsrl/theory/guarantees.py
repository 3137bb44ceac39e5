"""What does the paper guarantee on a problem? Its times and regret bounds as numbers.

The paper defines tau_elim, tau_hls, tau_alg and tau_glrt as the smallest t that satisfies an
inequality, and this file solves those inequalities. If the problem violates an assumption, the
numbers are computed all the same, and one sentence is added for each violation.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from banditsrl.arguments import count, one_of, positive, probability
from banditsrl.display.charts import BarChart
from banditsrl.display.displayed import Displayed
from banditsrl.display.numerals import format_time
from banditsrl.display.summaries import Summary
from banditsrl.errors import InvalidArgument
from banditsrl.numerics.precision import in_float64
from banditsrl.problems.finite import FiniteProblem, check_finite_problem
from banditsrl.problems.problem_catalogue import look_up_problem
from banditsrl.theory.assumptions import list_violations
from banditsrl.theory.diagnosis import diagnose
from banditsrl.theory.inequalities import MAX_LOG2, Analysis, find_first_power, find_first_time
from banditsrl.theory.theory_words import draw_times, summarise_times

if TYPE_CHECKING:
    import polars as pl

BASES = ("linucb", "egreedy")
LOSSES = ("eig", "bic")


@dataclass(frozen=True, repr=False)
class Theory(Displayed):
    """The paper's times and regret bounds for BanditSRL on one problem.

    A time that does not exist, or lies beyond $2^{900}$, is infinite, and `notes` says why.

    Attributes:
        tau_elim: Step after which only realizable representations are left.
        tau_hls: Step after which the HLS representation is selected, provided that tau_elim has
            passed as well.
        tau_alg: The part of tau_hls and tau_glrt that is due to the base algorithm.
        tau_glrt: Step after which the test always passes, provided that tau_elim and tau_hls have
            passed as well.
        tau_opt: The largest of tau_elim, tau_hls and tau_glrt; there is no regret after it.
        bound: Regret bound of the main theorem, at the horizon if one is given.
        bound_single: Regret bound for a single realizable representation; None if there are more.
        bound_no_hls: Regret bound at the horizon if no realizable representation is HLS, otherwise
            None.
        violations: One sentence for each assumption that the problem violates.
        notes: Sentences that help to interpret the numbers.
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
        """Return (name, value, log10 of the value) of every number that is not None."""
        return tuple(
            (name, value, math.log10(value) if value > 0 else -math.inf)
            for name, value in asdict(self).items()
            if isinstance(value, float)
        )

    def __repr__(self) -> str:
        return (
            f"Theory(no regret after step {format_time(self.tau_opt)}, "
            f"regret at most {format_time(self.bound)})"
        )

    def summary(self) -> Summary:
        """Return what every number says, with the violated assumptions and the notes below."""
        return summarise_times(self.as_rows(), (*self.violations, *self.notes))

    def chart(self) -> BarChart:
        """Return the times on a logarithmic scale; a time that does not exist has no bar."""
        return draw_times(self.as_rows())

    def to_polars(self) -> "pl.DataFrame":
        """Return one row per number: its name, its value and the logarithm to base ten."""
        import polars as pl

        return pl.DataFrame(self.as_rows(), schema=["name", "value", "log10"], orient="row")


@in_float64
def theory(
    problem: FiniteProblem | str | Path,
    *,
    base: str = "linucb",
    loss: str = "eig",
    delta: float = 0.01,
    lam: float = 1.0,
    horizon: int | None = None,
) -> Theory:
    r"""Evaluate the paper's times and regret bounds, which hold with probability $1-4\delta$.

    Where a lemma and its proof differ, the numbers follow the proof: the constant is 328 in
    `tau_elim`, and $2g_t+16\sqrt{\cdot}$ in `tau_hls` for both losses. The paper takes the first
    $t$ that satisfies an inequality. Its lemmas need the first $t$ from which on all $t$ satisfy
    it, and that is what is computed; the two differ only if a small $t$ satisfies the inequality by
    accident. `tau_elim` uses the certified lower bound on $\varepsilon_\phi$. With a single
    representation the base is never reset, so its $g_t$ contains $\bar{R}(t,\phi,\delta)$ without
    the factor $\log_2t$.

    Args:
        problem: A finite problem with at least one candidate representation, or its name.
        base: The base algorithm, "linucb" or "egreedy".
        loss: "eig", or "bic" (best in class), which uses the worst-case $\bar{R}$ throughout.
        delta: Confidence level.
        lam: Ridge regulariser.
        horizon: T, at least 2; if it is None, `bound` holds for every T.

    Example:
        >>> from banditsrl.problems.synthetic import vardim
        >>> result = theory(vardim(variant="realizable"))
        >>> result.tau_elim, result.tau_opt == max(result.tau_hls, result.tau_glrt)
        (0.0, True)
    """
    known = check_finite_problem(look_up_problem(problem))
    diagnoses = [diagnose(known, k) for k in range(len(known.representations))]
    if not diagnoses:
        raise InvalidArgument("problem must have at least one representation, got none.")
    analysis = Analysis(
        problem=known,
        realizable=tuple(d for d in diagnoses if d.realizable),
        misspecified=tuple(d for d in diagnoses if not d.realizable),
        base=one_of("base", base, BASES),
        loss=one_of("loss", loss, LOSSES),
        delta=probability("delta", delta),
        lam=positive("lam", lam),
    )
    end = math.inf if horizon is None else float(count("horizon", horizon, 2))
    numbers = _compute_times(analysis)
    numbers |= _compute_bounds(analysis, end, **numbers)
    notes = tuple(_write_notes(analysis, end, numbers))
    return Theory(**numbers, violations=list_violations(known, diagnoses), notes=notes)


def _compute_times(analysis: Analysis) -> dict[str, Any]:
    star = analysis.star
    elim = _elimination_time(analysis)
    hls = alg = glrt = math.inf
    if star is not None:
        alg = find_first_power(lambda t: analysis.exceeds_base_regret(t, star))
        glrt = find_first_time(lambda t: analysis.certifies(t, star, elim))
        hls = 0.0  # a single representation is selected from the start
        if analysis.n_candidates > 1:
            hls = find_first_power(lambda t: analysis.selects(t, star, elim))
    return {
        "tau_elim": elim,
        "tau_hls": hls,
        "tau_alg": alg,
        "tau_glrt": glrt,
        "tau_opt": max(elim, hls, glrt),
    }


def _elimination_time(analysis: Analysis) -> float:
    if not analysis.misspecified:
        return 0.0
    known = all(phi.misspecification_lower > 0 for phi in analysis.misspecified)
    return find_first_power(analysis.eliminates) if known and analysis.realizable else math.inf


def _compute_bounds(
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
        bound = start + _phased_regret(analysis, min(steps, horizon), min(tau_opt, horizon), max)
        if analysis.n_candidates == 1:
            single = _single_regret(analysis, min(tau_glrt, horizon))
        elif analysis.star is None and horizon < math.inf:
            reduce = min if analysis.loss == "bic" else max
            no_hls = start + _phased_regret(analysis, horizon, horizon, reduce)
    return {"bound": bound, "bound_single": single, "bound_no_hls": no_hls}


def _phased_regret(
    analysis: Analysis, steps: float, end: float, reduce: Callable[[list[float]], float]
) -> float:
    """Return R-bar(steps, phi, delta_{log2 end} / |Phi|) log2(end), reduced over phi in Phi*."""
    if math.isinf(end):
        return math.inf
    t, level = jnp.asarray(steps), analysis.level(jnp.asarray(end))
    each = [float(analysis.regret(t, phi, level)) for phi in analysis.realizable]
    return reduce(each) * math.log2(end)


def _single_regret(analysis: Analysis, end: float) -> float:
    """Return R-bar(end, phi, delta) of the only representation."""
    if math.isinf(end):
        return math.inf
    return float(analysis.regret(jnp.asarray(end), analysis.realizable[0], analysis.delta))


def _write_notes(analysis: Analysis, horizon: float, numbers: dict[str, Any]) -> Iterator[str]:
    if not analysis.realizable:
        yield "The paper guarantees nothing here: no representation is realizable."
        return
    if n_unknown := sum(not d.misspecification_lower > 0 for d in analysis.misspecified):
        yield f"tau_elim is infinite: the misspecification of {n_unknown} candidates is unknown."
    if analysis.star is None:
        yield "tau_hls, tau_alg and tau_glrt are infinite: no realizable representation is HLS."
        if math.isinf(horizon):
            yield "Without an HLS representation there is a bound only with a horizon."
    elif math.isinf(numbers["tau_opt"]) and not n_unknown:
        names = [name for name in ("tau_elim", "tau_hls", "tau_glrt") if math.isinf(numbers[name])]
        yield (
            f"No t up to 2^{MAX_LOG2} satisfies the inequality, so these times are infinite: "
            f"{', '.join(names)}."
        )
    if numbers["bound"] > 2.0 * horizon:
        yield "The bound exceeds 2 T, the largest possible regret with rewards in [-1, 1]."
    yield from _write_notes_on_base(analysis)


def _write_notes_on_base(analysis: Analysis) -> Iterator[str]:
    if analysis.loss == "bic":
        if analysis.base == "egreedy":
            yield (
                "R-bar of e-greedy under bic is an order of magnitude, not a bound: see "
                "egreedy_worst_case."
            )
        return
    if analysis.base == "linucb":
        level = analysis.delta / analysis.n_candidates
        noise = analysis.problem.sigma * math.sqrt(2.0 * math.log(1.0 / level))
        prior = math.sqrt(analysis.lam) * min(phi.B for phi in analysis.realizable)
        if noise + prior > 2.0 * noise * prior:  # (noise + prior)^2 is beta^2
            yield (
                "R-bar of LinUCB multiplies two terms that its proof adds and may be too small: "
                f"beta starts at {noise:.3g} (noise) + {prior:.3g} (sqrt(lam) B)."
            )
