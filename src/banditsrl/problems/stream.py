"""What is known of an application before its first round? Enough to make a policy for it."""

import equinox as eqx

from banditsrl.arguments import positive
from banditsrl.representations.coded import Inputs


class Stream(eqx.Module):
    """Rounds that come from outside: contexts are vectors, rewards are whatever they turn out.

    It takes a problem's place in `make_policy`; nothing can be simulated on it.

    Args:
        n_columns: Length of the vector that describes a context; columns should be of order one.
        n_actions: Number of actions A.
        sigma: Noise level of the rewards; 0.5 is right for rewards in [0, 1], None estimates it.
    """

    representations: tuple[Inputs, ...]
    sigma: float | None = eqx.field(static=True)
    name: str = eqx.field(static=True)

    def __init__(self, n_columns: int, n_actions: int, *, sigma: float | None = 0.5) -> None:
        inputs = Inputs(n_actions=n_actions, code="blocks", n_columns=n_columns)
        self.representations = (inputs,)
        self.sigma = None if sigma is None else positive("sigma", sigma)
        self.name = "stream"

    @property
    def n_actions(self) -> int:
        """Number of actions A."""
        return self.representations[0].n_actions
