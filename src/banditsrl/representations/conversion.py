"""Temporary."""

from typing import Any

from banditsrl.core.representation import Representation
from banditsrl.representations.table import as_representation, as_representations

__all__ = ["as_representation", "as_representations", "optional_representation"]


def optional_representation(source: Any) -> Representation | None:
    """Return a representation from what was given, or None if nothing was."""
    return None if source is None else as_representation(source)
