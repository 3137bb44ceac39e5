"""The pages of the project as data: their blocks, and the commands that a reader would type."""

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

EVERYTHING = os.environ.get("BANDITSRL_DOCS") in ("all", "peers")
"""Whether commands that take long are run too, made short; CI does."""

SHELLS = ("console", "bash", "sh", "shell")
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", flags=re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- not run: [^>]+ -->\s*\Z")
INDENTED = re.compile(r"^    ((?:make|banditsrl|python|pip|\.venv\S*) .*)$", flags=re.MULTILINE)
INLINE = re.compile(r"`((?:make|python) [^`]+)`")


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    text: str
    marked: bool


class Command(NamedTuple):
    """A command of a page, as words, and whether it is marked as long."""

    words: list[str]
    marked: bool


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in FENCE.finditer(text):
        body = textwrap.dedent(found[3])
        yield Block(found[2], body, MARK.search(text[: found.start()]) is not None)


def fenced(page: Path) -> list[Command]:
    shells = [block for block in blocks(page) if block.kind in SHELLS]
    return [Command(words, block.marked) for block in shells for words in lines(block.text)]


def unfenced(page: Path) -> list[Command]:
    """Commands set off by indentation, and those of make and Python in running text."""
    rest = FENCE.sub("", page.read_text())
    found = [*INDENTED.findall(rest), *INLINE.findall(rest.replace("\n", " "))]
    return [Command(words, marked=True) for words in lines("\n".join(found))]


def commands(page: Path) -> list[Command]:
    return fenced(page) + unfenced(page)


def lines(text: str) -> list[list[str]]:
    """The commands of a text, as words; comments and prompts are dropped."""
    joined = text.replace("\\\n", " ").splitlines()
    plain = [line.strip().removeprefix("$ ") for line in joined]
    return [shlex.split(line, comments=True) for line in plain if line and line[0] != "#"]
