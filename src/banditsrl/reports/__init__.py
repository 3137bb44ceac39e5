"""Reports read results and nothing else."""

from banditsrl.reports.doctor import Examination, examine
from banditsrl.reports.page import write_report
from banditsrl.reports.plots import draw, save
from banditsrl.reports.summary import summary_rows

__all__ = ["Examination", "draw", "examine", "save", "summary_rows", "write_report"]
