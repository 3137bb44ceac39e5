"""Which commands say what is available? `list`, `show` for one name, and `data` for the tables."""

from collections.abc import Callable, Sequence
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from banditsrl.cli import options
from banditsrl.cli.execution import print_json
from banditsrl.core.settings import SettingRow
from banditsrl.datasets.sources import locate
from banditsrl.datasets.uci import DATASETS, fetch
from banditsrl.display.numerals import format_count
from banditsrl.errors import UnknownName
from banditsrl.experiments.figure import Figure
from banditsrl.experiments.figure_catalogue import FIGURES
from banditsrl.policies.policy_catalogue import POLICIES
from banditsrl.policies.policy_settings import describe_policy, has_presets, list_policy_settings
from banditsrl.problems.problem_catalogue import PROBLEMS
from banditsrl.problems.problem_settings import describe_problem, list_problem_settings
from banditsrl.registry import Registry, find_nearest, offer

console = Console()

Describe = Callable[[str], str]

KINDS: Registry[tuple[Registry[Any], Describe]] = Registry("list")


def add_catalogue_commands(app: typer.Typer) -> None:
    """Add the commands that say what is available."""
    app.command("list")(list_names)
    app.command("show")(show)
    app.command("data")(data)


def list_names(kind: options.ListKind = None, as_json: options.AsJson = False) -> None:
    """List problems, policies and figures with one line each."""
    if as_json:
        names = {name: list(KINDS[name][0]) for name in KINDS}
        print_json(list(KINDS[kind][0]) if kind else names)
        return
    for name in [kind] if kind else list(KINDS):
        entries, describe = KINDS[name]
        width = max(len(entry) for entry in entries)
        indent = "" if kind else "  "
        lines = [f"{indent}{entry:<{width}}  {describe(entry)}" for entry in entries]
        console.print("\n".join(lines if kind else [name, *lines]), highlight=False, soft_wrap=True)


def show(name: options.AnyName, as_json: options.AsJson = False) -> None:
    """Show what a policy, problem or figure is, and what can be set on it."""
    documents = {kind: _describe(kind, name) for kind in KINDS if name in KINDS[kind][0]}
    if not documents:
        near = find_nearest(name, dict.fromkeys(each for kind in KINDS for each in KINDS[kind][0]))
        hint = f"did you mean {offer(near)}?" if near else "see `banditsrl list`."
        raise UnknownName(f"There is no policy, problem or figure named {name!r}; {hint}")
    if as_json:
        print_json(documents)
        return
    for kind, document in documents.items():
        singular = KINDS[kind][0].kind
        text = f"{name} ({singular}): {document['description']}"
        console.print(text, highlight=False, soft_wrap=True)
        if kind == "figures":
            _print_figure(FIGURES[name])
        else:
            console.print(_build_settings_table(_list_settings(kind, name)))
        if kind == "policies" and has_presets(name):
            console.print("These are the defaults of the preset `default`; there is also `paper`.")


def data(name: options.DataSetName = None, data_dir: options.DataFolder = None) -> None:
    """Say which data sets are present and where; with a name, find or download one."""
    if name is not None:
        console.print(str(fetch(name, data_dir=data_dir)), highlight=False, soft_wrap=True)
        return
    for each in DATASETS:
        paths = [locate(file, data_dir) for file in DATASETS[each].files]
        here = [str(path) for path in paths if path is not None]
        size = sum(file.n_bytes for file in DATASETS[each].files) / 1e6
        absent = f"not present; `banditsrl data {each}` downloads it ({size:.0f} MB unpacked)"
        place = ", ".join(here) if len(here) == len(paths) else absent
        console.print(f"{each:<10} {place}", highlight=False, markup=False, soft_wrap=True)


def describe_figure(name: str) -> str:
    """Return one sentence about a figure.

    Example:
        >>> describe_figure("mixing")
        'Mixing representations.'
    """
    return f"{FIGURES[name].title}."


KINDS.add("problems", (PROBLEMS, describe_problem))
KINDS.add("policies", (POLICIES, describe_policy))
KINDS.add("figures", (FIGURES, describe_figure))


def _list_settings(kind: str, name: str) -> list[SettingRow]:
    return list_policy_settings(name) if kind == "policies" else list_problem_settings(name)


def _describe(kind: str, name: str) -> dict[str, Any]:
    """Return everything that `show` prints about a name, as plain JSON."""
    document: dict[str, Any] = {"description": KINDS[kind][1](name)}
    if kind == "figures":
        figure = FIGURES[name]
        scales = figure.scales.items()
        document["scales"] = {k: {"horizon": s.horizon, "seeds": s.n_seeds} for k, s in scales}
        document["panels"] = {p.title: [c.label for c in p.curves] for p in figure.panels}
        return document
    rows = _list_settings(kind, name)
    document["settings"] = {r.name: {"default": _plain(r.default), "help": r.help} for r in rows}
    return document


def _plain(value: Any) -> Any:
    """Return a default as JSON can hold it."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _build_settings_table(rows: Sequence[SettingRow]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("setting", no_wrap=True)
    table.add_column("default", max_width=20, overflow="fold")
    table.add_column("help")
    for row in rows:
        table.add_row(Text(row.name), Text(_format_default(row.default)), Text(row.help))
    return table


def _format_default(value: Any) -> str:
    """Return a default as `--set` takes it."""
    if isinstance(value, tuple):
        return ",".join(_format_default(each) for each in value)
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _print_figure(figure: Figure) -> None:
    lines = [
        f"  --scale {name:<9} {scale.horizon:>9,} steps, {format_count(scale.n_seeds, 'seed')}"
        for name, scale in figure.scales.items()
    ]
    for panel in figure.panels:
        lines.append(f"  --panel {panel.title!r}")
        lines += [f"    {curve.label}" for curve in panel.curves]
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
