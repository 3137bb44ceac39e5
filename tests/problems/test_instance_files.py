"""Is a problem the same after it was written and read, and are the claims of a file verified?"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_files import REFERENCE

from banditsrl.errors import BanditSRLError, InvalidArgument, InvalidProblem
from banditsrl.problems.claims import Claim
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.instance_files import read_problem, write_problem
from banditsrl.problems.synthetic import mixing, vardim

REFERENCE_FILES = sorted([*REFERENCE.glob("vardim-*.json"), *REFERENCE.glob("mixing.json")])


def document(**changes: Any) -> dict[str, Any]:
    """A small problem whose claims hold: one candidate that predicts and one that does not."""
    good = {
        "name": "small",
        "noise_std": 0.1,
        "mean_rewards": [[1.0, 0.25], [-0.5, 2.0]],
        "representations": [
            {
                "features": [[[1.0, 0.0], [0.0, 0.25]], [[-0.5, 0.0], [0.0, 2.0]]],
                "theta": [1.0, 1.0],
                "realizable": True,
            },
            {
                "features": [[[1.0], [1.0]], [[1.0], [1.0]]],
                "theta": [0.5],
                "realizable": False,
            },
        ],
    }
    return {**good, **changes}


def without(name: str, *, inside: bool = False) -> dict[str, Any]:
    changed = document()
    del (changed["representations"][0] if inside else changed)[name]
    return changed


def written(folder: Path, content: Any) -> Path:
    path = folder / "problem.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def same(actual: FiniteProblem, expected: FiniteProblem) -> None:
    for name in ("name", "noise", "noise_std", "sigma", "gap"):
        assert getattr(actual, name) == getattr(expected, name)
    np.testing.assert_array_equal(actual.mean_rewards, expected.mean_rewards)
    np.testing.assert_array_equal(actual.available, expected.available)
    np.testing.assert_allclose(actual.rho, expected.rho, rtol=0.0, atol=1e-15)
    for one, other in zip(actual.representations, expected.representations, strict=True):
        np.testing.assert_array_equal(one.features, other.features)
        assert (one.L, one.B) == (other.L, other.B)
    for one, other in zip(actual.claims, expected.claims, strict=True):
        np.testing.assert_array_equal(one.theta, other.theta)
        assert (one.realizable, one.name) == (other.realizable, other.name)


@pytest.mark.parametrize("variant", ["realizable", "misspecified", "no-hls", "weak-hls"])
def test_a_vardim_problem_survives_the_round_trip(variant: str, tmp_path: Path) -> None:
    problem = vardim(variant=variant, seed=1)
    write_problem(problem, tmp_path / "problem.json")
    same(read_problem(tmp_path / "problem.json"), problem)


def test_a_mixing_problem_survives_the_round_trip(tmp_path: Path) -> None:
    write_problem(mixing(seed=2), str(tmp_path / "problem.json"))
    same(read_problem(str(tmp_path / "problem.json")), mixing(seed=2))


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli", "none"])
def test_law_availability_and_noise_survive_the_round_trip(noise: str, tmp_path: Path) -> None:
    features = np.random.default_rng(0).random((3, 4, 2)) / 2.0
    available = np.ones((3, 4), dtype=bool)
    available[1, 2] = False
    problem = FiniteProblem(
        features @ np.ones(2),
        (features,),
        claims=(Claim(np.ones(2), True, "given"),),
        name="everything",
        rho=[0.7, 0.0, 0.3],
        noise=noise,
        noise_std=0.25,
        available=available,
    )
    write_problem(problem, tmp_path / "problem.json")
    same(read_problem(tmp_path / "problem.json"), problem)


def test_what_a_file_leaves_out_has_defaults(tmp_path: Path) -> None:
    changed = document()
    for name in ("name", "noise_std"):
        del changed[name]
    del changed["representations"][0]["realizable"]
    problem = read_problem(written(tmp_path, changed))
    assert (problem.name, problem.noise, problem.noise_std) == ("problem", "gaussian", 0.3)
    np.testing.assert_array_equal(problem.rho, [0.5, 0.5])
    assert problem.available.all()
    assert problem.claims[0].realizable


def direct_errors(content: dict[str, Any]) -> list[float]:
    """Largest error of each representation's own theta, from the raw numbers."""
    means = np.array(content["mean_rewards"])
    tables = [(np.array(r["features"]), np.array(r["theta"])) for r in content["representations"]]
    return [float(np.abs(features @ theta - means).max()) for features, theta in tables]


@pytest.mark.parametrize(
    "path", [None, *REFERENCE_FILES], ids=lambda p: p.stem if isinstance(p, Path) else "small"
)
def test_a_file_is_read_as_it_stands_and_its_claims_hold(path: Path | None, tmp_path: Path) -> None:
    """The small file written here, and the authors' instances if they are on this machine."""
    path = path or written(tmp_path, document())
    content, problem = json.loads(path.read_text()), read_problem(path)
    assert problem.name == content["name"]
    assert problem.noise_std == content["noise_std"]
    np.testing.assert_array_equal(problem.mean_rewards, content["mean_rewards"])
    best_two = np.sort(problem.mean_rewards, axis=1)[:, -2:]
    assert problem.gap == pytest.approx(np.diff(best_two, axis=1).min())
    errors = direct_errors(content)
    entries = content["representations"]
    for k, (entry, error) in enumerate(zip(entries, errors, strict=True)):
        np.testing.assert_array_equal(problem.representations[k].features, entry["features"])
        assert problem.claims[k].realizable == entry["realizable"] == (error < 1e-6)


