"""What may be handed over as a representation? One of ours, or an array of features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import Array

from banditsrl.core.representation import Representation
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.representations.table import Table


def as_representation(source: Any) -> Representation:
    """Return a representation as it is, and a `Table` of an array of features.

    Args:
        source: A `Representation`, or an array (n_contexts, n_actions, dim), also as nested lists.
    """
    if isinstance(source, Representation):
        return source
    if isinstance(source, np.ndarray | Array | list | tuple):
        return Table(source)
    raise InvalidType(
        "representation must be a Representation or an array of shape "
        f"(n_contexts, n_actions, dim), got {type(source).__name__}."
    )


def optional_representation(source: Any) -> Representation | None:
    """Return a representation as `as_representation` does, or None if nothing is given."""
    return None if source is None else as_representation(source)


def as_representations(sources: Sequence[Any]) -> tuple[Representation, ...]:
    """Return a non-empty tuple of representations over the same contexts and actions."""
    if not isinstance(sources, Sequence):
        raise InvalidType(
            f"representations must be a sequence of candidates, got {type(sources).__name__}."
        )
    candidates = tuple(as_representation(source) for source in sources)
    if not candidates:
        raise InvalidArgument("representations must hold at least one candidate, got an empty set.")
    sizes = {candidate.n_actions for candidate in candidates}
    if len(sizes) > 1:
        raise InvalidArgument(
            f"representations must share the number of actions, got {sorted(sizes)}."
        )
    lengths = {c.n_contexts for c in candidates if c.n_contexts is not None}
    if len(lengths) > 1:
        raise InvalidArgument(
            f"representations must share the number of contexts, got {sorted(lengths)}."
        )
    return candidates
