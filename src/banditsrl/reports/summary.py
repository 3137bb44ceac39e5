"""How did the policies do? One row per curve, with error bars and what certificates cost."""

from dataclasses import dataclass

import numpy as np

from banditsrl.simulation.result import Result


@dataclass(frozen=True)
class Row:
    """Final figures of one policy on one problem."""

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


def summary_row(panel: str, result: Result) -> Row:
    """Final regret, the regret of the second half, and the certificates of the last tenth."""
    middle = int(np.searchsorted(result.steps, result.horizon / 2))
    half = result.regret[:, -1] - result.regret[:, middle]
    tenth = int(np.searchsorted(result.steps, 0.9 * result.horizon))
    width = result.steps[-1] - result.steps[tenth]
    certified = (result.certified[:, -1] - result.certified[:, tenth]) / max(width, 1)
    return Row(
        panel=panel,
        policy=result.policy,
        n_seeds=result.n_seeds,
        horizon=result.horizon,
        regret=float(result.mean[-1]),
        stderr=float(result.stderr[-1]),
        second_half=float(half.mean()),
        flat_seeds=int((half <= 0).sum()),
        certified=float(certified.mean()),
        wrong=float(result.wrong[:, -1].mean() / result.horizon),
        wrong_regret=float(result.wrong_regret[:, -1].mean()),
    )


def summary_rows(panels: list[tuple[str, list[Result]]]) -> list[Row]:
    """One row per curve, in order."""
    return [summary_row(title, result) for title, results in panels for result in results]