@pytest.mark.parametrize(("error", "holds"), [(5e-7, True), (2e-6, False)])
def test_a_claim_must_hold_to_1e_6(error: float, holds: bool, tmp_path: Path) -> None:
    path = written(tmp_path, document(mean_rewards=[[1.0 + error, 0.25], [-0.5, 2.0]]))
    if holds:
        assert read_problem(path).mean_rewards[0, 0] == 1.0 + error
        return
    message = r"small: representation 0 claims to be realizable to 1e-06, got an error of 2e-06"
    with pytest.raises(InvalidProblem, match=message):
        read_problem(path)


def test_a_candidate_that_predicts_can_not_be_called_misspecified(tmp_path: Path) -> None:
    changed = document()
    changed["representations"][0]["realizable"] = False
    with pytest.raises(InvalidProblem, match="representation 0 claims to be misspecified"):
        read_problem(written(tmp_path, changed))


def test_two_best_actions_in_a_file_are_refused(tmp_path: Path) -> None:
    changed = document(mean_rewards=[[1.0, 1.0], [-0.5, 2.0]])
    with pytest.raises(InvalidProblem, match="got two best actions in context 0"):
        read_problem(written(tmp_path, changed))


@pytest.mark.parametrize("name", ["mean_rewards", "representations"])
def test_a_missing_field_is_named_with_the_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=rf"problem\.json: {name} is missing"):
        read_problem(written(tmp_path, without(name)))


@pytest.mark.parametrize("name", ["features", "theta"])
def test_a_missing_field_of_a_representation_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=rf"problem\.json: {name} is missing"):
        read_problem(written(tmp_path, without(name, inside=True)))


BROKEN = [
    ("{", r"problem\.json: is not valid JSON"),
    ("", r"problem\.json: is not valid JSON"),
    ("[1, 2]", r"problem\.json: must hold a JSON object, got list"),
    (document(representations=[]), r"representations must be a non-empty list, got \[\]"),
    (document(representations={}), r"representations must be a non-empty list, got \{\}"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_a_file_that_is_no_problem_is_refused(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=message):
        read_problem(written(tmp_path, content))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"nowhere\.json: cannot be read \(No such file"):
        read_problem(tmp_path / "nowhere.json")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    path.write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(InvalidProblem, match=r"problem\.json: is not valid JSON"):
        read_problem(path)


def with_first(**changes: Any) -> dict[str, Any]:
    changed = document()
    changed["representations"][0].update(changes)
    return changed


BAD_VALUES = [
    (with_first(theta=[1.0, math.nan]), r"representations\[0\]\.theta must be finite, got nan"),
    (with_first(features=[[1.0]]), r"representations\[0\]\.features must have shape \(X, A, d\)"),
    (with_first(features=[["a"]]), r"representations\[0\]\.features must be an array of numbers"),
    (with_first(theta=[1.0]), r"theta must have shape \(2,\), got shape \(1,\)"),
    (document(rho=[0.5, 0.4]), "rho must sum to 1, got a sum of 0.9"),
    (document(noise="loud"), "noise must be one of gaussian, bernoulli, none, got 'loud'"),
    (document(noise="bernoulli"), r"mean_rewards must lie in \[0, 1\] when noise is bernoulli"),
    (document(noise_std=-1.0), "noise_std must be at least 0, got -1.0"),
    (document(available=[[True]]), r"available must have shape \(2, 2\), got shape \(1, 1\)"),
]


UNKNOWN = [
    (
        document(rhoo=[0.5, 0.5]),
        r"problem\.json: rhoo is not a known key; known: name, noise, noise_",
    ),
    (with_first(Theta=[1.0]), r"representations\[0\]\.Theta is not a known key; known: name, feat"),
    (
        '{"name": "a", "mean_rewards": [[1.0]], "name": "b"}',
        "json: name occurs twice in one object",
    ),
    ('{"representations": [{"theta": [1], "theta": [2]}]}', "json: theta occurs twice in one obj"),
]


@pytest.mark.parametrize(("content", "message"), UNKNOWN)
def test_a_key_that_is_unknown_or_repeated_is_named(
    content: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidProblem, match=message):
        read_problem(written(tmp_path, content))


def test_remarks_for_people_are_accepted(tmp_path: Path) -> None:
    changed = document(note="drawn by hand", reference=0)
    same(read_problem(written(tmp_path, changed)), read_problem(written(tmp_path, document())))


@pytest.mark.parametrize(("content", "message"), BAD_VALUES)
def test_a_bad_value_is_refused_by_name(
    content: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(BanditSRLError, match=message) as refused:
        read_problem(written(tmp_path, content))
    assert isinstance(refused.value, InvalidArgument | TypeError)


def test_where_nothing_can_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match=r"x.json: cannot be written \(No such file"):
        write_problem(mixing(), tmp_path / "no" / "x.json")
