"""Which machine and which commands made the records of a folder? A file in the folder tells.

Times of two machines must not appear in one table, so a folder belongs to one machine.
"""

import argparse
import json
import os
import platform
import shlex
import sys
from pathlib import Path
from typing import Any

FILE = "made.json"


def write_provenance(folder: Path) -> None:
    """Record this machine and this command; refuse a folder of another machine."""
    made = read_provenance(folder)
    here = describe_machine()
    if made["machine"] not in ({}, here):
        raise SystemExit(f"{folder} must hold runs of this machine only, got {made['machine']}.")
    made["commands"] = list(dict.fromkeys([*made["commands"], format_command(sys.argv[1:])]))
    (folder / FILE).write_text(json.dumps({**made, "machine": here}, indent=1) + "\n")


def format_command(words: list[str]) -> str:
    """Return the command with these words, without the folder, which differs between users."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--folder")
    _, rest = parser.parse_known_args(words)
    return shlex.join(["python", "benchmarks/peers/run.py", *rest])


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return the machine and the commands of a folder; empty if none were recorded."""
    path = folder / FILE
    made: dict[str, Any] = {"machine": {}, "commands": []}
    return json.loads(path.read_text()) if path.is_file() else made


def describe_machine() -> dict[str, Any]:
    """Return a description of this machine."""
    model, cpuinfo = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        found = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = found[0].partition(":")[2].strip() if found else model
    return {
        "cores": os.cpu_count(),
        "cpu": model,
        "system": platform.system(),
        "python": platform.python_version(),
    }
