"""How are the pictures of the documentation made? By this command, with the library itself.

    python docs/figures/make.py            # all of them
    python docs/figures/make.py glrt trees # some of them

Each picture is written four times to docs/images: for light and for dark pages, wide and narrow. On
a phone the narrow one is shown, most often with one panel below the other. A picture is computed
once; `idea_figures`, `regret_figures` and `stored_figures` hold its functions.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import idea_figures
import matplotlib as mpl
import regret_figures
import stored_figures

from banditsrl.display.pictures import apply_look, separate_thousands
from banditsrl.reports.colours import DARK, LIGHT

IMAGES = Path(__file__).parents[1] / "images"


class Ink(NamedTuple):
    """The colours of a picture on one kind of page, and whether it is for a phone."""

    lines: tuple[str, ...]
    text: str
    paper: str
    suffix: str
    narrow: bool = False


INKS = (
    Ink(LIGHT, "#222222", "#ffffff", ""),
    Ink(DARK, "#d5d7e0", "#1e2129", "-dark"),
    Ink(LIGHT, "#222222", "#ffffff", "-narrow", narrow=True),
    Ink(DARK, "#d5d7e0", "#1e2129", "-narrow-dark", narrow=True),
)

FIGURES: dict[str, tuple[Callable[[], Any], Callable[[Any, Ink], Any]]] = {
    **idea_figures.FIGURES,
    **regret_figures.FIGURES,
    **stored_figures.FIGURES,
}
"""For each picture, the function that computes its data and the one that draws them."""


def use_ink(ink: Ink) -> Any:
    """Return a context in which text and frames have the colours of a page."""
    names = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    colours = dict.fromkeys(names, ink.text) | {
        "axes.facecolor": ink.paper,
        "figure.facecolor": ink.paper,
        "savefig.facecolor": ink.paper,
        "grid.color": ink.text,
        "svg.hashsalt": "banditsrl",  # so that the same picture is the same file
        "svg.fonttype": "path",
    }
    return mpl.rc_context(colours)


def write_figure(name: str) -> None:
    """Compute one picture and write it for every kind of page."""
    compute, draw = FIGURES[name]
    data = compute()
    for ink in INKS:
        with apply_look(), use_ink(ink):
            canvas = draw(data, ink)
            for axis in canvas.axes:
                separate_thousands(axis)
            words = {"Description": canvas.get_label()} if canvas.get_label() else {}
            path = IMAGES / f"{name}{ink.suffix}.svg"
            canvas.savefig(path, metadata={"Date": None, **words})
    print(name, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="Pictures to make.")
    for chosen in parser.parse_args().names or FIGURES:
        write_figure(chosen)
