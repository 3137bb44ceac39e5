"""How does the table of final regret get into a paper? As CSV with numbers, and as LaTeX."""

import csv
import io
import math
from pathlib import Path

from banditsrl.core.files import write_bytes
from banditsrl.display.numerals import MINUS, NO_VALUE
from banditsrl.reports.curves import ReportPanel
from banditsrl.reports.panel_tables import (
    TextTable,
    build_final_table,
    measure_curve,
    order_by_regret,
)
from banditsrl.simulation.final_numbers import FinalNumbers

LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    MINUS: "$-$",
    NO_VALUE: "--",
    "∞": r"$\infty$",
    "±": r"$\pm$",
    "ε": r"$\varepsilon$",
}
"""Characters that LaTeX reads in its own way, or that its fonts may lack."""


def write_table_files(panel: ReportPanel, stem: Path) -> None:
    """Write the final regret of a panel as `stem.csv` and `stem.tex`."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    texts = {".csv": write_csv(panel), ".tex": write_latex(build_final_table(panel), panel.title)}
    for ending, text in texts.items():
        write_bytes(stem.with_name(f"{stem.name}{ending}"), text.encode(), sync=False)


def write_csv(panel: ReportPanel) -> str:
    """Return one row per algorithm with unrounded numbers; an empty field means no value."""
    text = io.StringIO()
    names = list(dict.fromkeys(("algorithm", "n_seeds", "n_planned", *FinalNumbers._fields)))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for curve in order_by_regret(panel):
        planned = {"algorithm": curve.name, "n_planned": len(curve.cell.seeds)}
        values = {**planned, **measure_curve(curve)._asdict()}
        no_value = {k for k, v in values.items() if isinstance(v, float) and math.isnan(v)}
        writer.writerow({k: "" if k in no_value else v for k, v in values.items()})
    return text.getvalue()


def write_latex(table: TextTable, title: str) -> str:
    """Return a table for a LaTeX document that loads the package booktabs."""
    columns = "l" + "r" * (len(table.headings) - 1)
    rows = "\n".join(f"{_join_cells(row)} \\\\" for row in table.rows)
    return (
        "\\begin{table}\n\\centering\n"
        f"\\caption{{{escape_latex(f'{title}. {table.caption}')}}}\n"
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n"
        f"{_join_cells(table.headings)} \\\\\n\\midrule\n{rows}\n"
        "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    )


def escape_latex(text: str) -> str:
    r"""Return a text as LaTeX prints it.

    Example:
        >>> escape_latex("BanditSRL-ε-greedy & 5%")
        'BanditSRL-$\\varepsilon$-greedy \\& 5\\%'
    """
    return "".join(LATEX.get(mark, mark) for mark in text)


def _join_cells(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escape_latex, cells))
