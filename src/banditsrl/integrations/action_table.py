"""What is the index of an action of another library? Its place in a list that is given, or grows.

An action is a number, a word, a tuple of numbers and words, or a dictionary. It counts by its value
alone: a policy learns about each action separately. Actions that are not in the list are added in
the order in which they are met, while there is room; after that they are refused. So a fixed set
of actions works, whether it is offered as a whole or in parts, and actions that are described anew
in every round do not.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument, InvalidType


class ActionTable:
    """Actions and their indices.

    Args:
        actions: The actions that are known beforehand, in the order of their indices.
        n_actions: Room for so many actions. None means as many as are known beforehand, or else as
            many as the first round offers.

    Example:
        >>> table = ActionTable(n_actions=3)
        >>> table.find(["a", "b"]), table.find(["b", "c"])
        ([0, 1], [1, 2])
    """

    def __init__(
        self, actions: Iterable[Any] | None = None, *, n_actions: int | None = None
    ) -> None:
        known = None if actions is None else list(actions)
        self._room = None if n_actions is None else count("n_actions", n_actions)
        self._indices: dict[Hashable, int] = {}
        if known is not None:
            self._room = max(len(known), 1) if self._room is None else self._room
            self.find(known)

    @property
    def n_actions(self) -> int | None:
        """Number of actions for which there is room, or None before the first round."""
        return self._room

    def find(self, actions: Any) -> list[int]:
        """Return the indices of the actions of a round; new ones are added while there is room."""
        if isinstance(actions, str) or not isinstance(actions, Sequence | np.ndarray):
            raise InvalidType(f"actions must be a list of actions, got {actions!r}.")
        keys = [_as_key(action) for action in actions]
        if not keys or len(set(keys)) < len(keys):
            raise InvalidArgument(
                f"actions must be one or more different actions, got {list(actions)}."
            )
        new = [i for i, key in enumerate(keys) if key not in self._indices]
        room = len(keys) if self._room is None else self._room
        if len(self._indices) + len(new) > room:
            self._refuse(actions[new[room - len(self._indices)]], room)
        self._room = room
        for i in new:
            self._indices[keys[i]] = len(self._indices)
        return [self._indices[key] for key in keys]

    def find_one(self, action: Any) -> int:
        """Return the index of an action; a new one is added if there is room."""
        if self._room is None:
            raise InvalidArgument(
                "n_actions must be given where an action is learned before the first round is "
                "predicted, got None."
            )
        return self.find([action])[0]

    def mask(self, indices: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of all actions have one of these indices, (n_actions,)."""
        mask = np.zeros(self._room or 0, dtype=bool)
        mask[list(indices)] = True
        return mask

    def _refuse(self, action: Any, room: int) -> None:
        raise InvalidArgument(
            f"n_actions must leave room for every action, got {room}, which are used up at the new "
            f"action {action!r} (actions that are described anew in every round cannot be learned)."
        )


def _as_key(action: Any) -> Hashable:
    """Return an action as a value that can be looked up; equal actions give equal values."""
    if isinstance(action, str | int | float | np.number):
        return str(action) if isinstance(action, str) else action
    if isinstance(action, Mapping):
        return frozenset((key, _as_key(value)) for key, value in action.items())
    if isinstance(action, Sequence | np.ndarray):
        return tuple(_as_key(part) for part in action)
    raise InvalidType(
        f"action must be a number, a word, a tuple or a dictionary, got {type(action).__name__}."
    )
