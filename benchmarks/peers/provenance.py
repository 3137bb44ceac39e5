"""Which machine and which commands made the records of a folder? One file beside them says so.

Times of two machines do not belong in one table, so a folder belongs to one machine.
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


def note(folder: Path) -> None:
    """Write down this machine and this command; refuse a folder of another machine."""
    made = read(folder)
    here = machine()
    if made["machine"] not in ({}, here):
        raise SystemExit(f"{folder}: must hold runs of this machine, got {made['machine']}.")
    made["commands"] = list(dict.fromkeys([*made["commands"], command(sys.argv[1:])]))
    (folder / FILE).write_text(json.dumps({**made, "machine": here}, indent=1) + "\n")


def command(words: list[str]) -> str:
    """The command with these words, but for the folder, which is nobody else's."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--folder")
    _, rest = parser.parse_known_args(words)
    return shlex.join(["python", "benchmarks/peers/run.py", *rest])


def read(folder: Path) -> dict[str, Any]:
    """The machine and the commands; empty where nothing was noted."""
    path = folder / FILE
    made: dict[str, Any] = {"machine": {}, "commands": []}
    return json.loads(path.read_text()) if path.is_file() else made


def machine() -> dict[str, Any]:
    """The machine this runs on."""
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
