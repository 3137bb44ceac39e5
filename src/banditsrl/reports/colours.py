"""Which colour and dash does an algorithm have? The same ones in every panel, table and file."""

from collections.abc import Iterable
from typing import NamedTuple

from banditsrl.display.palette import DARK, DASHES, LIGHT

__all__ = ["DARK", "DASHES", "LIGHT", "LineStyle", "assign_styles", "define_palette"]


class LineStyle(NamedTuple):
    """How a line is drawn: a position in the palettes, and the name of a dash."""

    colour: int
    dash: str


def assign_styles(names: Iterable[tuple[str, str | None]]) -> dict[str, LineStyle]:
    """Return a style for every algorithm, given (name, name of its base or None) of every curve.

    If exactly one algorithm is compared with a base, both get the same colour and the base is
    dashed, so that they are recognised as a pair. All others have a colour of their own. When the
    colours run out, they are used again with another dash.

    Example:
        >>> styles = assign_styles([("LinUCB", None), ("BanditSRL", "LinUCB"), ("LEADER", None)])
        >>> styles["BanditSRL"]
        LineStyle(colour=0, dash='solid')
    """
    pairs = dict.fromkeys(names)
    order = list(dict.fromkeys(name for name, _ in pairs))
    compared = {
        base: [name for name, other in pairs if other == base] for _, base in pairs if base in order
    }
    base_of = {group[0]: base for base, group in compared.items() if len(set(group)) == 1 and base}
    base_of = {name: base for name, base in base_of.items() if base not in base_of}
    own_colour = list(dict.fromkeys(base_of.get(name, name) for name in order))
    paired = set(base_of.values())
    styles = {name: _make_style(k, name in paired) for k, name in enumerate(own_colour)}
    return {name: styles.get(name) or _style_on_base(styles[base_of[name]]) for name in order}


def define_palette() -> str:
    """Return the palettes as variables `--c0`, `--c1` and so on of a style sheet."""
    light, dark = (
        "".join(f"--c{k}:{colour};" for k, colour in enumerate(colours))
        for colours in (LIGHT, DARK)
    )
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def _make_style(k: int, paired: bool) -> LineStyle:
    turn, colour = divmod(k, len(LIGHT))
    return LineStyle(colour, list(DASHES)[(2 * turn + paired) % len(DASHES)])


def _style_on_base(base: LineStyle) -> LineStyle:
    """Return the style of the algorithm built on a base: the dash before that of the base."""
    names = list(DASHES)
    return LineStyle(base.colour, names[names.index(base.dash) - 1])
