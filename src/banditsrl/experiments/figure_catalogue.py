"""Which figures does the paper have, and how is a figure described in YAML?

The figures of the paper are in `figures.yaml`. A file for `banditsrl sweep` describes one figure
with the same keys:

    title: Two bases                          # title of the figure
    horizon: 10000                            # or scales: {quick: {horizon: ..., seeds: ...}}
    seeds: 20                                 # number of seeds
    preset: default                           # for every curve that names no preset
    problems:                                 # one panel each: a name, a path, or a mapping
      - vardim-realizable
      - {title: Mine, problem: mine.csv, set: {label: class}}
    curves:
      - banditsrl-linucb                      # the name of a policy, or a mapping:
      - {label: Greedy, policy: egreedy, set: {epsilon: 0}, base: uniform}
      - {policy: linucb, grid: {ucb_scale: [0.1, 1, 2]}, tuned: LinUCB}
    parts:                                    # instead of curves: several panels per problem
      - {title: LinUCB, curves: [...]}

`grid` stands for one curve for every combination of values; with `tuned`, reports show only the
best of these curves, under that name. `base` is the label of the curve that a curve is compared
with, seed by seed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from banditsrl.arguments import count
from banditsrl.core.yaml_files import naming_lines, read_yaml
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.figure import Figure, FigureCurve, FigurePanel, Scale
from banditsrl.experiments.run_spec import interpret_setting, is_file
from banditsrl.registry import Registry

ONLY = "only"
"""Name of the scale of a figure that has just one."""

DEFAULT_HORIZON, DEFAULT_SEEDS = 10_000, 20


def read_figure(path: Path) -> Figure:
    """Return the figure described in a file; paths inside it are relative to its folder."""
    with naming_lines(path):
        figure = _parse_figure(path.stem, _load_yaml(path), str(path))
    panels = tuple(
        replace(panel, problem=_resolve_path(panel.problem, path.parent)) for panel in figure.panels
    )
    return replace(figure, panels=panels)


def _resolve_path(problem: str, folder: Path) -> str:
    return str(folder / problem) if is_file(problem) else problem


def _load_yaml(path: Path) -> dict[str, Any]:
    return _require_mapping(read_yaml(path), str(path))


def _parse_figure(name: str, document: Any, where: str) -> Figure:
    entry = _require_mapping(document, where)
    keys = "title scales horizon seeds preset set problems curves parts"
    _refuse_unknown_keys(entry, keys)
    preset, settings = entry.get("preset"), _parse_settings(entry.get("set"), where)
    parts = entry.get("parts") or [{"curves": entry.get("curves")}]
    panels = tuple(
        _parse_panel(problem, part, preset, settings, where)
        for problem in _require_list(entry, "problems", where)
        for part in parts
    )
    return Figure(name, str(entry.get("title", name)), panels, _parse_scales(entry, where))


def _parse_panel(
    problem: Any, part: Any, preset: str | None, settings: dict[str, Any], where: str
) -> FigurePanel:
    """Return the panel of one problem and one part; `settings` are those of the figure."""
    entry = {"problem": problem} if isinstance(problem, str) else _require_mapping(problem, where)
    _refuse_unknown_keys(entry, "title problem set curves scales")
    part = _require_mapping(part, where)
    _refuse_unknown_keys(part, "title curves set")
    name = str(entry.get("problem") or "")
    if not name:
        raise InvalidArgument(f"{where}: every problem must have a name, got {problem!r}.")
    titles = [entry.get("title", Path(name).stem if is_file(name) else name), part.get("title")]
    shared = {**settings, **_parse_settings(part.get("set"), where)}
    curves = [
        curve
        for item in _require_list(entry if entry.get("curves") else part, "curves", where)
        for curve in _parse_curves(item, preset, shared, where)
    ]
    _refuse_equal_labels(curves, where)
    _refuse_unknown_bases(curves)
    own_scales = _require_mapping(entry.get("scales") or {}, where)
    return FigurePanel(
        title=", ".join(str(title) for title in titles if title),
        problem=name,
        curves=tuple(curves),
        settings=_parse_settings(entry.get("set"), where),
        scales={key: _parse_scale(value, where) for key, value in own_scales.items()},
    )


def _parse_curves(
    item: Any, preset: str | None, shared: dict[str, Any], where: str
) -> Iterator[FigureCurve]:
    """Yield the curve of one item, or the curves of its grid."""
    entry = {"policy": item} if isinstance(item, str) else _require_mapping(item, where)
    _refuse_unknown_keys(entry, "label policy set grid preset base tuned")
    if not entry.get("policy"):
        raise InvalidArgument(f"{where}: every curve must name a policy, got {item!r}.")
    label = str(entry.get("label") or entry.get("tuned") or entry["policy"])
    make_curve = partial(
        FigureCurve,
        policy=str(entry["policy"]),
        preset=entry.get("preset", preset),
        base=entry.get("base"),
        tuned=entry.get("tuned"),
    )
    settings = {**shared, **_parse_settings(entry.get("set"), where)}
    grid = _require_mapping(entry.get("grid") or {}, where)
    for values in product(*grid.values()):
        point = dict(zip(grid, values, strict=True))
        suffix = ", ".join(f"{name}={_format_value(value)}" for name, value in point.items())
        yield make_curve(
            label=f"{label}, {suffix}" if suffix else label,
            settings={**settings, **_parse_settings(point, where)},
        )


def _parse_scales(entry: Mapping[str, Any], where: str) -> dict[str, Scale]:
    if "scales" in entry:
        scales = _require_mapping(entry["scales"], where)
        return {name: _parse_scale(scale, where) for name, scale in scales.items()}
    return {ONLY: _parse_scale({k: entry.get(k) for k in ("horizon", "seeds")}, where)}


def _parse_scale(entry: Any, where: str) -> Scale:
    entry = _require_mapping(entry, where)
    _refuse_unknown_keys(entry, "horizon seeds")
    horizon = count(f"{where}: horizon", entry.get("horizon") or DEFAULT_HORIZON)
    return Scale(horizon, count(f"{where}: seeds", entry.get("seeds") or DEFAULT_SEEDS))


def _parse_settings(entry: Any, where: str) -> dict[str, Any]:
    settings = _require_mapping(entry or {}, where)
    return {str(name): interpret_setting(str(name), value) for name, value in settings.items()}


def _format_value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _require_list(entry: Mapping[str, Any], name: str, where: str) -> list[Any]:
    found = entry.get(name)
    if not isinstance(found, list) or not found:
        raise InvalidArgument(f"{where}: {name} must be a list with an entry, got {found!r}.")
    return found


def _require_mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidArgument(f"{where}: must hold names with values, got {value!r}.")
    return value


def _refuse_unknown_keys(entry: Mapping[str, Any], names: str) -> None:
    known: Registry[None] = Registry("key")
    for name in names.split():
        known.add(name, None)
    for key in entry:
        known[str(key)]  # an unknown key is refused, and the nearest one is offered


def _refuse_equal_labels(curves: list[FigureCurve], where: str) -> None:
    labels = [curve.label for curve in curves]
    if repeated := {label for label in labels if labels.count(label) > 1}:
        raise InvalidArgument(f"{where}: labels must differ, got {min(repeated)!r} twice.")


def _refuse_unknown_bases(curves: list[FigureCurve]) -> None:
    """Refuse a base that is no curve of the same panel; a tuned group counts by its name."""
    known: Registry[None] = Registry("curve for a base")
    for name in dict.fromkeys(name for c in curves for name in (c.label, c.tuned) if name):
        known.add(name, None)
    for curve in curves:
        if curve.base is not None:
            known[curve.base]


FIGURES: Registry[Figure] = Registry("figure")
_FILE = Path(__file__).with_name("figures.yaml")
for _name, _entry in _load_yaml(_FILE).items():
    if not _name.startswith("_"):
        FIGURES.add(_name, _parse_figure(_name, _entry, f"{_FILE.name}, {_name}"))
