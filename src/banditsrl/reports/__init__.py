"""Reports read results and nothing else."""

from banditsrl.reports.figures import draw, save
from banditsrl.reports.summary import summary_rows

__all__ = ["draw", "save", "summary_rows"]
