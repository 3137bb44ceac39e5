"""How good is each embedding that can be made from plain columns? Errors on held-out rounds.

Every candidate of `column_candidates.py` predicts every reward by a fit to other rounds: rounds are
dealt into `N_FOLDS` parts at random, and those of one part are predicted from the others. This
error decides between candidates; it includes what the candidate cannot learn from so few rounds.

Whether a candidate *could* explain the rewards is another question. A fixed candidate is judged by
its least-squares fit to all rounds, whose squared error, corrected for the number of parameters, is
that of the noise if rewards are linear in it. The noise comes from repeated rounds where there are
enough, and otherwise from the candidate of least error, which contains the noise.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.theory.block_features import (
    BlockFit,
    choose_greedy,
    fit_blocks,
    fit_residuals,
    measure_blocks,
)
from banditsrl.theory.certificate_forecast import Forecast, forecast_certificates
from banditsrl.theory.column_candidates import (
    ColumnCandidate,
    ColumnFeatures,
    ColumnRounds,
    list_candidates,
)
from banditsrl.theory.log_designs import BlockDesign
from banditsrl.theory.log_diagnosis import (
    MIN_FREEDOM,
    LoggedDiagnosis,
    Noise,
    compare_repeats,
    compare_with_noise,
    mean_and_stderr,
)

N_FOLDS = 5
"""Number of parts into which rounds are dealt."""

LAM = 0.1
"""Ridge parameter of the fits; that of the policies that play on such embeddings."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class ColumnDiagnosis(NamedTuple):
    """What the log shows about one candidate."""

    logged: LoggedDiagnosis  # its error is that on held-out rounds
    held_out: Floats  # (n,) squared errors on held-out rounds
    forecast: Forecast | None  # None if the candidate was fitted to rewards


def diagnose_columns(
    rounds: ColumnRounds, *, n_rounds: int | None = None
) -> tuple[Noise, dict[str, ColumnDiagnosis]]:
    """Return the noise, and what the log shows about every candidate.

    Args:
        rounds: The rounds, or a random sample of them.
        n_rounds: Number of rounds of the whole log; by default, all were given.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x, a = rng.normal(size=(600, 2)), rng.integers(0, 2, 600)
        >>> y = np.where(a == 1, x[:, 0], 0.2) + 0.1 * rng.normal(size=600)
        >>> noise, found = diagnose_columns(ColumnRounds(x, a, y, n_actions=2))
        >>> found["constant"].logged.realizable, found["columns"].logged.realizable
        (False, True)
    """
    drafts = {
        candidate.name: _examine_candidate(candidate, rounds)
        for candidate in list_candidates(rounds)
    }
    noise, reference = _estimate_noise(rounds, drafts)
    n = len(rounds.rewards) if n_rounds is None else n_rounds
    return noise, {
        name: _complete(draft, rounds, noise, reference, n) for name, draft in drafts.items()
    }


class _Draft(NamedTuple):
    """What can be said about a candidate before the noise is known."""

    logged: LoggedDiagnosis
    held_out: Floats
    fitted: Floats | None
    design: BlockDesign | None


def _examine_candidate(candidate: ColumnCandidate, rounds: ColumnRounds) -> _Draft:
    """Measure one candidate; its features are dropped afterwards."""
    held_out = held_out_squares(candidate, rounds)
    psi, base = features = candidate.embed(np.ones(len(rounds.rewards), dtype=bool))
    fit = _fit_ridge(features, rounds, np.ones(len(psi), dtype=bool))
    values = fit.predict(psi) if base is None else fit.predict(psi) + base
    greedy = choose_greedy(values, rounds.available)
    spectra = measure_blocks(
        psi, rounds.actions, greedy, n_actions=rounds.n_actions, available=rounds.available
    )
    error, error_stderr = mean_and_stderr(held_out)
    logged = LoggedDiagnosis(
        dim=rounds.n_actions * psi.shape[1],
        error=error,
        error_stderr=error_stderr,
        n_rounds=len(held_out),
        excess=np.nan,
        excess_stderr=np.nan,
        realizable=None,
        B=float(np.linalg.norm(fit.theta)),
        **spectra._asdict(),
    )
    if not candidate.is_fixed:
        return _Draft(logged, held_out, None, None)
    return _Draft(logged, held_out, _fitted_squares(psi, rounds), _make_design(psi, rounds))


