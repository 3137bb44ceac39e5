"""Which UCI data sets can be named as problems? All of them, as labelled tables."""

from functools import partial
from pathlib import Path

from banditsrl.datasets.downloads import Progress
from banditsrl.datasets.uci import DATASETS, load
from banditsrl.problems.labelled import P_RIGHT, P_WRONG, TableProblem
from banditsrl.problems.problem_catalogue import PROBLEMS


def dataset(
    name: str,
    *,
    p_right: float = P_RIGHT,
    p_wrong: float = P_WRONG,
    data_dir: str | Path | None = None,
    progress: Progress | None = None,
) -> TableProblem:
    """Build a bandit from a data set of UCI.

    Args:
        name: "shuttle" (or "statlog"), "magic", "mushroom" or "covertype".
        p_right: Probability of a reward for the row's own class.
        p_wrong: Probability of a reward for any other class.
        data_dir: A folder that may hold covtype.data.gz (or covtype.data); by default the folder
            that BANDITSRL_DATA names. The small data sets never need one.
        progress: Called during a download with the bytes received, the bytes in total and what is
            downloaded; by default a bar is drawn if the error stream is a terminal.

    Example:
        >>> problem = dataset("mushroom")
        >>> problem.n_contexts, problem.n_columns, problem.n_actions
        (8124, 22, 2)
    """
    columns, labels = load(DATASETS[name], data_dir=data_dir, progress=progress)
    return TableProblem(columns, labels, name=DATASETS[name].name, p_right=p_right, p_wrong=p_wrong)


for _name in DATASETS:
    PROBLEMS.add(_name, partial(dataset, _name))
