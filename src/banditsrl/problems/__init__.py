"""Problems deal contexts and pay rewards."""

from banditsrl.datasets.sources import DataNotFound
from banditsrl.datasets.uci import DATASETS, DataSet, dataset, fetch
from banditsrl.problems.finite import Candidate, FiniteProblem
from banditsrl.problems.instance_files import read_problem, write_problem
from banditsrl.problems.labelled import TableProblem, read_table
from banditsrl.problems.problem_catalogue import PROBLEMS, make_problem
from banditsrl.problems.stream import Stream
from banditsrl.problems.synthetic import mixing, vardim
from banditsrl.problems.wheel import Wheel, wheel
from banditsrl.representations.coded import Inputs

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
