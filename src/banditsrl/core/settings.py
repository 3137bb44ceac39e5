"""How does a policy declare a setting? As a field with a default and one line of help.

The same field is shown on the command line; a setting that is a parameter of a function has the
help of its docstring.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx


class SettingRow(NamedTuple):
    """A setting as it is shown to a reader."""

    name: str
    default: Any
    help: str


def setting(default: Any, help: str) -> Any:  # noqa: A002  (the word users see in tables)
    """Declare a setting, after `_: KW_ONLY`: its default and the help shown in docs and tables."""
    return eqx.field(static=True, default=default, metadata={"help": help})


def list_fields(part: type[Any]) -> list[SettingRow]:
    """Return the fields of a class with their defaults, and with the help that `setting` has."""
    return [
        SettingRow(field.name, field.default, field.metadata.get("help", ""))
        for field in dataclasses.fields(part)
    ]


def list_parameters(function: Callable[..., Any]) -> list[SettingRow]:
    """Return the keyword parameters of a function with their defaults and their help.

    Example:
        >>> [row.name for row in list_parameters(setting)]
        []
    """
    described = parse_arguments(inspect.getdoc(function) or "")
    return [
        SettingRow(p.name, p.default, described.get(p.name, ""))
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.KEYWORD_ONLY
    ]


def parse_arguments(text: str) -> dict[str, str]:
    r"""Return what the section Args of a docstring says of each argument.

    Example:
        >>> parse_arguments("Add.\n\nArgs:\n    a: The first\n        number.\n    b: Other.")
        {'a': 'The first number.', 'b': 'Other.'}
    """
    _, found, after = text.partition("Args:\n")
    section = re.split(r"\n(?=\S)", after)[0] if found else ""
    entries = re.split(r"^    (?=\w)", section, flags=re.MULTILINE)
    pairs = (entry.partition(": ") for entry in entries if ": " in entry)
    return {name.strip(): " ".join(words.split()) for name, _, words in pairs}
