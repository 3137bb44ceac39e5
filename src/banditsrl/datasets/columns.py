"""How does a column of a table become numbers? By its type; anything unclear is refused.

| column | becomes |
|---|---|
| numbers | the same numbers; a missing or non-finite value is refused |
| true/false | 1 and 0; a missing value is refused |
| text, categories | 0, 1, ... in the sorted order of the values; missing values come last |
| dates, times, lists, ... | refused |

Messages count rows from 1, without the header.
"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.errors import InvalidProblem

if TYPE_CHECKING:  # imported only where a file is read, so that `import banditsrl` is fast
    import polars as pl


def read_frame(path: Path, separator: str) -> "pl.DataFrame":
    """Read the table in a CSV or Parquet file; a table without rows is refused."""
    import polars as pl

    if not path.is_file():
        raise InvalidProblem(f"{path}: cannot be read (there is no such file).")
    kind = "Parquet" if path.suffix.lower() == ".parquet" else "CSV"
    try:
        if kind == "Parquet":
            frame = pl.read_parquet(path, glob=False)
        else:
            frame = pl.read_csv(
                path,
                separator=separator,
                infer_schema_length=None,
                try_parse_dates=True,
                glob=False,
            )
    except pl.exceptions.NoDataError as error:
        raise InvalidProblem(f"{path}: must hold a header and rows, got an empty file.") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidProblem(f"{path}: cannot be read as {kind} ({reason}).") from error
    if frame.height == 0:
        raise InvalidProblem(f"{path}: must hold rows, got a header only.")
    return frame


def as_numbers(column: "pl.Series", where: str = "table") -> NDArray[np.float64]:
    """Return one column as finite numbers, (n,); `where` names the table in messages."""
    import polars as pl

    kind = column.dtype
    if kind in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return _code_text(column.cast(pl.String), where)
    if not (kind.is_numeric() or kind == pl.Boolean):
        raise InvalidProblem(
            f"{where}: column {column.name!r} must hold numbers, text or true/false, got {kind}."
        )
    numbers = column.cast(pl.Float64)
    bad = (numbers.is_null() | ~numbers.is_finite().fill_null(value=False)).arg_true()
    if len(bad):
        value = "a missing value" if numbers[bad[0]] is None else str(numbers[bad[0]])
        raise InvalidProblem(
            f"{where}: column {column.name!r} must hold finite numbers, "
            f"got {value} in row {bad[0] + 1}."
        )
    return numbers.to_numpy()


def as_labels(column: "pl.Series", where: str = "table") -> NDArray[Any]:
    """Return the label column as words or whole numbers, (n,); `where` names the table."""
    import polars as pl

    missing = column.is_null().arg_true()
    if len(missing):
        raise InvalidProblem(
            f"{where}: label {column.name!r} must be known in every row, "
            f"got a missing value in row {missing[0] + 1}."
        )
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return np.asarray(column.cast(pl.String).to_list(), dtype=np.str_)
    if column.dtype.is_float() and (column.is_finite() & (column == column.round())).all():
        column = column.cast(pl.Int64)
    if not (column.dtype.is_integer() or column.dtype == pl.Boolean):
        raise InvalidProblem(
            f"{where}: label {column.name!r} must hold text or whole numbers, got {column.dtype}."
        )
    return column.to_numpy()


def _code_text(column: "pl.Series", where: str) -> NDArray[np.float64]:
    """Return text as 0, 1, ... in the sorted order of its values; missing values come last."""
    import polars as pl

    numeric = column.cast(pl.Float64, strict=False).is_not_null()
    words = (~numeric & column.is_not_null()).arg_true()
    if numeric.any() and len(words):
        warnings.warn(
            f"{where}: column {column.name!r} holds numbers and text ({column[words[0]]!r} in row "
            f"{words[0] + 1}) and is coded as categories, in alphabetical order.",
            stacklevel=2,
        )
    codes = column.rank("dense").cast(pl.Float64) - 1.0
    return codes.fill_null(float(column.drop_nulls().n_unique())).to_numpy()
