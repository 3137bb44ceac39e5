"""Why did a call take long? Every moment with slow calls, beside what else happened then.

Two processes watch the machine: one only sleeps for 5 ms at a time, and one writes 4 KB beside the
store and syncs them, 20 times a second. Where the first wakes late, the processor belonged to
others; where the second takes long, the disk was busy, with the work of others or with the server's
own. The steps of the server (`serving_trace`) tell which.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

LATE_SECONDS = 0.1
"""Calls that take longer are late."""

PAUSE_SECONDS = 0.025
"""A process that wakes so late was kept from running."""

SYNC_SECONDS = 0.05
"""A sync of 4 KB that takes longer shows that the disk is busy."""

SHOWN_STEPS = 6
"""Longest steps that are shown of one moment."""


def watch_machine(ends: Any, pipe: Any) -> None:
    """Note when this process, which only sleeps, was kept from running, and send it at the end."""
    pauses = []
    while not ends.is_set():
        start = time.monotonic()
        time.sleep(0.005)
        end = time.monotonic()
        if end - start > PAUSE_SECONDS:
            pauses.append((start, end))
    pipe.send(pauses)


def watch_disk(folder: Path, ends: Any, pipe: Any) -> None:
    """Note when a small write took long to sync, and send it at the end."""
    sync, slow = getattr(os, "fdatasync", os.fsync), []
    with (folder / "syncs").open("wb", buffering=0) as file:
        while not ends.is_set():
            start = time.monotonic()
            file.seek(0)
            file.write(os.urandom(4096))
            sync(file.fileno())
            end = time.monotonic()
            if end - start > SYNC_SECONDS:
                slow.append((start, end))
            time.sleep(0.05)
    pipe.send(slow)


def overlap(intervals: Any, begin: float, end: float) -> Any:
    """Return the intervals (n, 2) that overlap one."""
    rows = np.asarray(intervals, dtype=float).reshape(-1, 2)
    return rows[(rows[:, 0] < end) & (rows[:, 1] > begin)]


def read_steps(path: Path) -> list[dict[str, Any]]:
    """Return what the server has written down, except for a line that was cut off."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def find_moments(begins: Any, ends: Any) -> list[tuple[float, float, int]]:
    """Return from when to when late calls overlap, and how many they are."""
    found: list[tuple[float, float, int]] = []
    late = ends - begins > LATE_SECONDS
    for begin, end in sorted(zip(begins[late], ends[late], strict=True)):
        if found and begin < found[-1][1]:
            first, last, count = found.pop()
            found.append((first, max(last, end), count + 1))
        else:
            found.append((float(begin), float(end), 1))
    return found


def describe_moments(
    moments: list[tuple[float, float, int]],
    *,
    first: float,
    pauses: Any,
    syncs: Any,
    steps: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return each moment with the pauses, the slow syncs and the longest steps in it."""
    described = []
    for begin, end, count in moments:
        inside = [step for step in steps if step["at"][0] < end and step["at"][1] > begin]
        inside.sort(key=lambda step: step["at"][0] - step["at"][1])
        described.append(
            {
                "at": round(begin - first, 2),
                "seconds": round(end - begin, 3),
                "calls": count,
                "paused": _longest(overlap(pauses, begin, end)),
                "sync": _longest(overlap(syncs, begin, end)),
                "steps": [
                    f"{step['step']} {step['at'][1] - step['at'][0]:.3f} s from "
                    f"{step['at'][0] - begin:+.3f} ({step['thread']})"
                    for step in inside[:SHOWN_STEPS]
                ],
            }
        )
    return described


def _longest(rows: Any) -> float:
    return round(float((rows[:, 1] - rows[:, 0]).max()), 3) if len(rows) else 0.0


def write_moments(moments: list[dict[str, Any]]) -> None:
    """Print the moments, with what the machine, the disk and the server did."""
    for each in moments:
        print(
            f"  {each['at']:8.2f} s: {each['calls']} late calls within {each['seconds']:.3f} s; "
            f"longest pause of the machine {each['paused']:.3f} s, longest sync of 4 KB "
            f"{each['sync']:.3f} s"
        )
        for step in each["steps"]:
            print(f"             {step}")
