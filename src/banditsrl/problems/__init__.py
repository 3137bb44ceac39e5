"""Problems deal contexts and pay rewards."""

from banditsrl.core.problem import Problem, Task
from banditsrl.datasets.sources import DataNotFound
from banditsrl.datasets.uci import DATASETS, DataSet, fetch
from banditsrl.problems.claims import Claim
from banditsrl.problems.dataset_problems import dataset
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.instance_files import read_problem, write_problem
from banditsrl.problems.labelled import TableProblem, read_table
from banditsrl.problems.problem_catalogue import PROBLEMS, make_problem
from banditsrl.problems.situation_lists import HELD_OUT, TUNING
from banditsrl.problems.situations import FAMILIES, Situation, make_situation
from banditsrl.problems.stream import Stream
from banditsrl.problems.stream_columns import Column
from banditsrl.problems.synthetic import mixing, vardim
from banditsrl.problems.wheel import Wheel, wheel

__all__ = [
    "DATASETS",
    "FAMILIES",
    "HELD_OUT",
    "PROBLEMS",
    "TUNING",
    "Claim",
    "Column",
    "DataNotFound",
    "DataSet",
    "FiniteProblem",
    "Problem",
    "Situation",
    "Stream",
    "TableProblem",
    "Task",
    "Wheel",
    "dataset",
    "fetch",
    "make_problem",
    "make_situation",
    "mixing",
    "read_problem",
    "read_table",
    "vardim",
    "wheel",
    "write_problem",
]
