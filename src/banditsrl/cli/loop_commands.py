"""Which commands manage a loop? `banditsrl loop --help` lists them.

A loop may be served while these commands run: none of them trains or closes decisions.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from banditsrl.cli.console import format_duration, print_message
from banditsrl.cli.evaluation_commands import SHUT
from banditsrl.cli.execution import print_json
from banditsrl.cli.options import AsJson, Quiet
from banditsrl.cli.program import FLAG, CommandGroup
from banditsrl.evaluation.loop_promotion import judge_version
from banditsrl.live.export import export_decisions
from banditsrl.live.live_loop import Loop
from banditsrl.live.loop_opening import find_config, list_loops
from banditsrl.live.loop_queries import describe_loop
from banditsrl.live.replay import Replay
from banditsrl.live_store.state_bytes import digest_content, pack_state
from banditsrl.live_store.store_address import open_store

loop_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="Manage a loop of live decisions."
)
console = Console(markup=False)  # names may hold brackets

Url = Annotated[str, typer.Argument(help="Path of a SQLite file, or the URL of a store.")]
ConfigFile = Annotated[Path, typer.Argument(help="YAML file with the configuration of the loop.")]
LoopName = Annotated[
    str | None, typer.Option("--name", help="Name of the loop, if the store has several.")
]
ExportFile = Annotated[Path, typer.Option("--out", help="File that ends in .jsonl or .parquet.")]
BackupFile = Annotated[Path, typer.Option("--out", help="New file for the copy.")]
ImportFile = Annotated[Path, typer.Argument(help="Exported file, .jsonl or .parquet.")]
ErasedIds = Annotated[list[str] | None, typer.Argument(help="Ids of decisions.")]
ErasedColumn = Annotated[
    str | None, typer.Option("--column", help="Column that holds the --value.")
]
ErasedValue = Annotated[
    str | None, typer.Option("--value", help="Erase the contexts with this value in that column.")
]
Mode = Annotated[str, typer.Argument(help="learn, shadow or frozen.")]
Version = Annotated[int, typer.Argument(help="Version of the model, see `banditsrl loop show`.")]
Gate = Annotated[
    str | None,
    typer.Option(
        metavar="GATE",
        help="better:MARGIN or not-worse:MARGIN. Promote only if the loop's own log proves this; "
        "otherwise the exit status is 3.",
    ),
]
FromLog = Annotated[
    bool,
    typer.Option(
        "--from-log",
        metavar=FLAG,
        help="Judge the version by the loop's log; without --gate, the gate is better:0.",
    ),
]
GateLevel = Annotated[
    float,
    typer.Option(
        "--level", help="Probability with which a version that is not good enough is let through."
    ),
]


@loop_app.command("create")
def create(url: Url, config: ConfigFile) -> None:
    """Make a new loop in a store."""
    with Loop.create(url, config, warm_up=False) as loop:
        # The URL is not printed, since it may hold a password.
        console.print(f"The loop {loop.name!r} was created.", highlight=False)


@loop_app.command("show")
def show(url: Url, name: LoopName = None, as_json: AsJson = False) -> None:
    """Print the state of a loop, or list the loops of a store that has several."""
    with contextlib.closing(open_store(url, create=False)) as store:
        names = [name] if name else list_loops(store)
        found = [describe_loop(store, find_config(store, each)) for each in names]
    if as_json:
        print_json(found)
        return
    for document in found:
        for key, value in document.items():
            console.print(f"{key:<12} {_in_words(value)}", highlight=False, soft_wrap=True)


@loop_app.command("replay")
def replay(url: Url, name: LoopName = None, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Compute the state of a loop again from its log, and print a digest of it."""
    with _open_replay(url, name) as opened:
        fold = opened.state_at(progress=None if quiet else show_progress)
    digest = digest_content(pack_state(fold.state))
    found = {"position": fold.position, "rounds": fold.rounds, "model": fold.model}
    if as_json:
        print_json({**found, "digest": digest})
        return
    words = ", ".join(f"{key} {value:,}" for key, value in found.items())
    console.print(f"{words}, digest {digest}", highlight=False)


