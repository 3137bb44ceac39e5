"""How does a policy declare a setting, and who shows it? As a field with a default and its help.

The same field is shown by `help(LinUCB)`, which lists the settings below the docstring and leaves
out the members that Equinox and dataclasses add, and on the command line. A setting that is a
parameter of a function has the help of its docstring.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, dataclass_transform

import equinox as eqx

if TYPE_CHECKING:
    from equinox._module._module import _ModuleMeta as ModuleMeta
else:
    ModuleMeta = type(eqx.Module)

MACHINERY = frozenset(name for name in dir(eqx.Module) if name.startswith("__")) | {
    "__abstractclassvars__",
    "__abstractmethods__",
    "__abstractvars__",
    "__check_init__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__match_args__",
    "__orig_bases__",
    "__parameters__",
    "__post_init__",
}
"""Members of every class that say nothing about it."""


class SettingRow(NamedTuple):
    """A setting as it is shown to a reader."""

    name: str
    default: Any
    help: str


def setting(default: Any, help: str) -> Any:  # noqa: A002  (the word users see in tables)
    """Declare a setting, after `_: KW_ONLY`: its default and the help shown in docs and tables."""
    return eqx.field(static=True, default=default, metadata={"help": help})


@dataclass_transform(field_specifiers=(dataclasses.field, eqx.field))
class DescribedMeta(ModuleMeta):
    """The type of classes whose `help` shows their settings and not the machinery behind them."""

    def __init__(
        cls,  # noqa: N805 - a class is the object of a metaclass
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        **options: Any,
    ) -> None:
        super().__init__(name, bases, namespace, **options)
        lines = list_settings(cls)
        if lines and namespace.get("__doc__"):
            cls.__doc__ = "\n".join([namespace["__doc__"].rstrip(), "", "    Settings:", *lines])

    def __dir__(cls) -> list[str]:  # noqa: N805
        return [name for name in super().__dir__() if name not in MACHINERY]


def list_settings(cls: Any) -> list[str]:
    """Return one line for each setting of a class: name, default and help."""
    return [
        f"        {row.name} = {row.default!r}: {row.help}" for row in list_fields(cls) if row.help
    ]


def list_changed_settings(thing: Any) -> list[str]:
    """Return `name=value` for each setting of an object that is not the default."""
    rows = [row for row in list_fields(type(thing)) if row.help]
    values = vars(thing)
    return [f"{row.name}={values[row.name]!r}" for row in rows if values[row.name] != row.default]


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
