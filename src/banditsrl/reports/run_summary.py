"""How did the policies do? One row of final numbers per curve, for the table on the console."""

from dataclasses import dataclass

from banditsrl.simulation.result import Result


@dataclass(frozen=True)
class SummaryRow:
    """Final numbers of one policy on one problem.

    Attributes:
        panel: Title of the panel.
        policy: Name of the policy.
        n_seeds: Number of seeds.
        horizon: Number of steps.
        regret: Final regret, mean over seeds.
        stderr: Standard error of that mean.
        second_half: Regret added after half of the steps, mean over seeds.
        flat_seeds: Number of seeds that added no regret there.
        certified: Certified share of the last tenth (see `simulation.shares`).
        wrong: Wrong share of the whole run (see `simulation.shares`).
        wrong_regret: Regret of the wrong rounds, mean over seeds.
    """

    panel: str
    policy: str
    n_seeds: int
    horizon: int
    regret: float
    stderr: float
    second_half: float
    flat_seeds: int
    certified: float
    wrong: float
    wrong_regret: float


def summarise_result(panel: str, result: Result) -> SummaryRow:
    """Return the final numbers of one result."""
    second_half = result.second_half_regret
    return SummaryRow(
        panel=panel,
        policy=result.policy,
        n_seeds=result.n_seeds,
        horizon=result.horizon,
        regret=float(result.mean[-1]),
        stderr=float(result.stderr[-1]),
        second_half=float(second_half.mean()),
        flat_seeds=int((second_half <= 0).sum()),
        certified=result.certificates.certified_in_last_tenth,
        wrong=result.certificates.wrong_overall,
        wrong_regret=float(result.wrong_regret[:, -1].mean()),
    )
