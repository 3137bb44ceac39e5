"""What was asked for? `sweep.json`, to which every command into the same folder adds its cells."""

from collections.abc import Sequence
from typing import Any

from banditsrl.core.files import read_json, write_json
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.planning import PlannedCell, SweepPlan
from banditsrl.experiments.run_spec import settings_to_dict
from banditsrl.experiments.store import Store

SCHEMA = 1

DEFINITION = ("problem", "problem_settings", "policy", "preset", "settings", "horizon")
"""What makes two cells of one name the same."""


def record(plan: SweepPlan, *, title: str, command: str) -> None:
    """Add the cells of a plan to `sweep.json`.

    A cell that is there already, by figure, panel and label, gets more seeds if it is defined in
    the same way, and is replaced if not.
    """
    path = plan.store.directory / "sweep.json"
    before = read_ledger(plan.store) if path.exists() else {}
    cells = {_name(entry): entry for entry in before.get("cells", [])}
    for planned in plan.cells:
        entry = _entry(planned)
        name = _name(entry)
        cells[name] = _joined(cells[name], entry, plan.store) if name in cells else entry
    titles = {**before.get("titles", {}), _figures(plan): title}
    commands = [line for line in before.get("commands", []) if line != command]
    try:
        plan.store.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"out must be a folder that can be made or is there, got {plan.store.directory} "
            f"({error.strerror})."
        ) from error
    write_json(path, _document(list(cells.values()), titles, [*commands, command]))


def read_ledger(store: Store) -> dict[str, Any]:
    """What `record` wrote; a file of another kind is refused, never overwritten."""
    path = store.directory / "sweep.json"
    document = read_json(path)
    if document.get("schema") != SCHEMA or not isinstance(document.get("cells"), list):
        raise InvalidArgument(f"{path}: must be the plan of a sweep; it is left alone.")
    return document


def _document(
    cells: Sequence[dict[str, Any]], titles: dict[str, str], commands: list[str]
) -> dict[str, Any]:
    figures = list(dict.fromkeys(entry["figure"] or "" for entry in cells))
    several = len(figures) > 1
    unique = len(set(titles.values())) == len(titles)
    for entry in cells:
        name = entry["figure"] or ""
        heading = titles.get(name, name) if unique else name
        entry["panel"] = f"{heading}: {entry['part']}" if several else entry["part"]
    return {
        "schema": SCHEMA,
        "title": " · ".join(titles[name] for name in figures if name in titles),
        "command": "\n".join(commands),
        "figure": None if several or not figures[0] else figures[0],
        "titles": titles,
        "commands": commands,
        "cells": list(cells),
    }


def _entry(planned: PlannedCell) -> dict[str, Any]:
    cell, spec, runs = planned
    return {
        "figure": cell.figure,
        "part": cell.panel,
        "panel": cell.panel,
        "label": cell.label,
        "base": cell.base,
        "tuned": cell.tuned,
        "problem": spec.problem,
        "problem_settings": settings_to_dict(spec.problem_settings),
        "policy": spec.policy,
        "preset": spec.preset,
        "settings": settings_to_dict(spec.settings),
        "horizon": spec.horizon,
        "seeds": sorted(seed for seeds in runs.values() for seed in seeds),
        "runs": list(runs),
    }


def _joined(old: dict[str, Any], new: dict[str, Any], store: Store) -> dict[str, Any]:
    """The new cell, with those finished runs of the old one that hold other seeds."""
    if any(old.get(word) != new[word] for word in DEFINITION):
        return new
    seeds, runs = list(new["seeds"]), list(new["runs"])
    for run in old.get("runs", []):
        if run in runs or not store.is_finished(run) or store.find_damage(run):
            continue
        more = store.read_spec(run).seeds
        if not set(more) & set(seeds):
            seeds += more
            runs.append(run)
    return {**new, "seeds": sorted(seeds), "runs": runs}


def _name(entry: dict[str, Any]) -> tuple[str | None, str, str]:
    return entry.get("figure"), str(entry.get("part", entry.get("panel"))), str(entry.get("label"))


def _figures(plan: SweepPlan) -> str:
    return plan.cells[0].cell.figure or ""
