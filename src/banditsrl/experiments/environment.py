"""Where and with what was a run made? The versions, the machine, the time and the command."""

import os
import platform
import sys
import time
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from banditsrl.version import VERSION

PACKAGES = ("banditsrl", "jax", "jaxlib", "equinox", "numpy")


def describe_environment(command: str) -> dict[str, Any]:
    """Return what `environment.json` says about the process that makes a run."""
    return {
        "schema": 1,
        "versions": dict(read_versions()),
        "machine": dict(_describe_machine()),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": command,
    }


@lru_cache(maxsize=1)
def read_versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of Python and of the packages that affect the numbers."""
    found = [("python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            found.append((name, _version_without_metadata(name)))
    return tuple(found)


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def _describe_machine() -> tuple[tuple[str, Any], ...]:
    return (
        ("cores", count_cores()),
        ("platform", platform.platform()),
        ("processor", platform.machine()),
    )


def _version_without_metadata(name: str) -> str:
    """Return the version of a package that runs without being installed."""
    return VERSION if name == "banditsrl" else "unknown"