@loop_app.command("verify")
def verify(url: Url, name: LoopName = None, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Compute every decision and every training again, and compare them bit for bit.

    The exit status is 1 if something differs, and also if no decision could be compared.
    """
    with _open_replay(url, name) as opened:
        found = opened.verify(progress=None if quiet else show_progress)
    if as_json:
        print_json({**found.__dict__, "passed": found.passed})
    else:
        lines = [str(found), *found.differences]
        console.print("\n".join(lines), highlight=False, soft_wrap=True)
    raise typer.Exit(0 if found.passed else 1)


@loop_app.command("export")
def export(url: Url, out: ExportFile, name: LoopName = None) -> None:
    """Write one row per decision to a file."""
    with contextlib.closing(open_store(url, create=False)) as store:
        n = export_decisions(store, find_config(store, name).name, out)
    console.print(f"{n:,} decisions are in {out}.", highlight=False, soft_wrap=True)


@loop_app.command("import")
def import_file(url: Url, file: ImportFile, name: LoopName = None) -> None:
    """Learn from the decisions in an exported file; those that are known are skipped."""
    shown: dict[str, Any] = {"warm_up": False, "learner": False, "progress": show_progress}
    with Loop.open(url, name, **shown) as loop:
        n = loop.import_decisions(file)
    console.print(f"{n:,} decisions were imported from {file}.", highlight=False, soft_wrap=True)


@loop_app.command("erase")
def erase(
    url: Url,
    ids: ErasedIds = None,
    column: ErasedColumn = None,
    value: ErasedValue = None,
    name: LoopName = None,
) -> None:
    """Erase the contexts of decisions, by their ids or by the value of a column."""
    given = {} if value is None else {"value": _read_value(value)}
    with Loop.open(url, name, warm_up=False, learner=False) as loop:
        n = loop.erase(ids or None, column=column, **given)
    console.print(f"Erased contexts: {n:,}.", highlight=False)


@loop_app.command("backup")
def backup(url: Url, out: BackupFile) -> None:
    """Copy a whole store to a new file, also while it is in use."""
    with contextlib.closing(open_store(url, create=False)) as store:
        store.backup(out)
    console.print(f"The copy is {out}.", highlight=False, soft_wrap=True)


@loop_app.command("promote")
def promote(
    url: Url,
    version: Version,
    name: LoopName = None,
    *,
    gate: Gate = None,
    from_log: FromLog = False,
    level: GateLevel = 0.05,
    as_json: AsJson = False,
) -> None:
    """Let another version of the model decide; nothing is trained until the loop is resumed.

    With a gate, only if the loop's own log says that the version is good enough.
    """
    evidence = None
    if gate is not None or from_log:
        with contextlib.closing(open_store(url, create=False)) as store:
            judged = judge_version(
                store, find_config(store, name), version, gate or "better:0", level=level
            )
        evidence = judged.evidence
        if as_json:
            print_json(evidence)
        else:
            console.print(judged.verdict.sentence, highlight=False, soft_wrap=True)
        if not judged.verdict.promoted:
            raise typer.Exit(SHUT)
    with Loop.open(url, name, warm_up=False, learner=False) as loop:
        loop.promote(version, evidence=evidence)
    if not as_json:
        console.print(f"Version {version} decides now.", highlight=False)


@loop_app.command("resume")
def resume(url: Url, name: LoopName = None) -> None:
    """Resume training, which stops when another version is promoted."""
    with Loop.open(url, name, warm_up=False, learner=False) as loop:
        loop.resume()
    console.print("The loop trains again.", highlight=False)


@loop_app.command("mode")
def set_mode(url: Url, mode: Mode, name: LoopName = None) -> None:
    """Change the mode of a loop: learn, shadow or frozen."""
    with Loop.open(url, name, warm_up=False, learner=False) as loop:
        loop.set_mode(mode)
    console.print(f"The mode is {mode} now.", highlight=False)


@contextlib.contextmanager
def _open_replay(url: str, name: str | None) -> Iterator[Replay]:
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(contextlib.closing(open_store(url, create=False)))
        replayed = Replay(store, find_config(store, name))
        yield stack.enter_context(contextlib.closing(replayed))


def show_progress(position: int, last: int, seconds: float) -> None:
    """Print how far a log has been read, and how long the rest takes."""
    left = format_duration(seconds)
    print_message(f"position {position:,} of {last:,}, {left} left")


def _read_value(text: str) -> Any:
    """Return a number, true, false or null, if the text is one, and otherwise the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_words(one)}" for name, one in value.items())
    if isinstance(value, list):
        return "; ".join(_in_words(one) for one in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
