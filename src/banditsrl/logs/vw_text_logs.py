"""How is Vowpal Wabbit's text read and written? Labels `ACTION:COST:PROBABILITY` before features.

With `--cb` a round is one line, `2:-1.0:0.25 | age:0.3 city=rome`. Actions without a cost beside
the label are those that were available. With `--cb_adf` a round is one line per action, perhaps
after a line that begins with `shared`, and ends with an empty line; one of its lines has a label. A
feature without a value is 1, and a feature that is not there is 0.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from banditsrl.errors import InvalidArgument
from banditsrl.logs.column_kinds import read_number
from banditsrl.logs.line_blocks import read_lines
from banditsrl.logs.log import Log, LogBatch
from banditsrl.logs.log_options import LogOptions
from banditsrl.logs.row_source import RowSource
from banditsrl.logs.slot_events import (
    Event,
    RefusedEvent,
    SlotAction,
    SlotEvent,
    read_event_blocks,
)

SHARED = "shared"


def read_vw_text(path: Path, options: LogOptions) -> RowSource:
    """Return the log in a file of VW's text format."""
    read = partial(_read_groups if _has_groups(path) else _read_single_lines, path)
    return RowSource(str(path), read_event_blocks(read, options), options, zero_if_missing=True)


def is_vw_text(line: bytes) -> bool:
    """Return whether a line looks like a labelled example."""
    return (
        re.match(rb"\s*(shared\b|\d+:[^\s|]+:[^\s|]+|\|)[^|]*\|?", line) is not None
        and b"|" in line
    )


def _has_groups(path: Path) -> bool:
    """Return whether rounds have one line per action: `shared`, or a line without a label."""
    for _, lines in read_lines(path):
        some = b"".join(lines[:1000]).strip().splitlines()
        heads = [line.partition(b"|")[0].split() for line in some if line.strip()]
        if any(head[:1] == [SHARED.encode()] for head in heads):
            return True
        bare = sum(not head or head[0][:1] == b"'" for head in heads)
        # Groups end with empty lines. Without any, one group has one label; more labels are rounds.
        return bare > 0 and (any(not line.strip() for line in some) or len(heads) - bare <= 1)
    return False


def _read_single_lines(path: Path) -> Iterator[list[Event]]:
    for first, lines in read_lines(path):
        full = [(first + at, line) for at, line in enumerate(lines) if line.strip()]
        yield [_read_or_refuse(number, [line], grouped=False) for number, line in full]


def _read_groups(path: Path) -> Iterator[list[Event]]:
    start = 1
    group: list[bytes] = []
    for first, lines in read_lines(path):
        events = []
        for number, line in enumerate(lines, first):
            if line.strip():
                start = start if group else number
                group.append(line)
            elif group:
                events.append(_read_or_refuse(start, group, grouped=True))
                group = []
        yield events
    if group:
        yield [_read_or_refuse(start, group, grouped=True)]


def _read_or_refuse(number: int, lines: list[bytes], *, grouped: bool) -> Event:
    try:
        texts = [line.decode() for line in lines]
        return _read_group(number, texts) if grouped else _read_line(number, texts[0])
    except UnicodeDecodeError:
        return RefusedEvent(number, "a line must be UTF-8, got other bytes.", is_defect=True)
    except InvalidArgument as error:
        return RefusedEvent(number, str(error), is_defect=True)


def _read_line(number: int, text: str) -> SlotEvent:
    """Return a round of `--cb`."""
    head, _, features = _split_example(text)
    labels = [word for word in head if ":" in word]
    if len(labels) != 1:
        raise InvalidArgument(
            f"a line must have one label ACTION:COST:PROBABILITY, got {len(labels)}."
        )
    action, cost, probability = _read_label(labels[0])
    listed = [_read_label(word)[0] for word in head]
    if min(listed) < 1:
        raise InvalidArgument(f"an action must be a number from 1, got {min(listed)}.")
    slots = {one - 1: SlotAction(None, {}) for one in sorted(listed)} if len(listed) > 1 else None
    return SlotEvent(number, features, slots, action - 1, 0.0 - cost, probability)


