"""Which values of coba say more than their type shows? Words with levels, and batches of rounds.

Such a value can only exist once coba has been imported, so nothing is imported here: a learner
needs no other package until an experiment of coba plays it.
"""

import sys
from collections.abc import Sequence
from typing import Any


def read_levels(word: str) -> Sequence[str]:
    """Return the levels of a categorical word of coba, or nothing for any other word."""
    coba = sys.modules.get("coba.primitives")
    if coba is None or not isinstance(word, coba.Categorical):
        return ()
    return tuple(word.levels)


def is_batch(value: Any) -> bool:
    """Return whether a value holds several rounds, which coba passes at once where asked to."""
    coba = sys.modules.get("coba.primitives")
    return coba is not None and bool(coba.is_batch(value))
