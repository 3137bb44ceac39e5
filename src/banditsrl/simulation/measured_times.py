"""When did it happen? The times of the theory, measured in a simulation."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import one_index
from banditsrl.simulation.result import Result


class MeasuredTimes(NamedTuple):
    """Per seed (S,); infinite where it has not happened by the horizon."""

    last_elimination: NDArray[np.float64]  # the last phase end at which a candidate left Phi_t
    first_hls: NDArray[np.float64]  # the phase end since which the HLS candidate is played
    first_certified: NDArray[np.float64]  # the step since which every round is certified
    last_regret: NDArray[np.float64]  # the last step with positive regret


def measured_times(result: Result, *, hls: int | None = None) -> MeasuredTimes:
    """The measured counterparts of tau_elim, tau_hls and tau_glrt.

    Args:
        result: A simulation of BanditSRL (for other policies the first two are infinite).
        hls: Index of the realizable HLS candidate, if there is one.
    """
    never = np.full(result.n_seeds, np.inf)
    starts = np.concatenate([[0], result.phases]).astype(float)  # of each phase, (J + 1,)
    eliminated = first_hls = never
    if "active" in result.reports:
        active = result.reports["active"]  # (S, J + 1, M)
        left = (active[:, :-1] & ~active[:, 1:]).any(axis=2)
        last = (left * starts[1:]).max(axis=1, initial=0.0)
        eliminated = np.where(left.any(axis=1), last, np.inf)
        if hls is not None:
            one_index("hls", hls, active.shape[2])
    if "representation" in result.reports and hls is not None:
        wrong = result.reports["representation"] != hls  # (S, J + 1)
        last_wrong = np.where(wrong, np.arange(wrong.shape[1]), -1).max(axis=1)
        settled = last_wrong + 1 < wrong.shape[1]
        first_hls = np.where(settled, starts[np.minimum(last_wrong + 1, len(starts) - 1)], np.inf)
    certified = np.where(
        result.last_uncertified < result.horizon, result.last_uncertified + 1.0, np.inf
    )
    return MeasuredTimes(eliminated, first_hls, certified, result.last_regret.astype(float))
