"""How is a YAML file read? In one place, so that every error names the file and the line."""

from pathlib import Path
from typing import Any

import yaml

from banditsrl.errors import InvalidArgument


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
