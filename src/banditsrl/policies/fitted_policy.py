"""What do policies have in common that fit a model to all rounds at the end of each phase?"""

from typing import TypeVar

import equinox as eqx

from banditsrl.core.policy import Policy
from banditsrl.numerics.seed_axis import seeds_of_a_network

StateT = TypeVar("StateT")


class FittedPolicy(Policy[StateT]):
    """A policy whose `refresh` fits trees, networks or wide embeddings to all rounds.

    Attributes:
        gamma: A phase ends when the number of rounds has grown by this factor.
    """

    gamma: eqx.AbstractVar[float]

    @property
    def phase_growth(self) -> float | None:
        """The growth gamma of the phases."""
        return self.gamma

    @property
    def uses_history(self) -> bool:
        """True: the model is fitted to all rounds."""
        return True

    @property
    def seeds_at_once(self) -> int | None:
        """One on a CPU, which the fit of one seed keeps busy."""
        return seeds_of_a_network()
