"""How is a result kept as a table? With one row per seed and recorded step.

The columns are seed, step, the cumulative counts of `Result`, one column for each value that the
policy reports (the value that held at that step), and the wall time of the run. The same
specification always gives the same table, apart from the wall time.
"""

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.simulation.result import Result

if TYPE_CHECKING:
    import polars as pl

COUNTS = ("regret", "certified", "trivial", "wrong", "wrong_regret")
"""Columns that are cumulative."""

REQUIRED = ("seed", "step", *COUNTS, "seconds")
"""Columns that every table has."""


def make_table(result: Result, seconds: float | None = None) -> "pl.DataFrame":
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


def encode_table(table: "pl.DataFrame") -> bytes:
    """Return a table as the content of a Parquet file."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _make_column(values: NDArray[Any]) -> Any:
    """Return values (S, K, ...) as one column of numbers, or of lists if there are more axes."""
    import polars as pl

    rows = values.reshape(values.shape[0] * values.shape[1], -1)
    if values.ndim == 2:
        return rows[:, 0]
    return pl.Series(rows).cast(pl.List(pl.Series(rows[:1, 0]).dtype))