def _read_group(number: int, texts: list[str]) -> SlotEvent:
    """Return a round of `--cb_adf`."""
    shared: dict[str, float] = {}
    slots: dict[int, SlotAction] = {}
    labels = []
    for text in texts:
        head, tag, features = _split_example(text)
        if head[:1] == [SHARED]:
            shared = features
            continue
        labels += [(len(slots), _read_label(word)) for word in head]
        slots[len(slots)] = SlotAction(tag, features)
    if len(labels) != 1:
        raise InvalidArgument(f"a round must have one line with a label, got {len(labels)}.")
    played, (_, cost, probability) = labels[0]
    return SlotEvent(number, shared, slots, played, 0.0 - cost, probability)


def _read_label(word: str) -> tuple[int, float, float]:
    parts = word.split(":")
    try:
        if len(parts) == 1:
            return int(parts[0]), 0.0, 0.0
        action, cost, probability = parts
        return int(action), read_number(cost), read_number(probability)
    except ValueError:
        raise InvalidArgument(f"a label must be ACTION:COST:PROBABILITY, got {word!r}.") from None


def _split_example(text: str) -> tuple[list[str], str | None, dict[str, float]]:
    """Return the words before the features, the tag, and the features with their values."""
    head, bar, rest = text.partition("|")
    if not bar:
        raise InvalidArgument(f"a line must have features after |, got {text.strip()[:50]!r}.")
    words = head.split()
    tag = None
    if words and words[-1].startswith("'"):
        tag = words.pop()[1:]
    features: dict[str, float] = {}
    for part in rest.split("|"):
        _add_features(part, features)
    return words, tag, features


def _add_features(part: str, features: dict[str, float]) -> None:
    """Add the features of one namespace; its name follows the bar without a space."""
    words = part.split()
    space, scale = "", 1.0
    if words and not part[0].isspace():
        space, scale = _read_feature(words.pop(0))
    for word in words:
        name, value = _read_feature(word)
        features[f"{space}.{name}" if space else name] = value * scale


def _read_feature(word: str) -> tuple[str, float]:
    name, colon, value = word.rpartition(":")
    if not colon:
        return word, 1.0
    try:
        return name, read_number(value)
    except ValueError:
        raise InvalidArgument(f"a feature must be NAME:NUMBER, got {word!r}.") from None


def write_vw_text(stream: BinaryIO, log: Log) -> int:
    """Write a log as lines of `--cb`, with all features, and return how many there are."""
    names = [re.sub(r"[\s:|]", "_", name) for name in log.schema.columns]
    if len(set(names)) < len(names):
        raise InvalidArgument(f"columns must have different names in VW text, got {names}.")
    n = 0
    for batch in log.batches():
        unknown = np.flatnonzero(np.isnan(batch.propensities))
        if len(unknown):
            row = batch.rows[unknown[0]]
            raise InvalidArgument(
                f"{log.name}: row {row}: propensity must be known for VW text, got none."
            )
        for at in range(len(batch.rows)):
            stream.write(_make_line(batch, at, names).encode())
        n += len(batch.rows)
    return n


def _make_line(batch: LogBatch, at: int, names: list[str]) -> str:
    played = int(batch.actions[at])
    cost, probability = 0.0 - float(batch.rewards[at]), float(batch.propensities[at])
    label = f"{played + 1}:{cost!r}:{probability!r}"
    words: list[Any] = [label]
    if batch.available is not None and not batch.available[at].all():
        listed = np.flatnonzero(batch.available[at])
        words = [label if action == played else int(action) + 1 for action in listed]
    values = zip(names, batch.contexts[at].tolist(), strict=True)
    features = " ".join(f"{name}:{value!r}" for name, value in values)
    return f"{' '.join(map(str, words))} | {features}\n"
