"""Specifications: what is the same run, and what a person may type."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

import banditsrl
from banditsrl.experiments.building import build, default_policy, shared_out
from banditsrl.experiments.run_spec import (
    RunSpec,
    chunks,
    content_digest,
    frozen,
    parsed,
    parsed_settings,
)

SPEC = RunSpec(
    problem="vardim-realizable",
    policy="banditsrl-linucb",
    horizon=100,
    seeds=(0, 1),
    steps=(50, 100),
    settings=frozen({"loss": "weak", "glrt_scale": 5}),
)


def test_a_specification_is_immutable_and_survives_json() -> None:
    with pytest.raises(FrozenInstanceError):
        SPEC.horizon = 3  # type: ignore[misc]
    assert RunSpec.from_dict(SPEC.as_dict()) == SPEC
    assert RunSpec.from_dict(SPEC.as_dict()).hash == SPEC.hash


def test_the_hash_forgets_the_order_of_settings_and_nothing_else() -> None:
    assert replace(SPEC, settings=frozen({"glrt_scale": 5, "loss": "weak"})).hash == SPEC.hash
    others = [
        replace(SPEC, horizon=101),
        replace(SPEC, seeds=(0,)),
        replace(SPEC, steps=(100,)),
        replace(SPEC, preset="paper"),
        replace(SPEC, problem_settings=(("seed", 1),)),
        replace(SPEC, settings=frozen({"loss": "eig", "glrt_scale": 5})),
    ]
    assert len({SPEC.hash, *(other.hash for other in others)}) == 1 + len(others)


def test_the_hash_is_pinned_so_that_old_stores_stay_valid() -> None:
    assert SPEC.hash == "74746941cf4fd375"


def test_a_file_counts_by_its_name_and_content_not_by_its_folder(tmp_path: Path) -> None:
    hashes = []
    for folder, text in (("a", "1"), ("b", "1"), ("c", "2")):
        path = tmp_path / folder / "problem.csv"
        path.parent.mkdir()
        path.write_text(text)
        spec = replace(SPEC, problem=str(path), content=content_digest(str(path)))
        hashes.append(spec.hash)
    assert hashes[0] == hashes[1] != hashes[2]


def test_chunks_start_at_multiples_so_that_more_seeds_keep_the_first_runs() -> None:
    assert chunks(range(100), 40)[:2] == chunks(range(80), 40)
    assert chunks([3, 1, 1, 2], 1) == [(1,), (2,), (3,)]
    assert chunks(range(30, 50), 40) == [tuple(range(30, 40)), tuple(range(40, 50))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-2.5", -2.5),
        ("1e-3", 0.001),
        ("1/3", 1 / 3),
        ("true", True),
        ("None", None),
        ("50,50,10", (50, 50, 10)),
        ("50,", (50,)),
        ("t^-1/3", "t^-1/3"),
        ("weak", "weak"),
        ("inf", "inf"),
        ("1/0", "1/0"),
    ],
)
def test_values_are_what_they_look_like(text: str, value: object) -> None:
    assert parsed(text) == value
    assert type(parsed(text)) is type(value)


def test_none_is_a_word_where_it_is_one() -> None:
    assert parsed_settings(["loss=none", "glrt_scale=none"]) == {"loss": "none", "glrt_scale": None}


@pytest.mark.parametrize("pair", ["loss", "=3", "a b=3", "2x=1"])
def test_a_setting_needs_a_name_and_a_value(pair: str) -> None:
    with pytest.raises(banditsrl.errors.InvalidArgument, match="--set must be NAME=VALUE"):
        parsed_settings([pair])


def test_settings_go_to_the_problem_that_takes_them() -> None:
    assert shared_out("vardim-realizable", {"seed": 3, "loss": "weak"}) == (
        {"seed": 3},
        {"loss": "weak"},
    )
    assert shared_out("x.csv", {"label": "y", "layers": (5,)}) == ({"label": "y"}, {"layers": (5,)})


def test_objects_are_built_once_per_process() -> None:
    problem, policy = build(SPEC)
    again = build(replace(SPEC, seeds=(7,), horizon=5))
    assert again[0] is problem
    assert again[1] is policy
    assert policy.loss == "weak"


def test_the_worst_candidate_is_found_by_name() -> None:
    spec = replace(SPEC, policy="linucb", settings=frozen({"representation": "worst"}))
    problem, policy = build(spec)
    assert policy.representation.dim == max(c.dim for c in problem.representations)


def test_without_a_policy_one_that_fits_is_chosen(problem: banditsrl.FiniteProblem) -> None:
    assert default_policy(problem) == "banditsrl-linucb"  # candidates to select from
    assert default_policy(banditsrl.make_problem("wheel")) == "banditsrl-auto"
