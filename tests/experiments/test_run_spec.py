"""Specifications: what is the same run, and what a person may type."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.run_spec import (
    RunSpec,
    digest_file,
    parse_settings,
    parse_value,
    settings_from_dict,
    split_seeds,
)

SPEC = RunSpec(
    problem="vardim-realizable",
    policy="banditsrl-linucb",
    horizon=100,
    seeds=(0, 1),
    steps=(50, 100),
    settings=settings_from_dict({"loss": "weak", "glrt_scale": 5}),
)


def test_a_specification_is_immutable_and_survives_json() -> None:
    with pytest.raises(FrozenInstanceError):
        SPEC.horizon = 3  # type: ignore[misc]
    assert RunSpec.from_dict(SPEC.as_dict()) == SPEC
    assert RunSpec.from_dict(SPEC.as_dict()).hash == SPEC.hash


def test_the_hash_forgets_the_order_of_settings_and_nothing_else() -> None:
    assert (
        replace(SPEC, settings=settings_from_dict({"glrt_scale": 5, "loss": "weak"})).hash
        == SPEC.hash
    )
    others = [
        replace(SPEC, horizon=101),
        replace(SPEC, seeds=(0,)),
        replace(SPEC, steps=(100,)),
        replace(SPEC, preset="paper"),
        replace(SPEC, problem_settings=(("seed", 1),)),
        replace(SPEC, settings=settings_from_dict({"loss": "eig", "glrt_scale": 5})),
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
        spec = replace(SPEC, problem=str(path), content=digest_file(str(path)))
        hashes.append(spec.hash)
    assert hashes[0] == hashes[1] != hashes[2]


def test_chunks_start_at_multiples_so_that_more_seeds_keep_the_first_runs() -> None:
    assert split_seeds(range(100), 40)[:2] == split_seeds(range(80), 40)
    assert split_seeds([3, 1, 1, 2], 1) == [(1,), (2,), (3,)]
    assert split_seeds(range(30, 50), 40) == [tuple(range(30, 40)), tuple(range(40, 50))]


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
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


@pytest.mark.parametrize("spelling", ["none", "None", "null"])
def test_none_is_a_word_where_it_is_one_and_no_value_elsewhere(spelling: str) -> None:
    pairs = [
        f"{name}={spelling}" for name in ("loss", "noise", "refit", "glrt_scale", "n_contexts")
    ]
    assert parse_settings(pairs) == {
        "loss": "none",
        "noise": "none",
        "refit": "none",
        "glrt_scale": None,
        "n_contexts": None,
    }


def test_the_settings_that_have_the_word_none_take_it() -> None:
    problem = banditsrl.make_problem("vardim-realizable", **parse_settings(["noise=none"]))
    assert problem.noise == "none"
    settings = parse_settings(["loss=none", "refit=none", "glrt_scale=none"])
    wheel = banditsrl.make_problem("wheel", n_contexts=10)
    policy = banditsrl.make_policy("nn-banditsrl-egreedy", wheel, **settings)
    assert (policy.training.loss, policy.refit) == ("none", "none")


def test_a_seed_counts_once() -> None:
    with pytest.raises(InvalidArgument, match="seeds must be distinct, got 1 more than once"):
        replace(SPEC, seeds=(1, 0, 1))
    document = {**SPEC.as_dict(), "seeds": [1, 1]}
    with pytest.raises(InvalidArgument, match="seeds must be distinct"):
        RunSpec.from_dict(document)


@pytest.mark.parametrize("pair", ["loss", "=3", "a b=3", "2x=1"])
def test_a_setting_needs_a_name_and_a_value(pair: str) -> None:
    with pytest.raises(banditsrl.errors.InvalidArgument, match="--set must be NAME=VALUE"):
        parse_settings([pair])
