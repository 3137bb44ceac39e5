"""Problems deal contexts and pay rewards."""

from banditsrl.problems.catalogue import PROBLEMS, make_problem
from banditsrl.problems.datasets import DATASETS, DataSet, dataset, fetch
from banditsrl.problems.files import read_problem, write_problem
from banditsrl.problems.finite import Candidate, FiniteProblem
from banditsrl.problems.inputs import Inputs
from banditsrl.problems.sources import DataNotFound
from banditsrl.problems.stream import Stream
from banditsrl.problems.synthetic import mixing, vardim
from banditsrl.problems.tables import TableProblem, read_table
from banditsrl.problems.wheel import Wheel, wheel

__all__ = [
    "DATASETS",
    "PROBLEMS",
    "Candidate",
    "DataNotFound",
    "DataSet",
    "FiniteProblem",
    "Inputs",
    "Stream",
    "TableProblem",
    "Wheel",
    "dataset",
    "fetch",
    "make_problem",
    "mixing",
    "read_problem",
    "read_table",
    "vardim",
    "wheel",
    "write_problem",
]
