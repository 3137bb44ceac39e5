"""Which data sets have a name? Four labelled tables of UCI, as columns and labels.

Shuttle, MAGIC and Mushroom are part of the package. Covertype is found by `sources`: in a folder
that the user names, in the user's cache, by a download from UCI, or in a package of the Python
index. Its parsed numbers are stored in the cache too (five megabytes), with their own checksum.
"""

import hashlib
import io
import warnings
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.core.files import cache_dir, write_bytes
from banditsrl.datasets import sources
from banditsrl.datasets.columns import as_labels, as_numbers
from banditsrl.datasets.downloads import DataFile, Progress
from banditsrl.registry import Registry

if TYPE_CHECKING:
    import polars as pl

LICENCE = "CC BY 4.0"


@dataclass(frozen=True)
class DataSet:
    """One data set: its files, their format, and whom to credit.

    Attributes:
        name: Name in `make_problem`.
        files: The files, whose rows follow each other.
        shape: Number of contexts, columns and actions.
        credit: Authors, title and place of publication.
        label: Position of the label column.
        separator: Character between the fields of a line.
        numbers_sha256: SHA-256 of all fields, column by column in little-endian 16 bits, for a data
            set of small whole numbers only. Its parsed numbers are stored in the cache.
    """

    name: str
    files: tuple[DataFile, ...]
    shape: tuple[int, int, int]
    credit: str
    label: int = -1
    separator: str = ","
    numbers_sha256: str = ""


DATASETS: Registry[DataSet] = Registry("data set")


def fetch(name: str, data_dir: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Make sure that the files of a data set are here and correct, and return their folder."""
    for file in DATASETS[name].files:
        path = sources.find(file, data_dir=data_dir, progress=progress).path
    return path.parent


def load(
    chosen: DataSet, *, data_dir: str | Path | None = None, progress: Progress | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the columns as numbers, (n_contexts, n_columns), and the labels, (n_contexts,)."""
    if chosen.numbers_sha256:
        table = _load_integers(chosen, data_dir, progress)
        rest = np.delete(np.arange(len(table)), chosen.label)
        return table[rest].T, table[chosen.label]
    frame = _parse(b"".join(sources.find(file).content for file in chosen.files), chosen)
    label = frame.columns[chosen.label]
    columns = [as_numbers(frame[name], chosen.name) for name in frame.columns if name != label]
    return np.stack(columns, axis=1), as_labels(frame[label], chosen.name)


def _parse(content: bytes, chosen: DataSet) -> "pl.DataFrame":
    import polars as pl

    whole = {f"column_{k + 1}": pl.Int16 for k in range(chosen.shape[1] + 1)}
    return pl.read_csv(
        io.BytesIO(content),
        has_header=False,
        separator=chosen.separator,
        schema=whole if chosen.numbers_sha256 else None,
        infer_schema_length=None,
    )


def _load_integers(
    chosen: DataSet, data_dir: str | Path | None, progress: Progress | None
) -> NDArray[np.int16]:
    """Return all fields, (n_columns + 1, n_contexts), from the cache or from the file."""
    given = sources.find_in_folder(chosen.files[0], data_dir)
    path = cache_dir() / f"{chosen.files[0].name}.npz"
    if given is None and path.is_file():
        stored = _read_cached(path, chosen)
        if stored is not None:
            return stored
    found = given or sources.find(chosen.files[0], data_dir=data_dir, progress=progress)
    table = np.ascontiguousarray(_parse(found.content, chosen).to_numpy().T, dtype="<i2")
    if given is None:
        _write_cached(path, table)
    return table


def _read_cached(path: Path, chosen: DataSet) -> NDArray[np.int16] | None:
    """Return the numbers in the cache, or None with a warning if the file is damaged."""
    table = None
    damage = (OSError, ValueError, LookupError, EOFError, zlib.error, zipfile.BadZipFile)
    with suppress(*damage), np.load(io.BytesIO(path.read_bytes())) as stored:
        table = np.ascontiguousarray(stored["table"], dtype="<i2")
    if table is not None and hashlib.sha256(table.data).hexdigest() == chosen.numbers_sha256:
        return table
    warnings.warn(f"{path} is damaged; it is ignored and written again.", stacklevel=2)
    return None


def _write_cached(path: Path, table: NDArray[np.int16]) -> None:
    """Store parsed numbers in the cache. Failure is ignored: re-parsing takes about a second."""
    stream = io.BytesIO()
    np.savez_compressed(stream, table=table)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, stream.getvalue(), sync=False)


_SHUTTLE = DataSet(
    name="shuttle",
    files=(
        DataFile(
            "shuttle.trn",
            "87b24ee9fb5137e1d417659cf905d84d0e15342bbaa60770f1ae83da1a38200a",
            1_153_518,
        ),
        DataFile(
            "shuttle.tst",
            "f776934a628d9b94c482cb058a76ddaa63823e0f74aec065813c9dff3b89d661",
            384_257,
        ),
    ),
    shape=(58_000, 9, 7),
    credit="Statlog (Shuttle). UCI Machine Learning Repository. doi:10.24432/C5WS31",
    separator=" ",
)
_MAGIC = DataSet(
    name="magic",
    files=(
        DataFile(
            "magic04.data",
            "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a",
            1_477_391,
        ),
    ),
    shape=(19_020, 10, 2),
    credit="R. Bock (2004). MAGIC Gamma Telescope. UCI Machine Learning Repository. "
    "doi:10.24432/C52C8B",
)
_MUSHROOM = DataSet(
    name="mushroom",
    files=(
        DataFile(
            "agaricus-lepiota.data",
            "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
            373_704,
        ),
    ),
    shape=(8_124, 22, 2),
    credit="Mushroom (1987). UCI Machine Learning Repository. doi:10.24432/C5959T",
    label=0,
)
_COVERTYPE = DataSet(
    name="covertype",
    files=(
        DataFile(
            "covtype.data",
            "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
            75_169_317,
            url="https://archive.ics.uci.edu/static/public/31/covertype.zip",
            package="scikit-multiflow==0.4.1",
            member="skmultiflow/data/datasets/covtype.csv",
            page="https://archive.ics.uci.edu/dataset/31/covertype",
        ),
    ),
    shape=(581_012, 54, 7),
    credit="J. Blackard (1998). Covertype. UCI Machine Learning Repository. doi:10.24432/C50K5N",
    numbers_sha256="afc9d783550e800fa675d7ff61ef69f997a99db816cd19a2c87c1a673c74ba55",
)

for _set in (_SHUTTLE, _MAGIC, _MUSHROOM, _COVERTYPE):
    DATASETS.add(_set.name, _set)
DATASETS.add("statlog", _SHUTTLE)
