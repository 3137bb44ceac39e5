"""Building: settings go where they belong, and every object is built once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import banditsrl
from banditsrl.cli.commands import app
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.building import (
    build_policy,
    build_problem,
    default_policy,
    split_settings,
)
from banditsrl.experiments.run_spec import RunSpec, digest_file, settings_from_dict
from banditsrl.problems.problem_catalogue import PROBLEMS

SPEC = RunSpec(
    problem="vardim-realizable",
    policy="banditsrl-linucb",
    horizon=100,
    seeds=(0, 1),
    steps=(50, 100),
    settings=settings_from_dict({"loss": "weak", "glrt_scale": 5}),
)


def test_settings_go_to_the_problem_that_takes_them() -> None:
    assert split_settings("vardim-realizable", {"seed": 3, "loss": "weak"}) == (
        {"seed": 3},
        {"loss": "weak"},
    )
    assert split_settings("x.csv", {"label": "y", "layers": (5,)}) == (
        {"label": "y"},
        {"layers": (5,)},
    )


def test_objects_are_built_once_per_process() -> None:
    again = replace(SPEC, seeds=(7,), horizon=5)
    assert build_problem(again) is build_problem(SPEC)
    assert build_policy(again) is build_policy(SPEC)
    assert build_policy(SPEC).loss == "weak"


def test_the_worst_candidate_is_found_by_name() -> None:
    spec = replace(SPEC, policy="linucb", settings=settings_from_dict({"representation": "worst"}))
    largest = max(candidate.dim for candidate in build_problem(spec).representations)
    assert build_policy(spec).representation.dim == largest


def test_without_a_policy_one_that_fits_is_chosen(problem: banditsrl.FiniteProblem) -> None:
    assert default_policy(problem) == "banditsrl-linucb"  # candidates to select from
    assert default_policy(banditsrl.make_problem("wheel")) == "banditsrl-auto"


def test_a_command_without_a_policy_builds_its_problem_once() -> None:
    make, built = PROBLEMS["mixing"], []

    def make_and_count(seed: int = 0) -> Any:
        built.append(seed)
        return make(seed=seed)

    arguments = ["run", "mixing", "--set", "seed=17", "--horizon", "20", "--seeds", "2", "--quiet"]
    with PROBLEMS.temporary("mixing", make_and_count):
        assert CliRunner().invoke(app, arguments).exit_code == 0
    assert built == [17]


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    n_contexts = []
    for n_rows in (20, 30):
        path.write_text("x,y\n" + "\n".join(f"{k},{k % 2}" for k in range(n_rows)) + "\n")
        spec = replace(
            SPEC,
            problem=str(path),
            problem_settings=settings_from_dict({"label": "y"}),
            content=digest_file(str(path)),
        )
        n_contexts.append(build_problem(spec).n_contexts)
    assert n_contexts == [20, 30]


def test_the_worst_candidate_needs_a_finite_problem() -> None:
    settings = settings_from_dict({"representation": "worst"})
    spec = replace(SPEC, problem="wheel", policy="linucb", settings=settings)
    spec = replace(spec, problem_settings=settings_from_dict({"n_contexts": None}))
    with pytest.raises(InvalidArgument, match="representation=worst needs a finite problem"):
        build_policy(spec)
