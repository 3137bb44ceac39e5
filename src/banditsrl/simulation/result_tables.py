"""How does a result become a table? With one row per seed and recorded step.

The columns are seed, step, the cumulative counts of `Result`, one column for each value that the
policy reports (the value that held at that step), and the wall time of the run.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from banditsrl.simulation.result import Result

COUNTS = ("regret", "certified", "trivial", "wrong", "wrong_regret")
"""Columns that are cumulative."""


def make_table(result: "Result", seconds: float | None = None) -> "pl.DataFrame":
    """Return the table of a result, ordered by seed and then by step.

    Args:
        result: What `simulate` returned.
        seconds: The wall time to write down if it is not that of the result, because the run was
            stopped and continued.
    """
    import polars as pl

    n_seeds, n_steps = result.regret.shape
    counts = (result.regret, result.certified, result.trivial, result.wrong, result.wrong_regret)
    columns: dict[str, Any] = {
        "seed": np.repeat(result.seeds, n_steps),
        "step": np.tile(result.steps, n_seeds),
    }
    columns |= {name: np.ravel(values) for name, values in zip(COUNTS, counts, strict=True)}
    current = np.searchsorted(result.phases, result.steps, side="left")  # (K,) among J + 1
    for name, values in result.reports.items():
        columns[name] = _make_column(values[:, current])  # (S, K, ...)
    spent = result.seconds if seconds is None else seconds
    columns["seconds"] = np.full(n_seeds * n_steps, spent)
    return pl.DataFrame(columns)


def name_rows(result: "Result") -> "pl.DataFrame":
    """Return the table of a result with the names of the problem and the policy in front."""
    import polars as pl

    names = [pl.lit(result.problem).alias("problem"), pl.lit(result.policy).alias("policy")]
    return make_table(result).select(*names, pl.all())


def _make_column(values: NDArray[Any]) -> Any:
    """Return values (S, K, ...) as one column of numbers, or of lists if there are more axes."""
    import polars as pl

    rows = values.reshape(values.shape[0] * values.shape[1], -1)
    if values.ndim == 2:
        return rows[:, 0]
    return pl.Series(rows).cast(pl.List(pl.Series(rows[:1, 0]).dtype))
