"""What came of the paper's figures? Prints the tables of the documentation from stored runs.

    python benchmarks/paper.py FIGURE                   # print the tables of a stored figure
    python benchmarks/paper.py FIGURE --store FOLDER    # first store what `reproduce` left there

`paper_curves` says what is stored, and `paper_tables` makes the tables.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from paper_curves import Curve, read_figure, read_long_runs, store_figure
from paper_tables import (
    format_rows,
    list_against_leader,
    list_choices,
    list_growth,
    list_linear,
    list_networks,
    list_pairs,
)

LINEAR = ("vardim", "vardim-weak-losses", "mixing")


def build_tables(figure: str) -> list[str]:
    """Return the tables of a stored figure as Markdown, those without rows left out."""
    lists: tuple[Callable[[list[Curve]], Iterator[tuple[str, ...]]], ...]
    if figure in LINEAR:
        lists = (list_linear, list_choices, list_growth, list_against_leader)
    else:
        lists = (list_networks, list_pairs)
    curves = read_long_runs() if figure == "nonlinear" else read_figure(figure)
    return [table for each in lists if (table := format_rows(each(curves)))]


def main() -> None:
    """Store a figure if asked to, and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = (*LINEAR, "nonlinear", "ablation-glrt", "ablation-losses")
    parser.add_argument("figure", choices=names, help="Name of the figure.")
    parser.add_argument(
        "--store", type=Path, metavar="FOLDER", help="Folder of `reproduce` to store first."
    )
    arguments: Any = parser.parse_args()
    if arguments.store is not None:
        store_figure(arguments.figure, arguments.store)
    print("\n\n".join(build_tables(arguments.figure)))


if __name__ == "__main__":
    main()
