"""Which data sets have a name? Four of UCI, as labelled tables: three shipped, one fetched.

Shuttle, MAGIC and Mushroom lie in the package. Covertype is found by `sources`: in a folder the
user names, the user's cache, a download from UCI, or a package of the Python index. Its parsed
numbers are kept in the cache too (five megabytes), under their own checksum.
"""

import hashlib
import io
import warnings
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditsrl.core.files import cache_dir, write_bytes
from banditsrl.datasets import sources
from banditsrl.datasets.columns import as_labels, as_numbers
from banditsrl.datasets.downloads import DataFile, Progress
from banditsrl.problems.labelled import P_RIGHT, P_WRONG, TableProblem
from banditsrl.problems.problem_catalogue import PROBLEMS
from banditsrl.registry import Registry

if TYPE_CHECKING:
    import polars as pl

LICENCE = "CC BY 4.0"


@dataclass(frozen=True)
class DataSet:
    """One data set: its files, how they are written, and whom to credit.

    Attributes:
        name: What `make_problem` calls it.
        files: Their rows follow each other.
        shape: Contexts, columns and actions.
        credit: Authors, title and where it is published.
        label: The position of the label column.
        separator: What separates the fields of a line.
        numbers_sha256: Where every field is a small whole number: the SHA-256 of all of them,
            column by column in little-endian 16 bits. Only then are parsed numbers kept.
    """

    name: str
    files: tuple[DataFile, ...]
    shape: tuple[int, int, int]
    credit: str
    label: int = -1
    separator: str = ","
    numbers_sha256: str = ""


DATASETS: Registry[DataSet] = Registry("data set")


def dataset(
    name: str,
    *,
    p_right: float = P_RIGHT,
    p_wrong: float = P_WRONG,
    data_dir: str | Path | None = None,
    progress: Progress | None = None,
) -> TableProblem:
    """A data set of UCI as a bandit.

    Args:
        name: "shuttle" (or "statlog"), "magic", "mushroom" or "covertype".
        p_right: Probability of a reward for the row's own class.
        p_wrong: Probability of a reward for any other class.
        data_dir: A folder that may hold covtype.data.gz (or covtype.data); by default the one
            that BANDITSRL_DATA names. The small data sets never need one.
        progress: Called during a download with the bytes done, the bytes in all and what; by
            default a bar is drawn if the error stream is a terminal.

    Example:
        >>> problem = dataset("mushroom")
        >>> problem.n_contexts, problem.n_columns, problem.n_actions
        (8124, 22, 2)
    """
    columns, labels = load(DATASETS[name], data_dir=data_dir, progress=progress)
    return TableProblem(columns, labels, name=DATASETS[name].name, p_right=p_right, p_wrong=p_wrong)


def fetch(name: str, data_dir: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Make sure that a data set is on this machine and right; returns the folder of its files."""
    for file in DATASETS[name].files:
        path = sources.find(file, data_dir=data_dir, progress=progress).path
    return path.parent


def load(
    chosen: DataSet, *, data_dir: str | Path | None = None, progress: Progress | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The columns as numbers (n_contexts, n_columns), and the labels."""
    if chosen.numbers_sha256:
        table = _whole_numbers(chosen, data_dir, progress)
        rest = np.delete(np.arange(len(table)), chosen.label)
        return table[rest].T, table[chosen.label]
    frame = _frame(b"".join(sources.find(file).content for file in chosen.files), chosen)
    label = frame.columns[chosen.label]
    columns = [as_numbers(frame[name], chosen.name) for name in frame.columns if name != label]
    return np.stack(columns, axis=1), as_labels(frame[label], chosen.name)


def _frame(content: bytes, chosen: DataSet) -> "pl.DataFrame":
    import polars as pl

    whole = {f"column_{k + 1}": pl.Int16 for k in range(chosen.shape[1] + 1)}
    return pl.read_csv(
        io.BytesIO(content),
        has_header=False,
        separator=chosen.separator,
        schema=whole if chosen.numbers_sha256 else None,
        infer_schema_length=None,
    )


def _whole_numbers(
    chosen: DataSet, data_dir: str | Path | None, progress: Progress | None
) -> NDArray[np.int16]:
    """All numbers of a data set, (n_columns + 1, n_contexts), parsed now or once before."""
    given = sources.in_folder(chosen.files[0], data_dir)
    path = cache_dir() / f"{chosen.files[0].name}.npz"
    if given is None and path.is_file():
        kept = _kept(path, chosen)
        if kept is not None:
            return kept
    found = given or sources.find(chosen.files[0], data_dir=data_dir, progress=progress)
    table = np.ascontiguousarray(_frame(found.content, chosen).to_numpy().T, dtype="<i2")
    if given is None:
        _keep(path, table)
    return table


def _kept(path: Path, chosen: DataSet) -> NDArray[np.int16] | None:
    """The numbers in the cache, if they are whole and right."""
    table = None
    damage = (OSError, ValueError, LookupError, EOFError, zlib.error, zipfile.BadZipFile)
    with suppress(*damage), np.load(io.BytesIO(path.read_bytes())) as kept:
        table = np.ascontiguousarray(kept["table"], dtype="<i2")
    if table is not None and hashlib.sha256(table.data).hexdigest() == chosen.numbers_sha256:
        return table
    warnings.warn(f"{path}: is damaged; it is passed over and written again.", stacklevel=2)
    return None


def _keep(path: Path, table: NDArray[np.int16]) -> None:
    """Keep parsed numbers for the next time; that it fails costs a second, so it may."""
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
    PROBLEMS.add(_set.name, partial(dataset, _set.name))
DATASETS.add("statlog", _SHUTTLE)
PROBLEMS.add("statlog", partial(dataset, "statlog"))
