"""Which colour does an algorithm have? The same in every panel, table and file.

This file holds the palette and hands it out. Colours are Okabe and Ito's, which colour-blind
readers can tell apart, with a brighter twin of each for dark backgrounds.
"""

from collections.abc import Iterable
from typing import NamedTuple

LIGHT = ("#0072B2", "#D55E00", "#009E73", "#B4558C", "#C98700", "#3A9BD6", "#6B6B6B")
DARK = ("#4AA8E8", "#F2894A", "#2CC79B", "#E59CC8", "#F2B93B", "#93D4F7", "#B0B0B0")

DASHES = {
    "solid": "-",
    "dash": "--",
    "dot": ":",
    "dashdot": "-.",
    "longdash": (0, (9, 3)),
    "longdashdot": (0, (9, 3, 1, 3)),
}
"""Plotly's names and what matplotlib calls the same; in pairs, the second for a base."""


class Style(NamedTuple):
    """How a line is drawn: a position in the palettes, and a dash."""

    colour: int
    dash: str


def styles(names: Iterable[tuple[str, str | None]]) -> dict[str, Style]:
    """A style for every algorithm, given (name, name of its base or None) of every curve.

    An algorithm that is the only one compared with its base takes the base's colour, and the base
    is dashed: a pair is seen as a pair. All others have a colour of their own; when colours run
    out, they come again with another dash.

    Example:
        >>> styles([("LinUCB", None), ("BanditSRL", "LinUCB"), ("LEADER", None)])["BanditSRL"]
        Style(colour=0, dash='solid')
    """
    pairs = dict.fromkeys(names)
    order = list(dict.fromkeys(name for name, _ in pairs))
    rivals = {
        base: [name for name, other in pairs if other == base] for _, base in pairs if base in order
    }
    partner = {group[0]: base for base, group in rivals.items() if len(set(group)) == 1 and base}
    partner = {name: base for name, base in partner.items() if base not in partner}
    leads = list(dict.fromkeys(partner.get(name, name) for name in order))
    paired = set(partner.values())
    styled = {name: _style(k, name in paired) for k, name in enumerate(leads)}
    return {name: styled.get(name) or _lead(styled[partner[name]]) for name in order}


def _style(k: int, paired: bool) -> Style:
    turn, colour = divmod(k, len(LIGHT))
    return Style(colour, list(DASHES)[(2 * turn + paired) % len(DASHES)])


def _lead(base: Style) -> Style:
    """The style of the algorithm built on a base: one dash before the base's."""
    names = list(DASHES)
    return Style(base.colour, names[names.index(base.dash) - 1])