def _make_design(psi: Floats, rounds: ColumnRounds) -> BlockDesign:
    return BlockDesign(
        psi,
        rounds.actions,
        rounds.rewards,
        n_actions=rounds.n_actions,
        available=rounds.available,
    )


def held_out_squares(candidate: ColumnCandidate, rounds: ColumnRounds) -> Floats:
    """Return the squared error of every round, (n,), predicted by a fit to other rounds."""
    n = len(rounds.rewards)
    part = deal_parts(n)
    errors = np.empty(n)
    for number in range(N_FOLDS):
        seen = part != number
        psi, base = features = candidate.embed(seen)
        fit = _fit_ridge(features, rounds, seen)
        places = np.flatnonzero(~seen)
        played = rounds.actions[places]
        found = (psi[places] * fit.theta[played]).sum(axis=1) + fit.location
        errors[places] = _subtract_base(base, rounds)[places] - found
    return errors**2


def deal_parts(n: int) -> NDArray[np.int64]:
    """Return the part of every round, (n,): as equally many rounds as possible, at random."""
    return np.random.default_rng(0).permutation(n) % N_FOLDS


def _subtract_base(base: Floats | None, rounds: ColumnRounds) -> Floats:
    """Return what is left of the rewards for ridge regression, (n,)."""
    if base is None:
        return rounds.rewards
    return rounds.rewards - base[np.arange(len(base)), rounds.actions]


def _fit_ridge(features: ColumnFeatures, rounds: ColumnRounds, seen: Bools) -> BlockFit:
    """Return the ridge fit to the seen rounds, shrunk towards the mean of their rewards."""
    rest = _subtract_base(features.base, rounds)[seen]
    return fit_blocks(
        features.psi[seen],
        rounds.actions[seen],
        rest,
        n_actions=rounds.n_actions,
        lam=LAM,
        location=float(rest.mean()) if len(rest) else 0.0,
    )


def _fitted_squares(psi: Floats, rounds: ColumnRounds) -> Floats | None:
    """Return squares, (n,), whose mean is the variance of the noise if rewards are linear."""
    residuals, freedom = fit_residuals(
        psi, rounds.actions, rounds.rewards, n_actions=rounds.n_actions
    )
    n = len(residuals)
    enough = freedom >= max(MIN_FREEDOM, n / 2)  # the correction of fewer is unreliable
    return residuals**2 * (n / freedom) if enough else None


def _estimate_noise(rounds: ColumnRounds, drafts: dict[str, _Draft]) -> tuple[Noise, Floats | None]:
    """Return the noise, and one term per round, (n,), whose mean is the variance."""
    n = len(rounds.rewards)
    residuals, freedom = compare_repeats(rounds.contexts, rounds.actions, rounds.rewards)
    if freedom >= MIN_FREEDOM:
        squares = residuals**2 * (n / freedom)
        return Noise(float(squares.mean()), freedom, "repeats"), squares
    if n < MIN_FREEDOM:
        return Noise(float("nan"), 0, "best"), None
    terms = [draft.held_out for draft in drafts.values()]
    terms += [draft.fitted for draft in drafts.values() if draft.fitted is not None]
    best = min(terms, key=lambda squares: float(squares.mean()))
    return Noise(float(best.mean()), n, "best"), best


def _complete(
    draft: _Draft, rounds: ColumnRounds, noise: Noise, reference: Floats | None, n: int
) -> ColumnDiagnosis:
    """Compare a candidate with the noise, and forecast its certificates."""
    judged = draft.held_out if draft.fitted is None else draft.fitted
    excess, stderr, realizable = compare_with_noise(judged, reference, rounds.rewards)
    if draft.fitted is None:  # these errors contain what could not be learned from so few rounds
        realizable = None
    logged = replace(draft.logged, excess=excess, excess_stderr=stderr, realizable=realizable)
    forecast = None
    if draft.design is not None and noise.variance > 0.0:
        forecast = forecast_certificates(draft.design, n=n, sigma=float(np.sqrt(noise.variance)))
    return ColumnDiagnosis(logged, draft.held_out, forecast)
