"""Does the wheel pay what its picture shows, on fixed and on fresh contexts?"""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shared_files import REFERENCE

import banditsrl
from banditsrl.errors import InvalidArgument, InvalidProblem, InvalidType
from banditsrl.problems.finite import FiniteProblem
from banditsrl.problems.instance_files import read_problem
from banditsrl.problems.wheel import Wheel, wheel
from banditsrl.representations.mapped import Mapped

THEIRS = REFERENCE / "wheel-100.json"

STANDARD_ERRORS = 5.0
"""Seeds are fixed; a correct sampler would fail for one seed in two million."""


def by_hand(x: float, y: float, radius: float = 0.5) -> list[float]:
    """The mean rewards of one context, quadrant by quadrant."""
    means = [1.0, 0.8, 0.8, 0.8, 0.8]
    if x * x + y * y > radius * radius:
        quadrants = [(True, True), (True, False), (False, True), (False, False)]
        means[1 + quadrants.index((x > 0, y > 0))] = 1.2
    return means


@pytest.mark.parametrize("law", ["disc", "radius"])
@pytest.mark.parametrize("seed", range(3))
def test_a_hundred_contexts_pay_as_the_picture_and_no_line_predicts_them(
    law: str, seed: int
) -> None:
    problem = banditsrl.make_problem("wheel", seed=seed, law=law)
    (candidate,) = problem.representations
    assert isinstance(problem, FiniteProblem)
    assert (problem.name, problem.noise, problem.noise_std) == ("wheel", "gaussian", 0.2)
    assert candidate.features.shape == (100, 5, 7)
    assert not problem.claims[0].realizable
    contexts = candidate.features[:, 0, :2]
    np.testing.assert_array_equal(problem.mean_rewards, [by_hand(x, y) for x, y in contexts])
    np.testing.assert_array_equal(candidate.features[..., :2], np.stack([contexts] * 5, axis=1))
    np.testing.assert_array_equal(candidate.features[..., 2:], np.stack([np.eye(5)] * 100))
    assert (np.hypot(*contexts.T) <= 1.0).all()
    assert problem.gap == pytest.approx(0.2)


def test_the_seed_fixes_the_contexts() -> None:
    first, again, other = wheel(seed=4), wheel(seed=4), wheel(seed=5)
    features = [problem.representations[0].features for problem in (first, again, other)]
    np.testing.assert_array_equal(features[0], features[1])
    assert (features[0][:, 0, :2] != features[2][:, 0, :2]).all()
    assert wheel(n_contexts=7).mean_rewards.shape == (7, 5)


def shares_inside(points: Any) -> list[float]:
    distances = np.hypot(points[:, 0], points[:, 1])
    return [float((distances <= r).mean()) for r in (0.25, 0.5, 0.75)]


@pytest.mark.parametrize(
    ("law", "expected"), [("disc", [1 / 16, 1 / 4, 9 / 16]), ("radius", [1 / 4, 1 / 2, 3 / 4])]
)
def test_both_laws_are_uniform_in_area_or_radius_and_in_the_angle(
    law: str, expected: list[float]
) -> None:
    n = 20_000
    margin = STANDARD_ERRORS * 0.5 / np.sqrt(n)
    fixed = wheel(n_contexts=n, law=law).representations[0].features[:, 0, :2]
    fresh = np.asarray(Wheel(law=law).contexts(jax.random.key(0), n))
    assert fresh.dtype == np.float32
    for points in (fixed, fresh):
        np.testing.assert_allclose(shares_inside(points), expected, atol=margin)
        quadrant = 2 * (points[:, 0] > 0) + (points[:, 1] > 0)
        np.testing.assert_allclose(np.bincount(quadrant) / n, [0.25] * 4, atol=margin)


def test_fresh_contexts_pay_as_the_picture_compiled_and_mapped() -> None:
    problem = wheel(n_contexts=None, radius=0.7)
    assert isinstance(problem, Wheel)
    assert (problem.name, problem.n_actions, problem.sigma) == ("wheel-fresh", 5, 0.2)
    points = problem.contexts(jax.random.key(1), 300)
    assert points.shape == (300, 2)
    means = jax.jit(jax.vmap(problem.means, in_axes=-1, out_axes=-1))(points.T)
    assert means.dtype == jnp.float64
    expected = [by_hand(x, y, 0.7) for x, y in np.asarray(points, dtype=np.float64)]
    np.testing.assert_allclose(np.asarray(means).T, expected, rtol=1e-15)
    assert problem.mask(points[0]).tolist() == [True] * 5


