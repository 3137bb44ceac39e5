"""Why are examples of docstrings shown as code? Because this extension names their section so.

Our docstrings call the section `Example:`, as one example follows. The reader of docstrings knows
`Examples:` only, and would show the other as a note whose lines run together.
"""

import re
from typing import Any

import griffe

HEADING = re.compile(r"^( *)Example:$", re.MULTILINE)


class ExampleSections(griffe.Extension):
    """Rename the section before docstrings are parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section in the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = HEADING.sub(r"\1Examples:", obj.docstring.value)
