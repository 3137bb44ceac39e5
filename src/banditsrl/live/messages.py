"""How do the learner and its training process communicate? By JSON and bytes, through pipes."""

import json
import struct
from collections.abc import Mapping
from typing import IO, Any

LENGTHS = struct.Struct("<IQ")
"""Lengths of the header and of the content, before each message."""


def write_message(pipe: IO[bytes] | None, header: Mapping[str, Any], content: bytes) -> None:
    """Send one message."""
    if pipe is None:
        raise ValueError("There is no pipe to write to.")
    text = json.dumps(header).encode()
    pipe.write(LENGTHS.pack(len(text), len(content)))
    pipe.write(text)
    pipe.write(content)
    pipe.flush()


def read_message(pipe: IO[bytes] | None) -> tuple[dict[str, Any], bytes]:
    """Wait for one message; `EOFError` if the other end is gone."""
    if pipe is None:
        raise ValueError("There is no pipe to read from.")
    text, content = LENGTHS.unpack(_read_exactly(pipe, LENGTHS.size))
    header: dict[str, Any] = json.loads(_read_exactly(pipe, text))
    return header, _read_exactly(pipe, content)


def _read_exactly(pipe: IO[bytes], size: int) -> bytes:
    found = pipe.read(size)
    if len(found) < size:
        raise EOFError("The other process has ended.")
    return found
