"""Does the doctor see what is there? Problems and logs whose answers are known by construction."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

import banditsrl
from banditsrl.doctor.doctor import examine
from banditsrl.doctor.verdicts import judge_log
from banditsrl.errors import BanditSRLError, InvalidArgument
from banditsrl.problems.instance_files import write_problem
from banditsrl.theory.log_diagnosis import diagnose_log

Floats = NDArray[np.float64]


def log(path: Path, rewards: Any, actions: Any, **candidates: Floats) -> Path:
    columns = {f"phi_{name}": table.tolist() for name, table in candidates.items()}
    pl.DataFrame({"action": actions, "reward": rewards, **columns}).write_parquet(path)
    return path


def rounds(n: int, seed: int, noise: float = 0.3) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Fresh contexts: features (n, 3, 4), actions, and rewards linear in the first three."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(n, 3, 4))
    actions = rng.integers(0, 3, n)
    theta = np.array([1.0, -0.5, 0.25, 0.0])
    rewards = phi[np.arange(n), actions] @ theta + noise * rng.normal(size=n)
    return phi, actions, rewards


def test_a_known_problem_is_judged_by_its_tables(tmp_path: Path) -> None:
    problem = banditsrl.make_problem("vardim-misspecified", seed=0)
    write_problem(problem, tmp_path / "problem.json")
    found = examine(tmp_path / "problem.json")
    diagnoses = [banditsrl.diagnose(problem, k) for k in range(len(problem.representations))]
    for verdict, diagnosis in zip(found.verdicts, diagnoses, strict=True):
        assert verdict.realizable == diagnosis.realizable
        assert (verdict.hls, verdict.weak_hls) == (diagnosis.hls, diagnosis.weak_hls)
        assert verdict.redundant == diagnosis.redundant
        assert verdict.greedy_lambda_min == pytest.approx(diagnosis.lambda_star)
        assert verdict.played_lambda_min * problem.n_actions == pytest.approx(diagnosis.gamma)
    assert found.verdicts[0].name == found.recommended  # the only realizable one with HLS
    assert "exploration can end" in found.text()
    assert len({verdict.name for verdict in found.verdicts}) == len(diagnoses)


def test_weak_hls_and_none_at_all_have_their_own_advice(tmp_path: Path) -> None:
    advice = {}
    for name in ("vardim-weak-hls", "mixing"):
        write_problem(banditsrl.make_problem(name, seed=0), tmp_path / f"{name}.json")
        advice[name] = examine(tmp_path / f"{name}.json").advice
    assert "directions that any action reaches" in advice["vardim-weak-hls"]
    assert "some exploration has to go on" in advice["mixing"]


def test_a_log_tells_the_true_features_from_too_few(tmp_path: Path) -> None:
    phi, actions, rewards = rounds(2000, seed=1)
    path = log(
        tmp_path / "a.parquet", rewards, actions, all=phi, right=phi[..., :3], few=phi[..., 1:]
    )
    found = examine(path)
    by_name = {verdict.name: verdict for verdict in found.verdicts}
    assert {name: f.realizable for name, f in by_name.items()} == {
        "all": True,
        "right": True,
        "few": False,
    }
    assert found.noise == pytest.approx(0.09, rel=0.1)
    assert by_name["few"].error == pytest.approx(1.0 + 0.09, rel=0.15)  # theta_0^2 is unexplained
    assert found.recommended in {"all", "right"}
    assert "worse than the noise alone" in found.text()


@pytest.mark.parametrize("factor", [1e-7, 1e11])
@pytest.mark.parametrize("size", [1e-7, 1.0, 1e9])
def test_verdicts_on_a_log_do_not_depend_on_units(factor: float, size: float) -> None:
    phi, actions, rewards = rounds(400, seed=2)
    columns = np.array([size, 1.0, 1.0, 1.0])
    plain, other = (
        diagnose_log({"x": x, "y": x[..., :2]}, actions, y)[1]
        for x, y in ((phi, rewards), (phi * columns, factor * rewards))
    )
    for name in plain:
        one, two = plain[name], other[name]
        assert (two.rank, two.realizable) == (one.rank, one.realizable)
        assert (two.played_rank, two.greedy_rank) == (one.played_rank, one.greedy_rank)
    assert (other["x"].realizable, other["y"].realizable) == (True, False)


def test_the_fit_is_that_of_the_normal_equations() -> None:
    phi, actions, rewards = rounds(400, seed=2)
    played = np.array([phi[t, a] for t, a in enumerate(actions)])
    theta = np.linalg.inv(played.T @ played) @ played.T @ rewards
    squares = sum((y - row @ theta) ** 2 for row, y in zip(played, rewards, strict=True))
    noise, found = diagnose_log({"x": phi, "y": phi[..., :2]}, actions, rewards)
    assert found["x"].error == pytest.approx(squares / (400 - 4))
    assert noise.source == "together"
    assert noise.variance == pytest.approx(squares / (400 - 4))
    penalty = np.diag((played**2).mean(axis=0))  # one round of average size in every column
    ridge = np.linalg.inv(played.T @ played + penalty) @ played.T @ rewards
    greedy = np.array([max(row, key=lambda v: float(v @ ridge)) for row in phi])
    moment = sum(np.outer(v, v) for v in greedy) / 400
    np.testing.assert_allclose(found["x"].greedy, np.linalg.eigvalsh(moment))


def test_the_interval_of_an_error_is_by_students_t() -> None:
    phi, actions, rewards = rounds(12, seed=2)
    noise, found = diagnose_log({"x": phi[..., :2]}, actions, rewards)
    played = phi[np.arange(12), actions, :2]
    residuals = rewards - played @ np.linalg.lstsq(played, rewards, rcond=None)[0]
    squares = residuals**2 * 12 / (12 - 2)
    (verdict,) = judge_log(noise, found)
    low, high = stats.t.interval(0.95, 11, squares.mean(), stats.sem(squares))
    assert verdict.error_margin == pytest.approx((high - low) / 2)


def test_repeated_rounds_reveal_that_no_candidate_fits(tmp_path: Path) -> None:
    problem = banditsrl.make_problem("vardim-misspecified", seed=0)
    rng = np.random.default_rng(3)
    x, a = rng.integers(0, 20, 3000), rng.integers(0, 5, 3000)
    rewards = problem.mean_rewards[x, a] + 0.3 * rng.normal(size=3000)
    wrong = {f"k{k}": problem.representations[k].features[x] for k in (6, 7, 8)}
    found = examine(log(tmp_path / "a.parquet", rewards, a, **wrong))
    assert "repeated rounds" in found.summary
    assert found.noise == pytest.approx(0.09, rel=0.1)
    assert not any(verdict.realizable for verdict in found.verdicts)
    assert found.advice.startswith("No candidate explains the rewards.")


def test_hls_on_a_log_agrees_with_the_problem_it_came_from(tmp_path: Path) -> None:
    problem = banditsrl.make_problem("vardim-realizable", seed=0)
    rng = np.random.default_rng(4)
    x, a = rng.integers(0, 20, 4000), rng.integers(0, 5, 4000)
    rewards = problem.mean_rewards[x, a] + 0.1 * rng.normal(size=4000)
    tables = {f"k{k}": c.features[x] for k, c in enumerate(problem.representations)}
    found = examine(log(tmp_path / "a.parquet", rewards, a, **tables))
    for k, verdict in enumerate(found.verdicts):
        diagnosis = banditsrl.diagnose(problem, k)
        assert verdict.realizable
        assert (verdict.hls, verdict.greedy_rank) == (diagnosis.hls, diagnosis.optimal_rank)
    assert found.recommended == "k0"


def test_true_candidates_are_rarely_called_wrong() -> None:
    """Three standard errors: of 100 logs, at most a few may fail (expected: below one)."""
    failed = 0
    for seed in range(100):
        phi, actions, rewards = rounds(150, seed=seed)
        _, found = diagnose_log({"right": phi[..., :3], "other": phi[..., 3:]}, actions, rewards)
        failed += found["right"].realizable is not True
        assert found["other"].realizable is False
    assert failed <= 2


def test_padding_is_called_redundant_and_unseen_directions_are_named(tmp_path: Path) -> None:
    phi, _, _ = rounds(300, seed=5)
    phi[:, 0, 3] = 0.0  # action 0 never shows the fourth direction
    rewards = phi[:, 0] @ [1.0, 0.0, 0.0, 0.0]
    padded = np.concatenate([phi, np.zeros((300, 3, 2))], axis=2)
    found = examine(log(tmp_path / "a.parquet", rewards, [0] * 300, plain=phi, padded=padded))
    plain, wide = found.verdicts
    assert (plain.redundant, wide.redundant) == (False, True)
    assert (wide.rank, wide.played_rank) == (4, 3)
    assert "the log shows nothing about 1 direction." in found.text()


def test_a_lone_candidate_without_repeats_is_not_tested(tmp_path: Path) -> None:
    phi, actions, rewards = rounds(200, seed=6)
    found = examine(log(tmp_path / "a.parquet", rewards, actions, only=phi))
    assert found.verdicts[0].realizable is None
    assert "not tested" in found.text()


def test_too_few_rounds_are_said_to_be_too_few(tmp_path: Path) -> None:
    phi, actions, rewards = rounds(3, seed=7)
    found = examine(log(tmp_path / "a.parquet", rewards, actions, a=phi, b=phi[..., :2]))
    assert "too few rounds" in found.summary
    assert "cannot be fitted" in found.text()
    json.dumps(found.as_dict(), allow_nan=False)


def test_the_answer_is_json_and_a_picture(tmp_path: Path) -> None:
    phi, actions, rewards = rounds(500, seed=8)
    found = examine(log(tmp_path / "a.parquet", rewards, actions, all=phi, few=phi[..., :1]))
    answer = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert answer["recommended"] == "all"
    assert answer["candidates"][1]["realizable"] is False
    assert len(answer["candidates"][0]["greedy"]) == 4
    found.save_plot(tmp_path / "plot.png")
    found.save_plot(tmp_path / "plot.pdf")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "plot.pdf").read_bytes().startswith(b"%PDF")


PHI = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"action": [0], "phi_a": [PHI]}, "must have the columns reward, got action, phi_a"),
        ({"action": [0], "reward": [1.0]}, "must have the columns phi_<candidate>"),
        ({"action": [], "reward": [], "phi_a": []}, "must hold at least one round, got none"),
        ({"action": [0], "reward": [1.0], "phi_a": [1.0]}, "phi_a must hold a list of lists"),
        (
            {"action": [0, 0], "reward": [1.0, 1.0], "phi_a": [PHI, [PHI[0]]]},
            "phi_a must have the same number of actions in every round, above zero, got 1, 2",
        ),
        (
            {"action": [0], "reward": [1.0], "phi_a": [[[1.0], [2.0, 3.0]]]},
            "phi_a must have the same number of dimensions in every round, above zero, got 1, 2",
        ),
        (
            {"action": [0], "reward": [1.0], "phi_a": [[[1.0, float("nan")], [3.0, 4.0]]]},
            "phi_a must be finite, got a missing or infinite value in row 0",
        ),
        ({"action": [0], "reward": [float("inf")], "phi_a": [PHI]}, "reward must be finite"),
        ({"action": [0], "reward": ["x"], "phi_a": [PHI]}, "reward must hold numbers, got String"),
        ({"action": [2], "reward": [1.0], "phi_a": [PHI]}, "action must lie from 0 to 1, got 2"),
        ({"action": [0.5], "reward": [1.0], "phi_a": [PHI]}, "action must hold an integer per row"),
        (
            {"action": [0], "reward": [1.0], "phi_a": [PHI], "phi_b": [[[1.0]]]},
            "candidates must share the number of actions, got a 2, b 1",
        ),
    ],
)
def test_a_bad_log_is_one_sentence(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    pl.DataFrame(columns).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InvalidArgument, match=message) as caught:
        examine(tmp_path / "bad.parquet")
    assert "\n" not in str(caught.value)


def test_other_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidArgument, match=r"path must end in \.json or \.parquet, .*\.csv.*, got .*a\.txt"
    ):
        examine(tmp_path / "a.txt")
    (tmp_path / "a.parquet").write_text("not a table")
    with pytest.raises(InvalidArgument, match="must be a readable Parquet file"):
        examine(tmp_path / "a.parquet")
    with pytest.raises(InvalidArgument, match="must be a readable Parquet file"):
        examine(tmp_path / "absent.parquet")
    with pytest.raises(BanditSRLError, match="cannot be read"):
        examine(tmp_path / "absent.json")
