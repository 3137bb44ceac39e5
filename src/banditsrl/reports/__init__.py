"""What came of stored runs? The page and its figures; also the doctor's `examine`, as before."""

from banditsrl.doctor.doctor import Examination, examine
from banditsrl.reports.matplotlib_plots import draw, save
from banditsrl.reports.page import write_report

__all__ = ["Examination", "draw", "examine", "save", "write_report"]
