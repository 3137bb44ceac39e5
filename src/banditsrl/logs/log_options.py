"""What may be said about a log before it is read? Which column is what, and what to do with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.logs.log import Columns

PROPENSITY = "propensity"
"""Column of the propensities, if no other name is given; a table without it has none."""


@dataclass(frozen=True)
class LogOptions:
    """The arguments of `Log.read`, which describes them."""

    action: str = "action"
    reward: str = "reward"
    propensity: str = PROPENSITY
    columns: Columns = None
    actions: tuple[str, ...] | None = None
    loop: str | None = None
    position: int | None = None
    skip_bad: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.columns, str):
            raise InvalidType(
                f"columns must be a list of names or a mapping, got {self.columns!r}."
            )
        actions = self.actions
        if actions is not None and (not actions or len(set(actions)) < len(actions)):
            raise InvalidArgument(
                f"actions must be one or more different names, got {list(actions)}."
            )
        self.declared()

    def declared(self) -> dict[str, Any] | None:
        """Return the kind of each column that was named, None where it is to be found."""
        if self.columns is None:
            return None
        if isinstance(self.columns, Mapping):
            return dict(self.columns)
        names = list(self.columns)
        if len(set(names)) < len(names):
            raise InvalidArgument(f"columns must have different names, got {names}.")
        return dict.fromkeys(names)
