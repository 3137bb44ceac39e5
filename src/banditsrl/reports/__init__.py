"""What came of stored runs or of an evaluation: the page, its figures, and findings in words."""

from banditsrl.doctor.doctor import Examination, examine
from banditsrl.reports.matplotlib_plots import draw, save
from banditsrl.reports.page import write_report

__all__ = ["Examination", "draw", "examine", "save", "write_report"]
