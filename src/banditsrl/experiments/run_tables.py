"""How is a result kept as a table? One row per seed and recorded step, and back to small numbers.

Columns: seed, step, the cumulative counts of `Result`, one column per thing that the policy
reports (what was in force at that step), and the wall time of the run. Wall time aside, the same
specification always gives the same table.
"""

import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.simulation.result import Result

if TYPE_CHECKING:
    import polars as pl

COUNTS = ("regret", "certified", "trivial", "wrong", "wrong_regret")
"""Cumulative columns."""

REQUIRED = ("seed", "step", *COUNTS, "seconds")
"""Columns that every table has."""


def table_of(result: Result, seconds: float | None = None) -> "pl.DataFrame":
    """A result as a table, seeds in order and steps in order; `seconds` instead of its own."""
    import polars as pl

    n_seeds, n_steps = result.regret.shape
    columns: dict[str, Any] = {
        "seed": np.repeat(result.seeds, n_steps),
        "step": np.tile(result.steps, n_seeds),
    }
    columns |= {name: np.ravel(getattr(result, name)) for name in COUNTS}
    in_force = np.searchsorted(result.phases, result.steps, side="left")  # (K,) among J + 1
    for name, values in result.reports.items():
        columns[name] = _column(values[:, in_force])  # (S, K, ...)
    spent = result.seconds if seconds is None else seconds
    columns["seconds"] = np.full(n_seeds * n_steps, spent)
    return pl.DataFrame(columns)


def to_bytes(table: "pl.DataFrame") -> bytes:
    """A table as the content of a Parquet file."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def from_bytes(content: bytes) -> "pl.DataFrame":
    """The inverse of `to_bytes`."""
    import polars as pl

    return pl.read_parquet(io.BytesIO(content))


def same(one: "pl.DataFrame", other: "pl.DataFrame") -> bool:
    """Whether two tables are equal in everything but wall time, to the last bit."""
    return one.drop("seconds").equals(other.drop("seconds"))


def _column(values: NDArray[Any]) -> Any:
    """Values (S, K, ...) as one column: numbers, or lists of what is behind the step."""
    import polars as pl

    rows = values.reshape(values.shape[0] * values.shape[1], -1)
    if values.ndim == 2:
        return rows[:, 0]
    return pl.Series(rows).cast(pl.List(pl.Series(rows[:1, 0]).dtype))
