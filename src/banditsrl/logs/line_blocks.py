"""How is a large file of lines read? Some megabytes at a time, each line with its number."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from banditsrl.errors import InvalidArgument
from banditsrl.logs.log import BATCH_ROWS

BLOCK_BYTES = 8 * 2**20
"""Bytes of a file that are held at once."""


def read_lines(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Yield lines with the number of the first of them, at most `BATCH_ROWS` at a time."""
    with open_file(path) as stream:
        number = 1
        while lines := stream.readlines(BLOCK_BYTES):
            for first in range(0, len(lines), BATCH_ROWS):
                piece = lines[first : first + BATCH_ROWS]
                yield number, piece
                number += len(piece)


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading; one that cannot be read is refused in one sentence."""
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidArgument(f"{path}: cannot be read ({error.strerror}).") from error


def first_line(path: Path) -> bytes:
    """Return the first line that is not empty, or an empty one."""
    with open_file(path) as stream:
        for line in stream:
            if line.strip():
                return line
    return b""


def read_object(line: bytes) -> tuple[dict[str, Any], str | None]:
    """Return the JSON object in a line, or an empty one and what is wrong."""
    try:
        found = json.loads(line)
    except ValueError as error:
        reason = str(error).partition(":")[0]
        return {}, f"a line must be a JSON object, got text that is not JSON ({reason})."
    except RecursionError:
        return {}, "a line must be a JSON object, got one that is nested too deeply."
    if not isinstance(found, dict):
        return {}, f"a line must be a JSON object, got {type(found).__name__}."
    return found, None
