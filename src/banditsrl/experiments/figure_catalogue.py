"""What did the paper run? Figures as data: panels, policies with settings, and scales.

The figures are in `figures.yaml`; a file for `banditsrl sweep` describes one figure in the same
words:

    title: Two bases                          # of the figure
    horizon: 10000                            # or scales: {quick: {horizon: ..., seeds: ...}}
    seeds: 20                                 # how many, or a list
    preset: default                           # of every curve that has none
    problems:                                 # one panel each: a name, a path, or more words
      - vardim-realizable
      - {title: Mine, problem: mine.csv, set: {label: class}}
    curves:
      - banditsrl-linucb                      # a policy, or more words:
      - {label: Greedy, policy: egreedy, set: {epsilon: 0}, base: uniform}
      - {policy: linucb, grid: {ucb_scale: [0.1, 1, 2]}, tuned: LinUCB}
    parts:                                    # instead of curves: several panels per problem
      - {title: LinUCB, curves: [...]}

`grid` stands for one curve for every combination; with `tuned` a report shows the best of them.
`base` is the label that a curve is compared with, seed by seed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from banditsrl.arguments import count
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.run_spec import FRACTION, is_file, parsed
from banditsrl.registry import Registry

ONLY = "only"
"""Name of the scale of a figure that has one."""


@dataclass(frozen=True)
class Curve:
    """One line of a panel: a registered policy with settings.

    `representation="worst"` stands for the realizable candidate on which LinUCB's regret bound is
    largest (no HLS, largest dimension).
    """

    label: str
    policy: str
    settings: dict[str, Any] = field(default_factory=dict)
    preset: str | None = None
    base: str | None = None
    tuned: str | None = None


@dataclass(frozen=True)
class Scale:
    """How long and how often."""

    horizon: int
    n_seeds: int


@dataclass(frozen=True)
class Panel:
    """One problem and the policies compared on it; `scales` where they are its own."""

    title: str
    problem: str
    curves: tuple[Curve, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    scales: dict[str, Scale] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, or of a person's own."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    scales: dict[str, Scale]

    def only(self, title: str) -> "Figure":
        """The same figure with one of its panels."""
        panels: Registry[Panel] = Registry(f"panel of {self.name}")
        for panel in self.panels:
            panels.add(panel.title, panel)
        return replace(self, panels=(panels[title],))

    def scale(self, name: str) -> Scale:
        """One of its scales."""
        scales: Registry[Scale] = Registry(f"scale of {self.name}")
        for key, scale in self.scales.items():
            scales.add(key, scale)
        return scales[name]


def read_figure(path: Path) -> Figure:
    """The figure described in a file for `banditsrl sweep`; paths in it start from its folder."""
    document = _loaded(path)
    figure = _figure(path.stem, document, str(path))
    near = tuple(replace(panel, problem=_beside(path, panel.problem)) for panel in figure.panels)
    return replace(figure, panels=near)


def _beside(path: Path, problem: str) -> str:
    return str(path.parent / problem) if is_file(problem) else problem


def _loaded(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path}: cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise InvalidArgument(f"{path}: is not valid YAML ({first}).") from error
    return _mapping(document, str(path))


def _figure(name: str, document: Any, where: str) -> Figure:
    words = _mapping(document, where)
    _known(words, where, "title scales horizon seeds preset set problems curves parts")
    shared = {"preset": words.get("preset"), "settings": _settings(words.get("set"), where)}
    parts = words.get("parts") or [{"curves": words.get("curves")}]
    panels = tuple(
        _panel(problem, part, shared, where)
        for problem in _list(words, "problems", where)
        for part in parts
    )
    return Figure(name, str(words.get("title", name)), panels, _scales(words, where))


def _panel(problem: Any, part: Any, shared: dict[str, Any], where: str) -> Panel:
    words = {"problem": problem} if isinstance(problem, str) else _mapping(problem, where)
    _known(words, where, "title problem set curves scales")
    part = _mapping(part, where)
    _known(part, where, "title curves set")
    name = str(words.get("problem") or "")
    if not name:
        raise InvalidArgument(f"{where}: every problem must have a name, got {problem!r}.")
    titles = [words.get("title", Path(name).stem if is_file(name) else name), part.get("title")]
    more = {**shared["settings"], **_settings(part.get("set"), where)}
    source = words if words.get("curves") else part
    curves = [
        curve
        for entry in _list(source, "curves", where)
        for curve in _curves(entry, shared["preset"], more, where)
    ]
    if doubles := {c.label for c in curves if [d.label for d in curves].count(c.label) > 1}:
        raise InvalidArgument(f"{where}: labels must differ, got {min(doubles)!r} twice.")
    own = _mapping(words.get("scales") or {}, where)
    scales = {k: _scale(v, where) for k, v in own.items()}
    title = ", ".join(str(title) for title in titles if title)
    return Panel(title, name, tuple(curves), _settings(words.get("set"), where), scales)


def _curves(entry: Any, preset: str | None, shared: dict[str, Any], where: str) -> Iterator[Curve]:
    """The curve of an entry, or those of its grid."""
    words = {"policy": entry} if isinstance(entry, str) else _mapping(entry, where)
    _known(words, where, "label policy set grid preset base tuned")
    if not words.get("policy"):
        raise InvalidArgument(f"{where}: every curve must name a policy, got {entry!r}.")
    label = str(words.get("label") or words.get("tuned") or words["policy"])
    make = partial(
        Curve,
        policy=str(words["policy"]),
        preset=words.get("preset", preset),
        base=words.get("base"),
        tuned=words.get("tuned"),
    )
    settings = {**shared, **_settings(words.get("set"), where)}
    grid = _mapping(words.get("grid") or {}, where)
    for values in product(*grid.values()):
        point = dict(zip(grid, values, strict=True))
        suffix = ", ".join(f"{name}={_words(value)}" for name, value in point.items())
        named = f"{label}, {suffix}" if suffix else label
        yield make(label=named, settings={**settings, **_settings(point, where)})


def _scales(words: Mapping[str, Any], where: str) -> dict[str, Scale]:
    if "scales" in words:
        return {k: _scale(v, where) for k, v in _mapping(words["scales"], where).items()}
    return {ONLY: _scale({k: words.get(k) for k in ("horizon", "seeds")}, where)}


def _scale(words: Any, where: str) -> Scale:
    words = _mapping(words, where)
    _known(words, where, "horizon seeds")
    horizon = count("horizon", words.get("horizon") or 10_000)
    return Scale(horizon, count("seeds", words.get("seeds") or 20))


def _settings(words: Any, where: str) -> dict[str, Any]:
    given = _mapping(words or {}, where)
    return {str(k): parsed(v) if _is_fraction(v) else v for k, v in given.items()}


def _is_fraction(value: Any) -> bool:
    """Whether YAML left a number like 1/3 as a word."""
    return isinstance(value, str) and FRACTION.fullmatch(value) is not None


def _words(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _list(words: Mapping[str, Any], name: str, where: str) -> list[Any]:
    found = words.get(name)
    if not isinstance(found, list) or not found:
        raise InvalidArgument(f"{where}: {name} must be a list with an entry, got {found!r}.")
    return found


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidArgument(f"{where}: must hold names with values, got {value!r}.")
    return value


def _known(words: Mapping[str, Any], where: str, names: str) -> None:
    known: Registry[None] = Registry(f"word in {where}")
    for name in names.split():
        known.add(name, None)
    for word in words:
        known[str(word)]


FIGURES: Registry[Figure] = Registry("figure")
_FILE = Path(__file__).with_name("figures.yaml")
for _name, _words_of in _loaded(_FILE).items():
    if not _name.startswith("_"):
        FIGURES.add(_name, _figure(_name, _words_of, f"{_FILE.name}, {_name}"))
