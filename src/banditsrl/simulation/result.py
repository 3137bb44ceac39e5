"""What came of a simulation? Regret, certificates and choices of representation, per seed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidArgument
from banditsrl.simulation.shares import HALF, CertificateCounts, increase_after

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """One policy on one problem, over some seeds (S), recorded at some steps (K).

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

        Both must have been recorded, but for step 0, where regret is zero.
        """
        return np.asarray(self._regret_at(last) - self._regret_at(first))

    def _regret_at(self, step: int) -> Floats:
        if step == 0:
            return np.zeros(self.n_seeds)
        if step not in self.steps:
            raise InvalidArgument(f"step must be one of the recorded steps, got {step}.")
        return self.regret[:, int(np.searchsorted(self.steps, step))]
