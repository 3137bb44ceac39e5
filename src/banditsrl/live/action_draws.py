"""From which distribution is an action drawn? The policy's, mixed with even draws if uncertain.

With audits, a certified round plays every available action with positive probability already (see
`policies.watched`). Where the policy is not certain, many policies play one action for sure; the
loop then draws the action evenly in the same small share of the rounds. So every available
action has positive probability in every round, and the log can be used to evaluate other policies.
An audit rate that decreases ("c/t") leaves uncertain rounds as the policy plays them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditsrl.core.policy import Choice


class DrawnAction(NamedTuple):
    """An action, and the distribution that it was drawn from."""

    slot: int
    pmf: NDArray[np.float64]  # (n_slots,)
    explored: bool


def draw(
    choice: Choice,
    predicted: NDArray[np.float64] | None,
    mask: NDArray[np.bool_],
    share: float,
    uniform: float,
) -> DrawnAction:
    """Return the action that is played.

    Args:
        choice: What the policy chose.
        predicted: (n_slots,) predicted rewards, or None without a model.
        mask: (n_slots,) which slots are available.
        share: Probability of an even draw where the policy is not certain.
        uniform: A uniform number in [0, 1), drawn independently of the choice.
    """
    slot, pmf = int(choice.action), np.asarray(choice.pmf, dtype=np.float64)
    certain = bool(choice.certified) or bool(choice.audited)
    if share > 0.0 and not certain:
        pmf = (1.0 - share) * pmf + share * mask / mask.sum()
        if uniform < share:
            available = np.flatnonzero(mask)
            slot = int(available[min(int(uniform / share * len(available)), len(available) - 1)])
    best = None if predicted is None else int(np.argmax(np.where(mask, predicted, -np.inf)))
    return DrawnAction(slot, pmf, explored=not certain and slot != best)


def play_baseline(slot: int, n_slots: int) -> DrawnAction:
    """Return an action that a baseline plays for sure."""
    pmf = np.zeros(n_slots)
    pmf[slot] = 1.0
    return DrawnAction(slot, pmf, explored=False)
