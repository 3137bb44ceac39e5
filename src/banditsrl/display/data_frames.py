"""How do numbers leave the package? As a Polars data frame, or as one of pandas if it is there."""

import importlib
from typing import TYPE_CHECKING, Any

from banditsrl.errors import MissingPackage

if TYPE_CHECKING:
    import polars as pl


def as_pandas(frame: "pl.DataFrame") -> Any:
    """Return a frame as one of pandas, which is not among our dependencies.

    The columns are handed over as plain lists: Polars' own conversion also needs pyarrow.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise MissingPackage(
            "to_pandas needs the pandas package: pip install pandas, or use to_polars."
        ) from None
    columns = {
        name: column.to_numpy() if column.dtype.is_numeric() else column.to_list()
        for name, column in zip(frame.columns, frame.iter_columns(), strict=True)
    }
    return pandas.DataFrame(columns)
