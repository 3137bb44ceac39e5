"""What is an event whose actions come with it? A shared part, and one set of features per action.

This is how Vowpal Wabbit writes rounds, in JSON and in text. An action is known by its tag if every
action of every event has one, and no event has the same tag twice; otherwise it is known by its
number in the event, from 1. Features of actions that are the same in all events say nothing about a
round, so they are left out; the others become columns called `ACTION: FEATURE`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from banditsrl.logs.log import BATCH_ROWS
from banditsrl.logs.log_options import LogOptions
from banditsrl.logs.raw_blocks import RawBlock

MOST_CELLS = 4_000_000
"""Values of a block, so that wide rows are read in smaller blocks."""


class SlotAction(NamedTuple):
    """One action of an event."""

    tag: str | None
    features: Mapping[str, Any]


class SlotEvent(NamedTuple):
    """One round of a log whose actions come with it."""

    row: int
    shared: Mapping[str, Any]
    slots: Mapping[int, SlotAction] | None  # by number, from 0; None if they are not listed
    played: int
    reward: Any
    propensity: Any
    pmf: Mapping[int, Any] | None = None


class RefusedEvent(NamedTuple):
    """An event that cannot be used, or that says itself that it is not to be learned from."""

    row: int
    reason: str
    is_defect: bool


Event = SlotEvent | RefusedEvent
ReadEvents = Callable[[], Iterator[list[Event]]]


class _Features:
    """Which features of one action differ from event to event."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._first = dict(features)
        self.varying: dict[str, None] = {}

    def add(self, features: Mapping[str, Any]) -> None:
        if features == self._first:
            return
        for name in {**self._first, **features}:
            if features.get(name) != self._first.get(name):
                self.varying[name] = None


class SlotSurvey:
    """What is known about the actions of all events."""

    def __init__(self, events: Iterator[list[Event]], given: Sequence[str] | None) -> None:
        self._given = given
        self._n_slots, self._has_tags = 0, True
        self._last: Mapping[int, SlotAction] | None = None
        self._by_tag: dict[str, _Features] = {}
        self._by_slot: dict[int, _Features] = {}
        for some in events:
            for event in some:
                if isinstance(event, SlotEvent):
                    self._add(event)

    def _add(self, event: SlotEvent) -> None:
        if event.slots is not None and event.slots is self._last:
            return
        self._last, slots = event.slots, event.slots or {}
        self._n_slots = max(self._n_slots, event.played + 1, *(at + 1 for at in slots), 1)
        tags = [action.tag for action in slots.values() if action.tag is not None]
        self._has_tags = self._has_tags and 0 < len(tags) == len(set(tags)) == len(slots)
        for at, (tag, features) in slots.items():
            self._note(self._by_slot, at, features)
            if self._has_tags and tag is not None:
                self._note(self._by_tag, tag, features)

    @staticmethod
    def _note(known: dict[Any, _Features], name: Any, features: Mapping[str, Any]) -> None:
        if name in known:
            known[name].add(features)
        else:
            known[name] = _Features(features)

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        known = 0 if self._given is None else len(self._given)
        return len(self._by_tag) if self._has_tags else max(self._n_slots, known)

    @property
    def names(self) -> tuple[str, ...]:
        """What all actions are called."""
        if self._has_tags:
            return tuple(self._by_tag)
        return tuple(self.name(slot, None) for slot in range(self.n_actions))

    def name(self, slot: int, action: SlotAction | None) -> str:
        """Return what an action is called."""
        if self._has_tags and action is not None and action.tag is not None:
            return action.tag
        if self._given is None:
            return str(slot + 1)
        return self._given[slot] if slot < len(self._given) else f"number {slot + 1}"

    @property
    def has_features(self) -> bool:
        """Whether actions have features that differ from event to event."""
        known = self._by_tag.values() if self._has_tags else self._by_slot.values()
        return any(one.varying for one in known)

    def describe(self, slot: int, action: SlotAction) -> dict[str, Any]:
        """Return the features of an action that differ from event to event, as columns."""
        name = self.name(slot, action)
        known = self._by_tag[name] if self._has_tags else self._by_slot[slot]
        found = action.features
        return {f"{name}: {key}": found[key] for key in known.varying if key in found}


def read_event_blocks(
    read_events: ReadEvents, options: LogOptions
) -> Callable[[], Iterator[RawBlock]]:
    """Return a function that reads events in blocks; the actions are surveyed at its first use."""
    known: list[SlotSurvey] = []

    def read_blocks() -> Iterator[RawBlock]:
        if not known:
            known.append(SlotSurvey(read_events(), options.actions))
        for events in read_events():
            first = 0
            while first < len(events):
                size = _fit_rows(events[first:])
                yield _make_block(events[first : first + size], known[0])
                first += size

    return read_blocks


def _fit_rows(events: list[Event]) -> int:
    """Return how many events fit into a block."""
    names: set[str] = set()
    for at, event in enumerate(events, 1):
        if isinstance(event, SlotEvent):
            names.update(event.shared)
        if at * len(names) > MOST_CELLS or at == BATCH_ROWS:
            return at
    return len(events)


def _make_block(events: list[Event], survey: SlotSurvey) -> RawBlock:
    out = [event for event in events if isinstance(event, RefusedEvent) and not event.is_defect]
    kept = [e for e in events if isinstance(e, SlotEvent) or e.is_defect]
    good = {at: event for at, event in enumerate(kept) if isinstance(event, SlotEvent)}
    broken = {at: e.reason for at, e in enumerate(kept) if isinstance(e, RefusedEvent)}
    contexts = {at: _describe(event, survey) for at, event in good.items()}
    names = dict.fromkeys(name for context in contexts.values() for name in context)
    nothing: dict[str, Any] = {}
    laws = {at: _name_law(event, survey) for at, event in good.items()}

    def each(get: Callable[[SlotEvent], Any]) -> list[Any]:
        return [get(good[at]) if at in good else None for at in range(len(kept))]

    masks = each(lambda event: _name_slots(event, survey))

    return RawBlock(
        rows=[event.row for event in kept],
        values={n: [contexts.get(at, nothing).get(n) for at in range(len(kept))] for n in names},
        actions=each(
            lambda event: survey.name(event.played, (event.slots or {}).get(event.played))
        ),
        rewards=each(lambda event: event.reward),
        propensities=each(lambda event: event.propensity),
        pmf=[laws.get(at) for at in range(len(kept))] if any(laws.values()) else None,
        available=masks if any(mask is not None for mask in masks) else None,
        names=survey.names,
        broken=broken,
        left_out=[(event.row, event.reason) for event in out],
    )


def _describe(event: SlotEvent, survey: SlotSurvey) -> Mapping[str, Any]:
    if not survey.has_features:
        return event.shared
    described = dict(event.shared)
    for slot, action in (event.slots or {}).items():
        if action.features:
            described.update(survey.describe(slot, action))
    return described


def _name_law(event: SlotEvent, survey: SlotSurvey) -> dict[str, Any] | None:
    if event.pmf is None:
        return None
    slots = event.slots or {}
    return {survey.name(at, slots.get(at)): p for at, p in event.pmf.items()}


def _name_slots(event: SlotEvent, survey: SlotSurvey) -> list[str] | None:
    """Return the actions of an event, or None if it has all of them."""
    if event.slots is None or len(event.slots) == survey.n_actions:
        return None
    return [survey.name(at, action) for at, action in event.slots.items()]
