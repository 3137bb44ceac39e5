"""The same algorithms written twice more, in NumPy and without the package: plain, and vectorised.

Both answer with an `Outcome`, from explicit contexts and noises, so that they can be compared with
the package number by number. Among equal upper confidence bounds and equal losses they take the
first; the package lets its key decide, so comparisons need problems where neither happens.
`backprop` stands apart: the gradients of a network, by hand.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Outcome(NamedTuple):
    """What came of a run of S seeds; J is the number of phase ends, M of candidates."""

    regret: NDArray[np.float64]  # (S,)
    certified: NDArray[np.int64]  # (S,)        rounds decided by the likelihood ratio test
    representations: NDArray[np.int64]  # (J + 1, S)  in use, before and after each phase end
    active: NDArray[np.bool_]  # (J, M, S)   the sets Phi_t
