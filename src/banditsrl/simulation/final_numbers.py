"""How did an algorithm end? Its final numbers, the same on the console, the page and in files."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.simulation.result import Result
from banditsrl.simulation.shares import CertificateCounts

Floats = NDArray[np.float64]


class FinalNumbers(NamedTuple):
    """How one algorithm ended, over all of its finished seeds."""

    n_seeds: int
    regret: float  # final regret, mean over seeds
    stderr: float  # standard error of that mean; nan for a single seed
    second_half: float  # regret that was added after half of the steps, mean over seeds
    flat_seeds: int  # seeds that added none there
    certified: float  # certified share of the last tenth, see `simulation.shares`
    wrong: float  # wrong share of the whole run, see `simulation.shares`
    wrong_regret: float  # regret of the wrong rounds, mean over seeds


def measure_result(result: Result) -> FinalNumbers:
    """Return the final numbers of a result."""
    return measure_seeds(
        regret=result.regret[:, -1],
        second_half=result.second_half_regret,
        wrong_regret=result.wrong_regret[:, -1],
        certificates=result.certificates,
    )


def measure_seeds(
    *, regret: Floats, second_half: Floats, wrong_regret: Floats, certificates: CertificateCounts
) -> FinalNumbers:
    """Return the final numbers of seeds, from their values at the end, (S,) each."""
    mean, stderr = mean_and_stderr(regret)
    return FinalNumbers(
        n_seeds=len(regret),
        regret=mean,
        stderr=stderr,
        second_half=float(second_half.mean()),
        flat_seeds=int((second_half <= 0).sum()),
        certified=certificates.certified_in_last_tenth,
        wrong=certificates.wrong_overall,
        wrong_regret=float(wrong_regret.mean()),
    )


def mean_and_stderr(values: Floats) -> tuple[float, float]:
    """Return the mean and its standard error, which is nan for a single value.

    Example:
        >>> mean_and_stderr(np.array([1.0, 3.0]))
        (2.0, 1.0)
    """
    n = len(values)
    stderr = float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return float(values.mean()), stderr
