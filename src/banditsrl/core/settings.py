"""How does a policy declare a setting, and what does `help` say about it?

A setting is a field with a default and one line of help. `help(LinUCB)` lists them below the
docstring, and leaves out the members that Equinox and dataclasses add to every class.
"""

import dataclasses
from typing import TYPE_CHECKING, Any, dataclass_transform

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
}
"""Members of every class that say nothing about it."""


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
        f"        {field.name} = {field.default!r}: {field.metadata['help']}"
        for field in dataclasses.fields(cls)
        if "help" in field.metadata
    ]
