"""How is a YAML file read? In one place, so that every error names the file and the line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from banditsrl.errors import InvalidArgument, InvalidType, MissingArgument

QUOTED = re.compile(r"'([^']*)'")
NAMED = re.compile(r"(\w+) must (?!be given)")
"""What tells the place: words in quotes, and the name of a setting that is refused."""


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file; an error is one sentence with the file and the line."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path}: cannot be read ({error.strerror}).") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise InvalidArgument(f"{path}{line}: is not valid YAML ({error.problem}).") from error
    except (yaml.YAMLError, ValueError) as error:  # a wrong character, or a number out of range
        reason = str(error).splitlines()[0]
        raise InvalidArgument(f"{path}: is not valid YAML ({reason}).") from error


@contextmanager
def naming_lines(source: object) -> Iterator[None]:
    """Begin a refusal of something that stands in a YAML file with the file and its line.

    The line is that of the key or value that the message has in quotes, or of the setting whose
    name the message begins with. If it stands in several places, only the file is named. If it
    stands in none, the refusal stays as it is, and so does everything if the source is no path.
    """
    try:
        yield
    except MissingArgument:
        raise  # what is missing has no line
    except (InvalidArgument, InvalidType) as error:
        if not isinstance(source, str | Path):
            raise
        message = str(error).removeprefix(f"{source}: ")
        found = _find_nodes(message, Path(source))
        if not found:
            raise
        line = f", line {found[0].start_mark.line + 1}" if len(found) == 1 else ""
        raise type(error)(f"{source}{line}: {message}") from error


def _find_nodes(message: str, path: Path) -> list[yaml.Node]:
    """Return the keys or values of a file that a message may be about."""
    try:
        document = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return []  # the message is about the file as a whole
    nodes = list(_list_nodes(document))
    named = NAMED.match(message)
    for word in QUOTED.findall(message.partition("did you mean")[0]):
        if found := [node for node, _ in nodes if node.value == word]:
            return found
    return [node for node, value in nodes if named and _is_named(node, value, named)]


def _is_named(node: yaml.Node, value: yaml.Node | None, named: re.Match[str]) -> bool:
    """Tell whether a key is the setting that a message begins with, and has the value in it."""
    is_known = not isinstance(value, yaml.ScalarNode) or value.value in named.string
    return bool(node.value == named[1] and value and is_known)


def _list_nodes(
    node: yaml.Node | None, value: yaml.Node | None = None
) -> Iterator[tuple[yaml.Node, yaml.Node | None]]:
    """Yield every key and every value of a document, a key with its value."""
    if isinstance(node, yaml.ScalarNode):
        yield node, value
    elif isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _list_nodes(entry)
    elif isinstance(node, yaml.MappingNode):
        for key, entry in node.value:
            yield from _list_nodes(key, entry)
            yield from _list_nodes(entry)
