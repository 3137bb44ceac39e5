"""How does a policy declare a setting? As a field with a default and one line of help."""

from typing import Any

import equinox as eqx


def setting(default: Any, help: str) -> Any:  # noqa: A002  (the word users see in tables)
    """Declare a setting, after `_: KW_ONLY`: its default and the help shown in docs and tables."""
    return eqx.field(static=True, default=default, metadata={"help": help})
