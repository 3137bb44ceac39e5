"""Which problems have a name? The table behind `make_problem` and the command line."""

from collections.abc import Callable
from typing import Any

from banditsrl.registry import Registry

PROBLEMS: Registry[Callable[..., Any]] = Registry("problem")


def make_problem(name: str, **settings: Any) -> Any:
    """Build a registered problem, for example ``make_problem("vardim-realizable", seed=3)``."""
    return PROBLEMS[name](**settings)
