"""Where are runs kept? One folder per run, named by the hash of its specification.

    DIR/sweep.json                      what was asked for
    DIR/runs/<hash>/spec.json           the specification
    DIR/runs/<hash>/environment.json    versions, machine, time, command
    DIR/runs/<hash>/table.parquet       the recorded steps; the run is finished when it exists
    DIR/runs/<hash>/checkpoint.npz      the state of an unfinished run
    DIR/runs/<hash>/error.txt           why it failed

Every file is written in one piece (see `core.files`), and the specification and the table are on
disk before the table appears. A folder that is damaged, or that was not made here, is named and
left as it is. Nothing is deleted except temporary files inside a run that has just finished.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from banditsrl.core.files import PARTIAL, read_json, sync_file, write_bytes, write_json
from banditsrl.errors import BanditSRLError, InvalidArgument
from banditsrl.experiments.environment import describe_environment
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.run_tables import REQUIRED, encode_table

if TYPE_CHECKING:
    import polars as pl


class Run(NamedTuple):
    """A run found in a store."""

    hash: str
    spec: RunSpec
    finished: bool


class Store:
    """The folder of a sweep; nothing is created before something is written."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)

    def folder(self, run: str) -> Path:
        """Return the folder of a run, which need not exist."""
        return self.directory / "runs" / run

    def table_path(self, run: str) -> Path:
        """Return the path of the table of a run, which exists when the run is finished."""
        return self.folder(run) / "table.parquet"

    def runs(self) -> Iterator[Run]:
        """Yield every run that can be read, finished or not, ordered by hash."""
        for run in self._list_names():
            try:
                spec = self.read_spec(run)
            except BanditSRLError:
                continue
            yield Run(run, spec, self.is_finished(run))

    def is_finished(self, run: str) -> bool:
        """Tell whether a run has its table."""
        return self.table_path(run).is_file()

    def find_damage(self, run: str, *, deep: bool = False) -> str | None:
        """Return one sentence about what is wrong with the folder of a run, or None.

        Args:
            run: The hash of the run.
            deep: Whether to read the table as well.
        """
        folder = self.folder(run)
        if not folder.exists():
            return None
        if not folder.is_dir():
            return f"{folder}: must be a folder; it is left alone."
        if _has_only_begun(folder):
            return None
        try:
            spec = self.read_spec(run)
            if deep and self.is_finished(run):
                self._check_table(run, spec)
        except BanditSRLError as error:
            return f"{error} It is left alone."
        return None

    def read_spec(self, run: str) -> RunSpec:
        """Return the specification of a run, checked against the name of its folder."""
        path = self.folder(run) / "spec.json"
        document = read_json(path)
        try:
            spec = RunSpec.from_dict(document)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgument(f"{path}: is not the specification of a run.") from error
        if spec.hash != run or document.get("hash") != run:
            raise InvalidArgument(f"{path}: must describe run {run}, got {spec.hash}.")
        return spec

    def read_table(self, run: str) -> "pl.DataFrame":
        """Return the table of a finished run."""
        import polars as pl

        path = self.table_path(run)
        try:
            return pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InvalidArgument(f"{path}: cannot be read, or is damaged.") from error

    def scan(self, runs: Sequence[str]) -> "pl.LazyFrame":
        """Return the tables of finished runs as one lazy frame with an additional column `run`."""
        import polars as pl

        frames = [
            pl.scan_parquet(self.table_path(run)).with_columns(run=pl.lit(run)) for run in runs
        ]
        return pl.concat(frames, how="diagonal")

    def read_tables(self, runs: Sequence[str], columns: Sequence[str]) -> "pl.DataFrame":
        """Return some columns of the tables of finished runs, in the order of `runs`."""
        import polars as pl

        try:
            return self.scan(runs).select(columns).collect()
        except (OSError, pl.exceptions.PolarsError):
            # reading one table after the other raises an error that names the damaged one
            return pl.concat([self.read_table(run).select(columns) for run in runs])

    def read_failure(self, run: str) -> str:
        """Return the last line of the error of a failed run; empty if it has not failed."""
        path = self.folder(run) / "error.txt"
        if self.is_finished(run) or not path.is_file():
            return ""
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "no reason was recorded"

    def read_document(self, run: str, name: str) -> dict[str, Any]:
        """Return `spec.json` or `environment.json` of a run; empty if it cannot be read."""
        try:
            return read_json(self.folder(run) / name)
        except InvalidArgument:
            return {}

    def begin(self, spec: RunSpec, *, command: str = "") -> Path:
        """Make the folder of a run, write its specification and environment, and return it."""
        folder = self.folder(spec.hash)
        if not _has_spec(folder):
            folder.mkdir(parents=True, exist_ok=True)
            document = {"hash": spec.hash, **spec.as_dict()}
            write_json(folder / "spec.json", document, sync=False)  # `finish` syncs it
        write_json(folder / "environment.json", describe_environment(command), sync=False)
        return folder

    def finish(self, spec: RunSpec, table: "pl.DataFrame | bytes") -> None:
        """Write the table of a run, then remove the files that only an unfinished run needs."""
        folder = self.folder(spec.hash)
        content = table if isinstance(table, bytes) else encode_table(table)
        sync_file(folder / "spec.json")
        write_bytes(self.table_path(spec.hash), content)
        for leftover in (*folder.glob("checkpoint*.npz"), *folder.glob(f"*{PARTIAL}")):
            leftover.unlink(missing_ok=True)
        (folder / "error.txt").unlink(missing_ok=True)

    def fail(self, spec: RunSpec, error: str) -> None:
        """Write down why a run failed."""
        self.folder(spec.hash).mkdir(parents=True, exist_ok=True)
        write_bytes(self.folder(spec.hash) / "error.txt", error.encode())

    def _list_names(self) -> list[str]:
        runs = self.directory / "runs"
        return sorted(entry.name for entry in runs.iterdir()) if runs.is_dir() else []

    def _check_table(self, run: str, spec: RunSpec) -> None:
        """Refuse a table that lacks columns or rows."""
        table = self.read_table(run)
        path = self.table_path(run)
        if missing := [name for name in REQUIRED if name not in table.columns]:
            raise InvalidArgument(f"{path}: must have the columns {', '.join(missing)}.")
        rows = len(spec.seeds) * len(spec.steps)
        if table.height != rows:
            raise InvalidArgument(f"{path}: must have {rows} rows, got {table.height}.")


def _has_spec(folder: Path) -> bool:
    """Tell whether the specification is in place; a power cut may leave an empty file."""
    path = folder / "spec.json"
    return path.exists() and path.stat().st_size > 0


def _has_only_begun(folder: Path) -> bool:
    """Tell whether a run was stopped before its specification was in place."""
    if _has_spec(folder):
        return False
    names = [entry.name for entry in folder.iterdir() if not entry.name.endswith(PARTIAL)]
    return all(name in ("spec.json", "environment.json", "checkpoint.npz") for name in names)
