"""Which problems have a name? The table behind `make_problem` and the command line.

A problem is added by one line, `PROBLEMS.add(name, maker)`. The keyword parameters of the maker are
the settings of the problem.
"""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from banditsrl.errors import InvalidArgument, InvalidType, MissingArgument
from banditsrl.problems.instance_files import read_problem
from banditsrl.problems.labelled import TABLE_FORMATS, read_table
from banditsrl.registry import Registry

PROBLEMS: Registry[Callable[..., Any]] = Registry("problem")


def make_problem(name: str | Path, /, **settings: Any) -> Any:
    """Build a problem from its name, or from a file.

    The result is a `Problem`, or whatever object a maker that was added from outside returns.

    Args:
        name: A registered name, or a path that ends in .json (see `read_problem`), .csv or
            .parquet (see `read_table`).
        settings: Settings of the named problem, or of `read_table`: a table needs ``label=``.

    Example:
        >>> make_problem("vardim-realizable", seed=3).n_actions
        5
    """
    if not isinstance(name, str | Path):
        raise InvalidType(f"name must be a problem's name or a path, got {name!r}.")
    ending = Path(name).suffix.lower()
    if name not in PROBLEMS and ending in TABLE_FORMATS:
        if "label" not in settings:
            raise MissingArgument(
                "label must name the column that holds the class, got none.", "label"
            )
        return read_table(name, **settings)
    if name not in PROBLEMS and ending == ".json":
        if settings:
            raise InvalidArgument(
                f"settings must be empty for a problem read from JSON, got {', '.join(settings)}."
            )
        return read_problem(name)
    _refuse_unknown_settings(str(name), settings)
    return find_maker(str(name))(**settings)


def find_maker(name: str) -> Callable[..., Any]:
    """Return the maker of a registered problem; a path of an unknown format is refused as such."""
    if name not in PROBLEMS and (Path(name).suffix or len(Path(name).parts) > 1):
        raise InvalidArgument(
            f"problem must be a registered name or a file that ends in .json, .csv or .parquet, "
            f"got {name!r}."
        )
    return PROBLEMS[name]


def look_up_problem(given: Any) -> Any:
    """Return the problem that a name or a path stands for, and anything else as it is."""
    return make_problem(given) if isinstance(given, str | Path) else given


def settings_of(name: str) -> list[str]:
    """Return the names of the settings that a registered problem takes."""
    maker = find_maker(name)
    bound = maker.keywords if isinstance(maker, partial) else {}
    parameters = inspect.signature(maker).parameters.values()
    return [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in bound]


def _refuse_unknown_settings(name: str, settings: dict[str, Any]) -> None:
    known: Registry[None] = Registry(f"setting of {name}")
    for setting in settings_of(name):
        known.add(setting, None)
    for setting in settings:
        known[setting]  # the lookup refuses an unknown name and suggests the nearest one
