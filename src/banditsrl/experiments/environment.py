"""Where and with what was it run? Versions, machine and time; and the user's cache folder."""

import os
import platform
import time
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("banditsrl", "jax", "jaxlib", "equinox", "numpy")


def environment(command: str) -> dict[str, Any]:
    """What is worth knowing about the place where a run happens."""
    return {
        "schema": 1,
        "versions": dict(versions()),
        "machine": dict(_machine()),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": command,
    }


@lru_cache(maxsize=1)
def versions() -> tuple[tuple[str, str], ...]:
    """Python and the packages that decide the numbers."""
    found = [("python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            found.append((name, _fallback(name)))
    return tuple(found)


def n_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def _machine() -> tuple[tuple[str, Any], ...]:
    return (
        ("cores", n_cores()),
        ("platform", platform.platform()),
        ("processor", platform.machine()),
    )


def _fallback(name: str) -> str:
    import banditsrl  # noqa: PLC0415  (only when it runs without being installed)

    return banditsrl.__version__ if name == "banditsrl" else "unknown"
