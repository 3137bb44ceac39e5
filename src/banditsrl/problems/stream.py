"""What is known about an application before its first round? Enough to make a policy for it."""

import equinox as eqx

from banditsrl.arguments import positive_or_none
from banditsrl.core.problem import Task
from banditsrl.representations.coded import Coded


class Stream(Task):
    """Rounds that come from outside: a context is a vector, and rewards are observed, not drawn.

    A stream takes the place of a problem in `make_policy`. It cannot be simulated.

    Args:
        n_columns: Length of the vector that describes a context; columns should be of order one.
        n_actions: Number of actions A.
        sigma: Noise level of the rewards; 0.5 is right for rewards in [0, 1], None estimates it.
    """

    representations: tuple[Coded, ...]
    sigma: float | None = eqx.field(static=True)
    name: str = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)

    def __init__(self, n_columns: int, n_actions: int, *, sigma: float | None = 0.5) -> None:
        inputs = Coded(n_actions=n_actions, code="blocks", n_columns=n_columns)
        self.representations = (inputs,)
        self.n_actions = inputs.n_actions
        self.sigma = positive_or_none("sigma", sigma)
        self.name = "stream"
