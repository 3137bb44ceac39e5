"""What was asked for in this folder? The one writer and the one reader of `sweep.json`.

Every command that runs something into a folder adds its cells to `sweep.json` there. A cell is one
policy on one problem over some seeds: a curve of a panel. A run is finished exactly when
`runs/<hash>/table.parquet` exists.
"""

import json
from collections.abc import Sequence
from dataclasses import MISSING, asdict, fields, replace
from pathlib import Path
from typing import Any

from banditsrl.core.files import write_json
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.planning import PlannedCell, SweepPlan
from banditsrl.experiments.run_spec import settings_to_dict
from banditsrl.experiments.store import Store
from banditsrl.experiments.sweep import Sweep, SweepCell, list_runs

SCHEMA = 1
"""Version of `sweep.json` that this file writes and reads."""

DEFINITION = ("problem", "problem_settings", "policy", "preset", "settings", "horizon")
"""Fields that two cells of one name must share to be the same cell."""


def record_plan(plan: SweepPlan, *, title: str, command: str) -> None:
    """Add the cells of a plan to `sweep.json`.

    A cell that the file already has, by figure, panel and label, gets more seeds if it is defined
    in the same way, and is replaced if not. A file that is not ours is never overwritten.
    """
    path = plan.store.directory / "sweep.json"
    before = _read_before_adding(plan.store.directory) if path.exists() else None
    cells = {cell.key: cell for cell in (before.cells if before else ())}
    for planned in plan.cells:
        new = _make_cell(planned)
        cells[new.key] = _add_seeds(cells[new.key], new, plan.store) if new.key in cells else new
    titles = {**(before.titles if before else {}), plan.cells[0].cell.figure or "": title}
    commands = [line for line in (before.commands if before else ()) if line != command]
    try:
        plan.store.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"out must be a folder that exists or can be created, got {plan.store.directory} "
            f"({error.strerror})."
        ) from error
    write_json(path, _build_document(list(cells.values()), titles, [*commands, command]))


def read_sweep(directory: str | Path) -> Sweep:
    """Read `sweep.json` of a folder and look up which of its runs are finished."""
    store = Store(directory)
    path = store.directory / "sweep.json"
    document = _read_document(path)
    cells = tuple(_parse_cell(entry, k, path) for k, entry in enumerate(document["cells"]))
    return Sweep(
        store=store,
        title=str(document.get("title") or document.get("figure") or "Sweep"),
        command=str(document.get("command") or ""),
        figure=document.get("figure"),
        titles=dict(document.get("titles") or {}),
        commands=tuple(document.get("commands") or ()),
        cells=cells,
        finished=frozenset(run for run in list_runs(cells) if store.is_finished(run)),
    )


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(
            f"directory must hold a sweep.json that can be read, got {path.parent} "
            f"({error.strerror})."
        ) from error
    except ValueError as error:
        raise InvalidArgument(f"{path} must hold valid JSON, got {error}.") from error
    found = document.get("schema") if isinstance(document, dict) else None
    if found != SCHEMA:
        raise InvalidArgument(f"{path} must be of schema {SCHEMA}, got schema {found}.")
    entries = document.get("cells")
    if not isinstance(entries, list) or not entries:
        raise InvalidArgument(f"{path} must list at least one cell, got {entries!r}.")
    return dict(document)


def _parse_cell(entry: Any, k: int, path: Path) -> SweepCell:
    given = entry if isinstance(entry, dict) else {}
    required = [
        f.name for f in fields(SweepCell) if f.default is MISSING and f.default_factory is MISSING
    ]
    if missing := [name for name in required if name not in given]:
        raise InvalidArgument(f"{path}: cells[{k}] must have {', '.join(missing)}, got {entry!r}.")
    known = {f.name: given[f.name] for f in fields(SweepCell) if f.name in given}
    known |= {"seeds": tuple(given["seeds"]), "runs": tuple(given["runs"])}
    return SweepCell(**known)


def _read_before_adding(directory: Path) -> Sweep:
    try:
        return read_sweep(directory)
    except InvalidArgument as error:
        raise InvalidArgument(f"{error} The file is left alone.") from error


def _make_cell(planned: PlannedCell) -> SweepCell:
    cell, spec, runs = planned
    return SweepCell(
        figure=cell.figure,
        part=cell.panel,
        panel=cell.panel,
        label=cell.label,
        base=cell.base,
        tuned=cell.tuned,
        problem=spec.problem,
        problem_settings=settings_to_dict(spec.problem_settings),
        policy=spec.policy,
        preset=spec.preset,
        settings=settings_to_dict(spec.settings),
        horizon=spec.horizon,
        seeds=tuple(sorted(seed for seeds in runs.values() for seed in seeds)),
        runs=tuple(runs),
    )


def _add_seeds(old: SweepCell, new: SweepCell, store: Store) -> SweepCell:
    """Return the new cell, with those finished runs of the old one that hold other seeds."""
    if any(getattr(old, name) != getattr(new, name) for name in DEFINITION):
        return new
    seeds, runs = list(new.seeds), list(new.runs)
    for run in old.runs:
        if run in runs or not store.is_finished(run) or store.find_damage(run):
            continue
        more = store.read_spec(run).seeds
        if not set(more) & set(seeds):
            seeds += more
            runs.append(run)
    return replace(new, seeds=tuple(sorted(seeds)), runs=tuple(runs))


def _build_document(
    cells: Sequence[SweepCell], titles: dict[str, str], commands: list[str]
) -> dict[str, Any]:
    figures = list(dict.fromkeys(cell.figure or "" for cell in cells))
    several = len(figures) > 1
    unique = len(set(titles.values())) == len(titles)
    entries = []
    for cell in cells:
        name, part = cell.figure or "", cell.part or cell.panel
        heading = titles.get(name, name) if unique else name
        panel = f"{heading}: {part}" if several else part
        entries.append(asdict(replace(cell, part=part, panel=panel)))
    return {
        "schema": SCHEMA,
        "title": " · ".join(titles[name] for name in figures if name in titles),
        "command": "\n".join(commands),
        "figure": None if several or not figures[0] else figures[0],
        "titles": titles,
        "commands": commands,
        "cells": entries,
    }
