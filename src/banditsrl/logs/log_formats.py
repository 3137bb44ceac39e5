"""Which format does a log have? If it is not given, its ending, first line or columns tell."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from banditsrl.arguments import one_of
from banditsrl.core.files import write_file
from banditsrl.errors import InvalidArgument
from banditsrl.logs.dsjson_logs import is_dsjson, read_dsjson
from banditsrl.logs.dsjson_writing import write_dsjson
from banditsrl.logs.exported_logs import is_exported, read_exported
from banditsrl.logs.line_blocks import first_line, open_file, read_object
from banditsrl.logs.log import Log, LogSource
from banditsrl.logs.log_options import LogOptions
from banditsrl.logs.loop_logs import StoredRounds, check_loop_options
from banditsrl.logs.obp_logs import (
    check_feedback_options,
    read_feedback_file,
    write_feedback_file,
)
from banditsrl.logs.table_logs import read_table, refuse_damage
from banditsrl.logs.table_writing import write_csv, write_json_lines, write_parquet
from banditsrl.logs.vw_text_logs import is_vw_text, read_vw_text, write_vw_text

TABLES = ("parquet", "csv", "jsonl")
FORMATS = (*TABLES, "dsjson", "vw", "obp", "loop")

ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".dsjson": "dsjson",
    ".vw": "vw",
    ".dat": "vw",
    ".npz": "obp",
    ".db": "loop",
    ".sqlite": "loop",
}
"""Formats of files by the ending of their names."""

SQLITE = b"SQLite format 3\0"

WRITERS: dict[str, Callable[[BinaryIO, Log], int]] = {
    "parquet": write_parquet,
    "csv": write_csv,
    "jsonl": write_json_lines,
    "dsjson": write_dsjson,
    "vw": write_vw_text,
    "obp": write_feedback_file,
}


def open_log(path: str | Path, format: str | None, options: LogOptions) -> LogSource:  # noqa: A002
    """Return the log at a path or an address, in its format."""
    chosen = _recognise(str(path)) if format is None else one_of("format", format, FORMATS)
    if chosen == "loop":
        check_loop_options(options)
        return StoredRounds(str(path), options)
    file = Path(path)
    if chosen == "dsjson":
        return read_dsjson(file, options)
    if chosen == "vw":
        return read_vw_text(file, options)
    if chosen == "obp":
        check_feedback_options(options)
        return read_feedback_file(file, position=options.position, skip_bad=options.skip_bad)
    if chosen != "csv" and is_exported(_list_columns(file, chosen)):
        return read_exported(file, chosen, options)
    return read_table(file, chosen, options)


def write_log(log: Log, path: Path, format: str | None) -> int:  # noqa: A002
    """Write a log to a file, in one piece, and return the number of its rounds."""
    chosen = ENDINGS.get(path.suffix) if format is None else format
    if chosen not in WRITERS:
        got = repr(format) if format is not None else repr(path.name)
        raise InvalidArgument(f"format must be one of {', '.join(WRITERS)}, got {got}.")
    counts: list[int] = []
    write_file(path, lambda stream: counts.append(WRITERS[chosen](stream, log)))
    return counts[0]


def _recognise(path: str) -> str:
    """Return the format of a log that was not given."""
    if "://" in path:
        return "loop"
    file = Path(path)
    with open_file(file) as stream:
        if stream.read(len(SQLITE)) == SQLITE:
            return "loop"
    known = ENDINGS.get(file.suffix)
    if known in ("parquet", "csv", "dsjson", "vw", "obp"):
        return str(known)
    line = first_line(file)
    if line.lstrip().startswith(b"{"):
        return "dsjson" if is_dsjson(line) else "jsonl"
    if is_vw_text(line):
        return "vw"
    if known == "jsonl":
        return "jsonl"
    raise InvalidArgument(
        f"{path}: its format must be one of {', '.join(FORMATS)}, and cannot be told; give format=."
    )


def _list_columns(path: Path, format: str) -> set[str]:  # noqa: A002
    if format == "jsonl":
        return set(read_object(first_line(path))[0])
    import polars as pl

    with refuse_damage(path):
        return set(pl.scan_parquet(path, glob=False).collect_schema().names())
