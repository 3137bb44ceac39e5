"""How is the table of a run kept? As a Parquet file with one row per seed and recorded step.

The same specification always gives the same table, apart from the wall time.
"""

import io
from typing import TYPE_CHECKING

from banditsrl.simulation.result_tables import COUNTS, make_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COUNTS", "REQUIRED", "encode_table", "make_table"]

REQUIRED = ("seed", "step", *COUNTS, "seconds")
"""Columns that every table has."""


def encode_table(table: "pl.DataFrame") -> bytes:
    """Return a table as the content of a Parquet file."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()
