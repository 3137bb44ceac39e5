"""Which colour and dash does an algorithm have? The same ones in every panel, table and file."""

from collections.abc import Iterable
from typing import NamedTuple

from banditsrl.display.palette import DARK, DASHES, LIGHT

__all__ = ["DARK", "DASHES", "LIGHT", "LineStyle", "assign_styles", "define_palette"]


class LineStyle(NamedTuple):
    """How a line is drawn: a position in the palettes, and the name of a dash."""

    colour: int
    dash: str


def assign_styles(names: Iterable[str]) -> dict[str, LineStyle]:
    """Return a style for every algorithm, each with a colour of its own, in the order given.

    When the colours run out, they are used again with another dash.

    Example:
        >>> assign_styles(["LinUCB", "BanditSRL"])["BanditSRL"]
        LineStyle(colour=1, dash='solid')
    """
    return {name: _make_style(k) for k, name in enumerate(dict.fromkeys(names))}


def define_palette() -> str:
    """Return the palettes as variables `--c0`, `--c1` and so on of a style sheet."""
    light, dark = (
        "".join(f"--c{k}:{colour};" for k, colour in enumerate(colours))
        for colours in (LIGHT, DARK)
    )
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def _make_style(k: int) -> LineStyle:
    turn, colour = divmod(k, len(LIGHT))
    return LineStyle(colour, list(DASHES)[turn % len(DASHES)])
