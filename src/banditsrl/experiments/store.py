"""Where do runs live? One folder per run, named by the hash of its specification.

    DIR/sweep.json                      what was asked for
    DIR/runs/<hash>/spec.json           the specification
    DIR/runs/<hash>/environment.json    versions, machine, time, command
    DIR/runs/<hash>/table.parquet       the recorded steps; the run is finished when it exists
    DIR/runs/<hash>/checkpoint.npz      the state of an unfinished run
    DIR/runs/<hash>/error.txt           why it failed

Every file is written under another name and renamed, so that a reader never sees half of one; the
specification and the table are synced before the table appears. A folder that is damaged or not
ours is named and left alone; nothing is ever deleted but our own leftovers inside a run that has
just finished.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from banditsrl.errors import BanditSRLError, InvalidArgument
from banditsrl.experiments.environment import environment
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.run_tables import REQUIRED, to_bytes

if TYPE_CHECKING:
    import polars as pl

PARTIAL = ".partial"
"""Ending of a file that is being written."""


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
        """The folder of a run."""
        return self.directory / "runs" / run

    def runs(self) -> Iterator[Run]:
        """Every run that can be read, finished or not, by hash."""
        for run in self._names():
            try:
                spec = self.spec(run)
            except BanditSRLError:
                continue
            yield Run(run, spec, self.is_finished(run))

    def damaged(self) -> Iterator[str]:
        """One sentence for each folder that is damaged or not ours."""
        for run in self._names():
            if reason := self.problem_with(run):
                yield reason

    def is_finished(self, run: str) -> bool:
        """Whether a run has its table."""
        return (self.folder(run) / "table.parquet").is_file()

    def problem_with(self, run: str, *, deep: bool = False) -> str | None:
        """What is wrong with the folder of a run, in one sentence; `deep` reads its table too."""
        folder = self.folder(run)
        if not folder.exists():
            return None
        if not folder.is_dir():
            return f"{folder}: must be a folder; it is left alone."
        if _only_begun(folder):
            return None
        try:
            spec = self.spec(run)
            if deep and self.is_finished(run):
                self._verify(run, spec)
        except BanditSRLError as error:
            return f"{error} It is left alone."
        return None

    def spec(self, run: str) -> RunSpec:
        """The specification of a run, verified against the name of its folder."""
        path = self.folder(run) / "spec.json"
        document = read_json(path)
        try:
            spec = RunSpec.from_dict(document)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgument(f"{path}: is not the specification of a run.") from error
        if spec.hash != run or document.get("hash") != run:
            raise InvalidArgument(f"{path}: must describe run {run}, got {spec.hash}.")
        return spec

    def table(self, run: str) -> "pl.DataFrame":
        """The table of a finished run."""
        import polars as pl

        path = self.folder(run) / "table.parquet"
        try:
            return pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InvalidArgument(f"{path}: cannot be read, or is damaged.") from error

    def scan(self, runs: Sequence[str]) -> "pl.LazyFrame":
        """The tables of finished runs as one lazy frame, with the column `run`."""
        import polars as pl

        frames = [
            pl.scan_parquet(self.folder(run) / "table.parquet").with_columns(run=pl.lit(run))
            for run in runs
        ]
        return pl.concat(frames, how="diagonal")

    def tables(self, runs: Sequence[str], columns: Sequence[str]) -> "pl.DataFrame":
        """Some columns of finished runs, one below the other."""
        import polars as pl

        try:
            return self.scan(runs).select(columns).collect()
        except (OSError, pl.exceptions.PolarsError):
            return pl.concat([self.table(run).select(columns) for run in runs])  # says which

    def begin(self, spec: RunSpec, *, command: str = "") -> Path:
        """Make the folder of a run, with its specification and environment."""
        folder = self.folder(spec.hash)
        if not _has_spec(folder):
            folder.mkdir(parents=True, exist_ok=True)
            document = {"hash": spec.hash, **spec.as_dict()}
            write_json(folder / "spec.json", document, sync=False)  # `finish` does
        write_json(folder / "environment.json", environment(command), sync=False)
        return folder

    def finish(self, spec: RunSpec, table: "pl.DataFrame | bytes") -> None:
        """Put the table of a run in place; then remove what it no longer needs."""
        folder = self.folder(spec.hash)
        content = table if isinstance(table, bytes) else to_bytes(table)
        with (folder / "spec.json").open("rb") as file:
            os.fsync(file.fileno())
        write_bytes(folder / "table.parquet", content)
        for leftover in (*folder.glob("checkpoint*.npz"), *folder.glob(f"*{PARTIAL}")):
            leftover.unlink(missing_ok=True)
        (folder / "error.txt").unlink(missing_ok=True)

    def fail(self, spec: RunSpec, error: str) -> None:
        """Write down why a run failed."""
        self.folder(spec.hash).mkdir(parents=True, exist_ok=True)
        write_bytes(self.folder(spec.hash) / "error.txt", error.encode())

    def _names(self) -> list[str]:
        runs = self.directory / "runs"
        return sorted(entry.name for entry in runs.iterdir()) if runs.is_dir() else []

    def _verify(self, run: str, spec: RunSpec) -> None:
        table = self.table(run)
        path = self.folder(run) / "table.parquet"
        if missing := [name for name in REQUIRED if name not in table.columns]:
            raise InvalidArgument(f"{path}: must have the columns {', '.join(missing)}.")
        rows = len(spec.seeds) * len(spec.steps)
        if table.height != rows:
            raise InvalidArgument(f"{path}: must have {rows} rows, got {table.height}.")


def write_bytes(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write a file in one piece: another name, sync (unless it is easily missed), rename."""
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    with partial.open("wb") as file:
        file.write(content)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    partial.replace(path)


def write_json(path: Path, document: Mapping[str, Any], *, sync: bool = True) -> None:
    """Write a JSON document in one piece."""
    content = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    write_bytes(path, content.encode(), sync=sync)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path}: cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InvalidArgument(f"{path}: is not valid JSON ({error}).") from error
    if not isinstance(document, dict):
        raise InvalidArgument(f"{path}: must hold a JSON object.")
    return document


def _has_spec(folder: Path) -> bool:
    """Whether the specification is in place; a power cut may leave an empty file."""
    path = folder / "spec.json"
    return path.exists() and path.stat().st_size > 0


def _only_begun(folder: Path) -> bool:
    """Whether a run was stopped before its specification was in place."""
    if _has_spec(folder):
        return False
    names = [entry.name for entry in folder.iterdir() if not entry.name.endswith(PARTIAL)]
    return all(name in ("spec.json", "environment.json", "checkpoint.npz") for name in names)
