"""Where is a figure drawn, and how does it look? On a canvas without a screen, in one look.

`write_canvas` is the one way in which a figure becomes a file.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditsrl.core.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

LOOK: Any = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "pdf.fonttype": 42,
}

DPI = 160
"""Resolution of PNG files."""


def make_canvas(width: float, height: float) -> "Canvas":
    """Return an empty figure of a size in inches, which needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    return canvas


def apply_look() -> Any:
    """Return a context in which figures are drawn and saved with the common look."""
    import matplotlib as mpl

    return mpl.rc_context(LOOK)


def write_canvas(canvas: "Canvas", path: Path, *, dpi: int = DPI) -> Path:
    """Write a figure into a file whose ending sets its format, png by default; return its path."""
    target = path if path.suffix else path.with_name(f"{path.name}.png")
    kind = target.suffix.lower().removeprefix(".")
    with apply_look():
        write_file(target, partial(canvas.savefig, dpi=dpi, format=kind), sync=False)
    return target
