"""Where does the reference take the fields of a class from? From the class itself, as `help` does.

The reader of sources takes parameters from `__init__` only, which Equinox writes when a class is
made. So it would show no setting, and call every other argument required. This extension reads the
fields: name, type, default, and the help of those made by `setting`. Fields of a named tuple are
shown with the comments behind them.
"""

import dataclasses
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import griffe

from banditsrl.core.settings import parse_arguments

VARIADIC = (griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword)
KEYWORD = griffe.ParameterKind.keyword_only

COMMENT = re.compile(r"#\s+(?:(\([^)]*\))\s+)?(.*)$")
"""What is written behind a field: the shape of an array, if it is one, and its meaning."""


FORMULA = re.compile(r"[|^_]")
"""Signs of a formula in a comment, which is shown as code."""


ABSTRACT = "AbstractVar["
"""What is around the type of a field that a subclass must set."""

NOTHING = "\u00a0"
"""What is shown of a field whose name says it all."""


class FieldSections(griffe.Extension):
    """Give classes of the package the parameters and attributes that they have."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Look at all classes of the package."""
        for found in list_classes(pkg):
            bases = {str(base) for each in (found, *found.mro()) for base in each.bases}
            if found.docstring is None:
                continue
            if "eqx.Module" in bases:  # only these are imported: some other files need extras
                cls = getattr(import_module(found.module.path), found.name)
                describe_module(found, dataclasses.fields(cls))
            elif "NamedTuple" in bases and "Attributes:" not in found.docstring.value:
                add_lines(found.docstring, "Attributes", list(read_comments(found)))


def list_classes(module: griffe.Module) -> Iterator[griffe.Class]:
    """Yield the public classes of a package."""
    for member in module.members.values():
        if isinstance(member, griffe.Module):
            yield from list_classes(member)
        elif isinstance(member, griffe.Class) and not member.name.startswith("_"):
            yield member


def describe_module(found: griffe.Class, fields: tuple[dataclasses.Field[Any], ...]) -> None:
    """Add parameters and the help of settings to a class."""
    for member in found.members.values():
        if isinstance(member, griffe.Attribute) and ABSTRACT in str(member.annotation):
            member.annotation = member.annotation.slice
    written = found.members.get("__init__")
    own = written.parameters if isinstance(written, griffe.Function) else ()
    parameters = {each.name: each for each in own if each.kind not in VARIADIC}
    settings = [field for field in fields if field.metadata.get("help")]
    for field in settings if own else fields:
        if field.init and field.name not in parameters:
            parameters[field.name] = as_parameter(found, field)
    init = griffe.Function("__init__", parameters=griffe.Parameters(*parameters.values()))
    found.set_member("__init__", init)
    known = parse_arguments(found.docstring.value)
    new = [
        f"    {each.name}: {each.metadata['help']}" for each in settings if each.name not in known
    ]
    add_lines(found.docstring, "Args", new)


def as_parameter(found: griffe.Class, field: dataclasses.Field[Any]) -> griffe.Parameter:
    """Return a field as a parameter; its type is the one in the source."""
    classes = (found, *found.mro())
    declared = [each.members[field.name] for each in classes if field.name in each.members]
    default = None if field.default is dataclasses.MISSING else repr(field.default)
    if field.default_factory is not dataclasses.MISSING:
        default = f"{field.default_factory.__name__}()"
    annotation = declared[0].annotation if declared else None
    return griffe.Parameter(field.name, annotation=annotation, kind=KEYWORD, default=default)


def read_comments(found: griffe.Class) -> Iterator[str]:
    """Yield a line for each field of a named tuple, with the shape and the meaning behind it."""
    for name, member in found.members.items():
        if isinstance(member, griffe.Attribute) and "property" not in member.labels:
            comment = COMMENT.search(member.source)
            shape, meaning = comment.groups() if comment else ("", "")
            meaning = f"`{meaning}`" if FORMULA.search(meaning) else meaning
            words = [meaning, "" if shape == "()" else shape]
            yield f"    {name}: {', '.join(filter(None, words)) or NOTHING}"


def add_lines(docstring: griffe.Docstring, title: str, lines: list[str]) -> None:
    """Write lines at the end of a section of a docstring, or into a new one before the example."""
    if not lines:
        return
    text, added = docstring.value, "\n".join(lines)
    before, heading, after = text.partition(f"\n{title}:\n")
    if heading:
        section, gap, rest = after.partition("\n\n")
        docstring.value = f"{before}{heading}{section.rstrip()}\n{added}\n{gap}{rest}"
    else:
        before, heading, after = text.partition("\nExamples:\n")
        docstring.value = f"{before.rstrip()}\n\n{title}:\n{added}\n{heading}{after}"
