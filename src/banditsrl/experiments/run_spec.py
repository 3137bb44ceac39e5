"""What is one run? Plain data: problem, policy, settings, horizon and seeds, named by a hash.

A run holds some of the seeds of one policy on one problem: as many as the policy simulates side by
side. Runs begin at multiples of that number, so that a seed falls into the same run however many
seeds are asked for.
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

FILE_SUFFIXES = (".json", ".csv", ".parquet")
"""Endings by which the name of a problem is recognised as a path."""

NONE_WORDS = ("none", "null")
"""Words that stand for None."""

WORD_NONE_SETTINGS = ("loss", "noise", "refit")
"""Settings for which "none" is one of the allowed words, so that it is not turned into None."""

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
        seeds: The seeds of this run, each of them once.
        steps: The recorded steps.
        preset: "paper", "default" or None.
        settings: The settings of the policy, as sorted pairs.
        problem_settings: The settings of the problem, as sorted pairs.
        content: A digest of the file if the problem is a file.
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

    def __post_init__(self) -> None:
        check_distinct_seeds(self.seeds)

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that name the run; a file counts by name and content."""
        document = self.as_dict()
        document["problem"] = Path(self.problem).name if self.content else self.problem
        canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @cached_property
    def cell_hash(self) -> str:
        """A hash that is the same for all runs that differ in their seeds only."""
        return replace(self, seeds=()).hash

    def as_dict(self) -> dict[str, Any]:
        """Return the specification as plain JSON, with its schema."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain |= {"seeds": list(self.seeds), "steps": list(self.steps)}
        plain |= {
            "settings": settings_to_dict(self.settings),
            "problem_settings": settings_to_dict(self.problem_settings),
        }
        return {"schema": SCHEMA, **plain}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "RunSpec":
        """Return the specification that `as_dict` turned into JSON."""
        if document.get("schema") != SCHEMA:
            raise InvalidArgument(f"schema must be {SCHEMA}, got {document.get('schema')!r}.")
        known = {k: v for k, v in document.items() if k in cls.__dataclass_fields__}
        known |= {name: tuple(known[name]) for name in ("seeds", "steps")}
        known |= {
            name: settings_from_dict(known[name]) for name in ("settings", "problem_settings")
        }
        return cls(**known)


def check_distinct_seeds(seeds: Sequence[int]) -> None:
    """Refuse seeds that are not all different: a seed that counts twice is no second sample."""
    seen: set[int] = set()
    for seed in seeds:
        if seed in seen:
            raise InvalidArgument(f"seeds must be distinct, got {seed} more than once.")
        seen.add(seed)


def split_seeds(seeds: Iterable[int], run_size: int) -> list[tuple[int, ...]]:
    """Split seeds into runs of at most `run_size`, cut at multiples of `run_size`.

    Example:
        >>> split_seeds([0, 1, 2, 3, 4, 9], 4)
        [(0, 1, 2, 3), (4,), (9,)]
    """
    grouped = groupby(sorted(set(seeds)), key=lambda seed: seed // run_size)
    return [tuple(group) for _, group in grouped]


def settings_from_dict(settings: Mapping[str, Any]) -> Settings:
    """Return settings as sorted pairs, with tuples in place of lists."""
    return tuple((str(k), _freeze(v)) for k, v in sorted(settings.items()))


def settings_to_dict(settings: Settings) -> dict[str, Any]:
    """Return settings as a plain dictionary, with lists in place of tuples."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in settings}


def parse_settings(pairs: Sequence[str]) -> dict[str, Value]:
    """Return the settings in words of the form NAME=VALUE, as `--set` takes them."""
    settings: dict[str, Value] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise InvalidArgument(f"--set must be NAME=VALUE, got {pair!r}.")
        if name in settings:
            raise InvalidArgument(f"--set must name a setting once, got {name} twice.")
        settings[name] = interpret_setting(name, parse_value(text))
    return settings


def parse_value(text: str) -> Value:
    """Return the value that a word on a command line stands for.

    Example:
        >>> values = ("1/4", "50,50,10", "1e-3", "none", "t^-1/3")
        >>> [parse_value(value) for value in values]
        [0.25, (50, 50, 10), 0.001, None, 't^-1/3']
    """
    text = text.strip()
    if "," in text:
        return tuple(parse_value(part) for part in text.split(",") if part.strip())
    if text.lower() in (*NONE_WORDS, "true", "false"):
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


def interpret_setting(name: str, value: Value) -> Value:
    """Return the value of a setting as problems and policies take it.

    This is the one rule for `--set` and for YAML, which knows neither fractions nor the word none:
    "1/3" is a number, and "none" is None unless it is one of the words of that setting.

    Example:
        >>> interpret_setting("gamma2", "1/2"), interpret_setting("glrt_scale", "none")
        (0.5, None)
        >>> interpret_setting("noise", "none"), interpret_setting("noise", None)
        ('none', 'none')
    """
    if isinstance(value, str) and FRACTION.fullmatch(value):
        return parse_value(value)
    if isinstance(value, str) and value.lower() in NONE_WORDS:
        value = None
    return "none" if value is None and name in WORD_NONE_SETTINGS else value


def is_file(problem: str) -> bool:
    """Tell whether a problem is given by a path rather than by a registered name."""
    return Path(problem).suffix.lower() in FILE_SUFFIXES


def digest_file(problem: str) -> str | None:
    """Return a digest of the content of a problem's file, or None for a registered name."""
    if not is_file(problem):
        return None
    try:
        with Path(problem).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InvalidArgument(f"{problem}: cannot be read ({error.strerror}).") from error


def _freeze(value: Any) -> Value:
    return tuple(_freeze(item) for item in value) if isinstance(value, list | tuple) else value
