"""What is one run? Data only: problem, policy, settings, horizon, seeds; named by its hash.

A run is a *chunk* of seeds of one policy on one problem: as many as the policy runs side by side.
Chunks begin at multiples of that number, so that the same seeds fall into the same run however
many are asked for.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from banditsrl.errors import InvalidArgument

SCHEMA = 1
"""Raised whenever the same specification would give another table."""

SUFFIXES = (".json", ".csv", ".parquet")
"""Endings by which a problem is known to be a file."""

NONE_IS_A_WORD = ("loss", "refit")
"""Settings among whose words is "none"."""

FRACTION = re.compile(r"(-?\d+)/(\d+)")

Value = Any  # a number, a word, True, False, None, or a tuple of those
Settings = tuple[tuple[str, Value], ...]  # sorted by name


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides the table of one run.

    Attributes:
        problem: A registered name, or the path of a file.
        policy: A registered name.
        horizon: Number of steps.
        seeds: The seeds of this run.
        steps: The recorded steps.
        preset: "paper", "default" or None.
        settings: Of the policy, as sorted pairs.
        problem_settings: Of the problem, as sorted pairs.
        content: A digest of the file, when the problem is one.
    """

    problem: str
    policy: str
    horizon: int
    seeds: tuple[int, ...]
    steps: tuple[int, ...]
    preset: str | None = None
    settings: Settings = ()
    problem_settings: Settings = ()
    content: str | None = None

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that name the run; a file counts by name and content."""
        document = self.as_dict()
        document["problem"] = Path(self.problem).name if self.content else self.problem
        canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @cached_property
    def cell(self) -> str:
        """The same for all runs that differ in their seeds only."""
        return replace(self, seeds=()).hash

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON, with the schema."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain |= {"seeds": list(self.seeds), "steps": list(self.steps)}
        for name in ("settings", "problem_settings"):
            plain[name] = thawed(getattr(self, name))
        return {"schema": SCHEMA, **plain}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "RunSpec":
        """The inverse of `as_dict`."""
        if document.get("schema") != SCHEMA:
            raise InvalidArgument(f"schema must be {SCHEMA}, got {document.get('schema')!r}.")
        known = {k: v for k, v in document.items() if k in cls.__dataclass_fields__}
        known |= {name: tuple(known[name]) for name in ("seeds", "steps")}
        known |= {name: frozen(known[name]) for name in ("settings", "problem_settings")}
        return cls(**known)


def frozen(settings: Mapping[str, Any]) -> Settings:
    """Settings as sorted pairs, lists as tuples."""
    return tuple((str(k), _frozen(v)) for k, v in sorted(settings.items()))


def thawed(settings: Settings) -> dict[str, Any]:
    """Settings as a plain dictionary, tuples as lists."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in settings}


def chunks(seeds: Iterable[int], lanes: int) -> list[tuple[int, ...]]:
    """Seeds in runs of at most `lanes`, cut at multiples of `lanes`.

    Example:
        >>> chunks([0, 1, 2, 3, 4, 9], 4)
        [(0, 1, 2, 3), (4,), (9,)]
    """
    grouped = groupby(sorted(set(seeds)), key=lambda seed: seed // lanes)
    return [tuple(group) for _, group in grouped]


def parsed_settings(pairs: Sequence[str]) -> dict[str, Value]:
    """What `--set NAME=VALUE` was given, with values as numbers where they are numbers."""
    settings: dict[str, Value] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip().isidentifier():
            raise InvalidArgument(f"--set must be NAME=VALUE, got {pair!r}.")
        if name.strip() in settings:
            raise InvalidArgument(f"--set must name a setting once, got {name.strip()} twice.")
        value = parsed(text)
        settings[name.strip()] = text if value is None and name in NONE_IS_A_WORD else value
    return settings


def parsed(text: str) -> Value:
    """A value as typed on a command line.

    Example:
        >>> parsed("1/4"), parsed("50,50,10"), parsed("1e-3"), parsed("none"), parsed("t^-1/3")
        (0.25, (50, 50, 10), 0.001, None, 't^-1/3')
    """
    text = text.strip()
    if "," in text:
        return tuple(parsed(part) for part in text.split(",") if part.strip())
    if text.lower() in ("none", "null", "true", "false"):
        return {"true": True, "false": False}.get(text.lower())
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    fraction = FRACTION.fullmatch(text)
    if fraction and int(fraction[2]):
        return int(fraction[1]) / int(fraction[2])
    return text


def is_file(problem: str) -> bool:
    """Whether a problem is given by a path rather than by a registered name."""
    return Path(problem).suffix.lower() in SUFFIXES


def content_digest(problem: str) -> str | None:
    """A digest of the file's bytes; None for a registered name."""
    if not is_file(problem):
        return None
    try:
        with Path(problem).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InvalidArgument(f"{problem}: cannot be read ({error.strerror}).") from error


def _frozen(value: Any) -> Value:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value
