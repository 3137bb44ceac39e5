"""Read the pages of the project: their code blocks, and the commands that a reader would type."""

import os
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
EVERY_PAGE = [README, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/peers/README.md", *PAGES]

RUN_SLOW_COMMANDS = os.environ.get("BANDITSRL_DOCS") in ("all", "peers")
"""Whether slow commands are run as well, in a shortened version, as CI does."""

SHELLS = ("console", "bash", "sh", "shell")
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", flags=re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- not run: [^>]+ -->\s*\Z")
INDENTED = re.compile(r"^    ((?:make|banditsrl|python|pip|\.venv\S*) .*)$", flags=re.MULTILINE)
INLINE = re.compile(r"`((?:make|python) [^`]+)`")


class Block(NamedTuple):
    """A fenced block of a page, and whether it is marked `not run`."""

    kind: str
    text: str
    marked: bool


class Command(NamedTuple):
    """A command of a page, as words, and whether it is marked `not run`."""

    words: list[str]
    marked: bool


def read_blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    text = page.read_text()
    for found in FENCE.finditer(text):
        body = textwrap.dedent(found[3])
        yield Block(found[2], body, MARK.search(text[: found.start()]) is not None)


def read_fenced_commands(page: Path) -> list[Command]:
    """Return the commands in fenced blocks of a shell."""
    shells = [block for block in read_blocks(page) if block.kind in SHELLS]
    return [
        Command(words, block.marked) for block in shells for words in split_commands(block.text)
    ]


def read_unfenced_commands(page: Path) -> list[Command]:
    """Return indented commands, and commands of make and Python in running text."""
    rest = FENCE.sub("", page.read_text())
    found = [*INDENTED.findall(rest), *INLINE.findall(rest.replace("\n", " "))]
    return [Command(words, marked=True) for words in split_commands("\n".join(found))]


def read_commands(page: Path) -> list[Command]:
    """Return all commands of a page."""
    return read_fenced_commands(page) + read_unfenced_commands(page)


def split_commands(text: str) -> list[list[str]]:
    """Return the commands of a text as words, without comments and prompts."""
    joined = text.replace("\\\n", " ").splitlines()
    plain = [line.strip().removeprefix("$ ") for line in joined]
    return [shlex.split(line, comments=True) for line in plain if line and line[0] != "#"]
