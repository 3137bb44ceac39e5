"""Which colours and dashes may lines have? The same ones in notebooks, papers and on pages.

The palette is the one of Okabe and Ito, which colour-blind readers can tell apart, with a brighter
twin of each colour for dark backgrounds.
"""

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
"""Dashes by name, with matplotlib's value."""
