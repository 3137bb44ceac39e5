"""The algorithms of the package, written twice more in NumPy: `plain` and `vectorised`.

Both return an `Outcome` for given contexts and noises, so that their numbers can be compared with
those of the package. If upper confidence bounds or losses are equal they take the first, while the
package draws one at random, so comparisons need problems without such ties. `backprop` computes the
gradients of a network by hand.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Outcome(NamedTuple):
    """The result of a run of S seeds, with J phase ends and M candidates."""

    regret: NDArray[np.float64]  # (S,)
    certified: NDArray[np.int64]  # (S,)        rounds decided by the likelihood ratio test
    representations: NDArray[np.int64]  # (J + 1, S)  used before and after each phase end
    active: NDArray[np.bool_]  # (J, M, S)   the sets Phi_t
