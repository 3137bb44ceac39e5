"""What is a problem of the catalogue, and what can be set on it? One sentence, and its settings.

Settings are the keyword parameters of a maker, and their help is that of its docstring.
"""

from functools import partial
from inspect import getdoc
from typing import Any

from banditsrl.core.settings import SettingRow, list_parameters
from banditsrl.datasets.uci import DATASETS
from banditsrl.problems.problem_catalogue import find_maker, settings_of

DESCRIPTIONS = {
    "vardim-realizable": "Six linear candidates, one of them good enough (HLS).",
    "vardim-misspecified": "The same, and seven that do not predict the rewards.",
    "vardim-no-hls": "Five linear candidates, none of them good enough.",
    "vardim-weak-hls": "Six candidates, one of which is weakly good enough.",
    "mixing": "Six candidates; only a mixture of them is good enough.",
    "wheel": "Five actions on a disc, with a rare large reward.",
}


def describe_problem(name: str) -> str:
    """Return one sentence about a problem.

    Example:
        >>> describe_problem("mushroom")
        'UCI table: 8,124 rows, 22 columns, 2 actions.'
    """
    maker: Any = find_maker(name)
    if name in DESCRIPTIONS:
        return DESCRIPTIONS[name]
    if name in DATASETS:
        rows, columns, actions = DATASETS[name].shape
        return f"UCI table: {rows:,} rows, {columns} columns, {actions} actions."
    return (getdoc(maker.func if isinstance(maker, partial) else maker) or "").partition("\n")[0]


def list_problem_settings(name: str) -> list[SettingRow]:
    """Return what can be set on a problem."""
    maker: Any = find_maker(name)
    known = set(settings_of(name))
    rows = list_parameters(maker.func if isinstance(maker, partial) else maker)
    return [row for row in rows if row.name in known]
