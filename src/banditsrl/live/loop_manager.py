"""What can be changed about an open loop? Its actions, its mode, its model and stored contexts.

Each change is a record of the log, and is in force when the call returns.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.live.encoder import plain_context
from banditsrl.live.erasure import check_column, find_subject
from banditsrl.live.loop_changes import add_action_change, promote_model, set_settings
from banditsrl.live.loop_config import MODES, check_name, check_word
from banditsrl.live.loop_queries import find_decision
from banditsrl.live.loop_reader import LoopReader

NOT_GIVEN: Any = object()
"""Stands for an argument that was left out, where None is a value."""


class LoopManager(LoopReader):
    """The part of a loop that changes it: actions, mode, model and erasure."""

    def add_action(self, name: str, columns: Mapping[str, Any] | None = None) -> None:
        """Add an action in a spare slot."""
        plain = plain_context(columns or {})
        self._engine.encoder.check_action_columns(plain)
        self._change_action("add", name, columns=plain)

    def pause_action(self, name: str) -> None:
        """Stop playing an action until it is resumed."""
        self._change_action("pause", name)

    def resume_action(self, name: str) -> None:
        """Play a paused action again."""
        self._change_action("resume", name)

    def retire_action(self, name: str) -> None:
        """Stop playing an action permanently; its name and its slot are not used again."""
        self._change_action("retire", name)

    def _change_action(self, verb: str, name: str, **rest: Any) -> None:
        change = {"change": verb, "name": check_name("action", name), **rest}
        now = self._engine.clock()
        self._engine.change(partial(add_action_change, config=self.config, change=change, time=now))

    def set_mode(self, mode: str) -> None:
        """Change the mode."""
        settings = {"mode": check_word("mode", mode, MODES)}
        now = self._engine.clock()
        self._engine.change(partial(set_settings, settings=settings, time=now))

    def promote(self, version: int, *, evidence: Mapping[str, Any] | None = None) -> None:
        """Put an older version of the model back; nothing is trained until `resume`.

        Args:
            version: The version that decides from now on.
            evidence: The evidence for it, which is written into the log with the promotion; see
                `evaluation.loop_promotion`.
        """
        shelf, now = self._engine.shelf, self._engine.clock()
        wanted = count("version", version, 0)
        change = partial(promote_model, version=wanted, settings=shelf.settings, evidence=evidence)
        self._engine.change(partial(change, time=now))

    def resume(self) -> None:
        """Train again after `promote`.

        The next training starts at once, and learns all rounds of the log again, those before the
        `promote` included. Until it is published, the version that was put back decides.
        """
        now, settings = self._engine.clock(), {"pinned": False, "anew": True}
        self._engine.change(partial(set_settings, settings=settings, time=now))

    def erase(
        self,
        ids: Iterable[str] | None = None,
        *,
        column: str | None = None,
        value: Any = NOT_GIVEN,
    ) -> int:
        """Erase the contexts of decisions, by their ids or by the value of a column.

        What was learned from them stays. Returns how many contexts were erased. An id or a column
        that the loop does not know is refused, and nothing is erased.
        """
        if (ids is None) == (column is None):
            given = "neither" if ids is None else "both"
            raise InvalidArgument(f"one of ids and column must be given, got {given}.")
        if isinstance(ids, str):
            raise InvalidType(f"ids must be a list of ids, got the string {ids!r}.")
        if column is not None and value is NOT_GIVEN:
            raise InvalidArgument(f"value must be given with a column, got only {column!r}.")
        if column is not None:
            check_column(self._engine.config, column)
            return self._engine.erase(find_subject(self._engine.store, self.name, column, value))
        found = [find_decision(self._engine.store, self.name, each).id for each in ids or ()]
        return self._engine.erase(found)