def test_fresh_contexts_are_embedded_with_the_code_of_the_action() -> None:
    problem = wheel(n_contexts=None)
    (inputs,) = problem.representations
    point = problem.contexts(jax.random.key(2), 1)[0]
    expected = np.hstack([np.tile(np.asarray(point), (5, 1)), np.eye(5)])
    np.testing.assert_array_equal(inputs.embed(point), expected)


def test_fresh_rewards_have_the_mean_and_the_deviation() -> None:
    problem = Wheel()
    noises = problem.noises(jax.random.key(3), 20_000)
    with jax.enable_x64(True):
        rewards = np.asarray(problem.reward(jnp.full(20_000, 1.2), noises))
    assert rewards.dtype == np.float64
    assert rewards.mean() == pytest.approx(1.2, abs=STANDARD_ERRORS * 0.2 / np.sqrt(20_000))
    assert rewards.std() == pytest.approx(0.2, abs=STANDARD_ERRORS * 0.2 / np.sqrt(40_000))


def test_a_policy_meets_fresh_contexts() -> None:
    """Random play loses 0.16 a round inside the radius and 0.28 on the rim."""
    blind = Mapped(lambda _: jnp.eye(5), n_actions=5, dim=5)
    result = banditsrl.simulate(Wheel(), banditsrl.Uniform(blind), horizon=1000, seeds=4)
    rim, safe = 1.2 - (1.0 + 1.2 + 3 * 0.8) / 5, 1.0 - (1.0 + 4 * 0.8) / 5
    expected = 0.75 * rim + 0.25 * safe
    margin = STANDARD_ERRORS * 0.2 / np.sqrt(4000)
    assert result.mean[-1] / 1000 == pytest.approx(expected, abs=margin)


@pytest.mark.skipif(not THEIRS.exists(), reason="the authors' instance is not beside the tests")
def test_the_authors_instance_is_read_and_has_our_order_of_quadrants() -> None:
    problem = banditsrl.make_problem(THEIRS)
    content = json.loads(THEIRS.read_text())
    assert (problem.name, problem.noise_std) == ("wheel-100", 0.2)
    np.testing.assert_array_equal(
        problem.mean_rewards, [by_hand(x, y) for x, y in content["contexts"]]
    )
    assert problem.representations[0].features.shape == (100, 5, 7)


def written(folder: Path, **changes: Any) -> Path:
    points = [[0.1, 0.2], [0.7, -0.7], [-0.7, 0.7]]
    document = {
        "name": "small wheel",
        "noise_std": 0.2,
        "contexts": points,
        "mean_rewards": [by_hand(x, y) for x, y in points],
        **changes,
    }
    path = folder / "wheel.json"
    path.write_text(json.dumps(document))
    return path


def test_a_file_with_contexts_has_the_one_hot_candidate(tmp_path: Path) -> None:
    problem = read_problem(written(tmp_path))
    (candidate,) = problem.representations
    np.testing.assert_array_equal(candidate.features[1, 2], [0.7, -0.7, 0, 0, 1, 0, 0])
    assert (problem.name, problem.n_contexts, problem.n_actions) == ("small wheel", 3, 5)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"contexts": [[0.1, 0.2]]}, InvalidProblem, "one row per row of mean_rewards, got 1 and"),
        ({"contexts": [0.1]}, InvalidArgument, r"contexts must have shape \(X, columns\), got"),
        ({"contexts": "far"}, InvalidType, "contexts must be an array of numbers"),
        ({"mean_rewards": [1.0]}, InvalidArgument, "mean_rewards must have shape"),
    ],
)
def test_a_file_with_bad_contexts_is_refused(
    changes: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        read_problem(written(tmp_path, **changes))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"law": "square"}, "law must be one of disc, radius, got 'square'"),
        ({"radius": 1.0}, "radius must lie strictly between 0 and 1, got 1.0"),
        ({"noise_std": -0.1}, "noise_std must be at least 0, got -0.1"),
        ({"n_contexts": 0}, "n_contexts must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"n_contexts": None, "radius": 0.0}, "radius must lie strictly between 0 and 1"),
        ({"n_contexts": None, "law": "square"}, "law must be one of disc, radius"),
    ],
)
def test_a_bad_setting_is_refused_by_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        wheel(**settings)
