"""What came of a simulation? Regret, certificates and choices of representation, per seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.display.charts import LineChart, make_line
from banditsrl.display.displayed import Displayed
from banditsrl.display.intervals import BAND, margin_of_mean
from banditsrl.display.numerals import (
    NO_VALUE,
    format_count,
    format_plus_minus,
    format_share,
)
from banditsrl.display.summaries import Summary
from banditsrl.errors import InvalidArgument
from banditsrl.simulation.result_tables import name_rows
from banditsrl.simulation.shares import HALF, CertificateCounts, increase_after

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Result(Displayed):
    """One policy on one problem, over some seeds (S), recorded at some steps (K).

    `print` shows its summary, and a notebook shows a table and a small plot as well.

    Counts are cumulative up to each recorded step. A round is certified if its choice was: by the
    test (counted in `certified`), or because there was nothing to decide (counted in `trivial`:
    one available action, or equal embeddings). A certificate is *wrong* if the action was not
    optimal. Shares of these counts are defined in `simulation.shares`.

    Attributes:
        problem: Name of the problem.
        policy: Name of the policy.
        horizon: Number of steps.
        seeds: The seeds, (S,).
        steps: The recorded steps, (K,).
        regret: Cumulative pseudo-regret, (S, K).
        certified: Rounds decided by the test, (S, K).
        trivial: Rounds with nothing to decide, (S, K).
        wrong: Rounds of both kinds whose action was not optimal, (S, K).
        wrong_regret: The regret of those rounds, (S, K).
        last_regret: The last step with positive regret, zero if none, (S,).
        last_uncertified: The last step that was not certified, (S,).
        largest_reward: The largest absolute reward, (S,).
        phases: The phase ends at which the policy was refreshed, (J,).
        reports: What the policy reported at the start and after each phase, by name,
            (S, J + 1, ...): for BanditSRL "representation" and "active".
        state: The final policy states, one per seed along the last axis of every leaf.
        pmf_draws: Monte-Carlo draws behind the policy's pmf; zero means exact.
        seconds: Wall time of the simulation, compilation included.
    """

    problem: str
    policy: str
    horizon: int
    seeds: NDArray[np.int64]
    steps: NDArray[np.int64]
    regret: Floats
    certified: Floats
    trivial: Floats
    wrong: Floats
    wrong_regret: Floats
    last_regret: NDArray[np.int64]
    last_uncertified: NDArray[np.int64]
    largest_reward: Floats
    phases: NDArray[np.int64]
    reports: dict[str, NDArray[Any]]
    state: Any
    pmf_draws: int
    seconds: float

    @property
    def n_seeds(self) -> int:
        """Number of seeds S."""
        return len(self.seeds)

    @property
    def mean(self) -> Floats:
        """Mean regret over seeds, (K,)."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def stderr(self) -> Floats:
        """Standard error of the mean regret, (K,); nan for a single seed."""
        if self.n_seeds == 1:
            return np.full(self.regret.shape[1], np.nan)
        return np.asarray(self.regret.std(axis=0, ddof=1) / np.sqrt(self.n_seeds))

    @property
    def certificates(self) -> CertificateCounts:
        """The counts of certified and wrong rounds, from which all shares are computed."""
        return CertificateCounts(self.horizon, self.steps, self.certified, self.trivial, self.wrong)

    @property
    def certified_share(self) -> Floats:
        """Certified rounds over rounds, between consecutive recorded steps, (S, K)."""
        return self.certificates.certified_shares

    @property
    def wrong_share(self) -> Floats:
        """Wrong rounds over certified rounds, between consecutive recorded steps, (S, K)."""
        return self.certificates.wrong_shares

    @property
    def second_half_regret(self) -> Floats:
        """Regret per seed that was added after half of the horizon, (S,)."""
        return increase_after(HALF, self.regret, self.steps, self.horizon)

    @property
    def final_representation(self) -> NDArray[Any]:
        """The representation in use at the end, (S,)."""
        if "representation" not in self.reports:
            raise InvalidArgument(f"{self.policy} must report a representation, got none.")
        return np.asarray(self.reports["representation"])[:, -1]

    def regret_between(self, first: int, last: int) -> Floats:
        """Regret per seed of the steps after `first` up to `last`, (S,).

        Both must have been recorded, except for step 0, where regret is zero.
        """
        return np.asarray(self._regret_at(last) - self._regret_at(first))

    # What people see.

    def __repr__(self) -> str:
        return f"Result({self.policy} on {self.problem}: regret {self._final_regret}, {self._size})"

    @property
    def _final_regret(self) -> str:
        final = self.regret[:, -1]
        return format_plus_minus(float(final.mean()), float(margin_of_mean(final)))

    @property
    def _size(self) -> str:
        return f"{format_count(self.horizon, 'step')}, {format_count(self.n_seeds, 'seed')}"

    @property
    def wrong_words(self) -> str:
        """The share of wrong rounds among the certified ones; a dash if none was certified."""
        counts = self.certificates
        any_certified = bool(counts.certified_rounds[:, -1].sum())
        return format_share(counts.wrong_overall) if any_certified else NO_VALUE

    def summary(self) -> Summary:
        """Return regret, certificates and time, which print as a table.

        Margins are those of a 95% interval of the mean over seeds, by Student's t.
        """
        half, shares = self.second_half_regret, self.certificates
        in_half = format_plus_minus(float(half.mean()), float(margin_of_mean(half)))
        rows = (
            ("regret", self._final_regret),
            ("of it in the second half", in_half),
            ("certified in the last tenth", format_share(shares.certified_in_last_tenth)),
            ("wrong among all certified", self.wrong_words),
            ("last step with regret", f"{int(self.last_regret.max()):,}"),
            ("wall time", f"{self.seconds:.1f} s"),
        )
        return Summary(f"{self.policy} on {self.problem}, {self._size}", rows)

    def chart(self) -> LineChart:
        """Return mean regret with its 95% band, and the share of certified rounds, if any."""
        line = make_line(self.policy, self.steps, self.mean, margin_of_mean(self.regret))
        seeds = format_count(self.n_seeds, "seed")
        caption = f"mean of {seeds}; {BAND}" if self.n_seeds > 1 else seeds
        below = chart_certificates((self,))
        return LineChart(self.problem, "step", "cumulative regret", (line,), caption, below)

    def to_polars(self) -> "pl.DataFrame":
        """Return one row per seed and recorded step: names, counts and what the policy reports."""
        return name_rows(self)

    def _regret_at(self, step: int) -> Floats:
        if step == 0:
            return np.zeros(self.n_seeds)
        if step not in self.steps:
            raise InvalidArgument(f"step must be one of the recorded steps, got {step}.")
        return self.regret[:, int(np.searchsorted(self.steps, step))]


def chart_certificates(results: Sequence[Result]) -> LineChart | None:
    """Return the share of certified rounds over the steps; None if no round was certified."""
    if not any(result.certified[:, -1].any() for result in results):
        return None
    lines = tuple(
        make_line(result.policy, result.steps, result.certified_share.mean(axis=0))
        for result in results
    )
    return LineChart("certificates", "step", "certified share", lines)
