"""What does the doctor say about a file of plain columns? A file whose truth is chosen."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import banditsrl
from banditsrl.cli.commands import app
from banditsrl.doctor.doctor import Examination, examine
from banditsrl.errors import InvalidArgument
from banditsrl.theory import column_diagnosis
from banditsrl.theory.column_candidates import ColumnCandidate, ColumnRounds, FixedCandidate

N = 900


def make_frame() -> pl.DataFrame:
    """Return rounds with numbers, categories and flags; "blue" is worst everywhere."""
    rng = np.random.default_rng(0)
    age, city = rng.uniform(20.0, 70.0, N), rng.choice(["rome", "oslo"], N)
    played = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    means = np.column_stack([age / 25.0 - 1.8, 0.5 * (city == "oslo"), np.full(N, -2.0)])
    rewards = means[np.arange(N), played] + 0.2 * rng.normal(size=N)
    return pl.DataFrame(
        {
            "age": age,
            "city": city,
            "member": rng.random(N) < 0.5,
            "action": np.array(["red", "green", "blue"])[played],
            "reward": rewards,
            "propensity": np.array([0.5, 0.3, 0.2])[played],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doctor")


@pytest.fixture(scope="module")
def found(folder: Path) -> Examination:
    make_frame().write_parquet(folder / "rounds.parquet")
    return examine(folder / "rounds.parquet")


def test_a_linear_log_needs_no_more_than_its_columns(found: Examination, folder: Path) -> None:
    assert found.kind == "columns"
    assert found.recommended == "columns"
    assert found.policy is not None
    assert (found.policy.policy, dict(found.policy.settings)) == ("linucb-disjoint", {})
    assert found.policy.sigma == pytest.approx(0.2, rel=0.1)
    assert found.policy.command == (
        f"banditsrl evaluate {folder / 'rounds.parquet'} --target learned:linucb-disjoint"
    )
    assert found.advice.startswith("Use linucb-disjoint: the columns alone predict as well as any")


def test_the_text_answers_every_question(found: Examination) -> None:
    text = found.text()
    assert "900 logged rounds, 3 actions" in found.summary
    assert "The smallest propensity is 0.200." in found.summary
    assert found.noise == pytest.approx(0.04, rel=0.1)
    assert f"Variance of the noise: about {found.noise:.4f} or less" in found.summary
    assert "[1] columns" in text
    assert "<- recommended" in text
    assert "certificate     half of the contexts" in text
    assert "in Python       banditsrl.make_policy(" in text
    assert 'in a loop       policy: "linucb-disjoint", settings: {}' in text


def test_a_candidate_that_does_not_fit_has_no_forecast(found: Examination) -> None:
    assert "constant" not in found.forecasts
    assert "columns" in found.forecasts
    by_name = {verdict.name: verdict for verdict in found.verdicts}
    assert by_name["constant"].realizable is False
    assert "worse than the best candidate" in by_name["constant"].fit


def test_the_answer_is_json_and_a_picture(found: Examination, tmp_path: Path) -> None:
    answer = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert answer["recommended"] == "columns"
    assert answer["policy"]["policy"] == "linucb-disjoint"
    certificates = {one["name"]: one["certificate"] for one in answer["candidates"]}
    assert certificates["leaves"] is None
    assert set(certificates["columns"]) == {"half", "most", "certified", "too_close"}
    found.save_plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_other_names_and_formats_give_the_same_answer(found: Examination, tmp_path: Path) -> None:
    frame = make_frame().rename({"reward": "clicks", "action": "colour", "propensity": "p"})
    frame.with_columns(pl.lit(1.0).alias("unused")).write_csv(tmp_path / "a.csv")
    names = ["--action", "colour", "--reward", "clicks", "--propensity", "p"]
    words = ["doctor", str(tmp_path / "a.csv"), "--json", *names, "--columns", "age,city,member"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["noise"] == pytest.approx(found.noise)
    assert answer["policy"]["command"] == (
        f"banditsrl evaluate {tmp_path / 'a.csv'} --action colour --reward clicks --propensity p "
        "--columns age,city,member --target learned:linucb-disjoint"
    )


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"x": [1.0], "action": [0]}), "reward"),
        (pl.DataFrame({"x": [1.0], "reward": [0.5]}), "action"),
        (
            pl.DataFrame({"action": [0], "reward": [0.5], "propensity": [0.5]}),
            "must have the columns phi_<candidate>, or columns that describe a context",
        ),
        (
            pl.DataFrame({"x": [1.0], "action": [0], "reward": [0.5], "propensity": [1.5]}),
            "propensity",
        ),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, frame: pl.DataFrame, message: str) -> None:
    frame.write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InvalidArgument, match=message) as caught:
        examine(tmp_path / "bad.parquet")
    assert "\n" not in str(caught.value)


def test_a_log_in_memory_can_be_examined_and_idle_actions_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(column_diagnosis, "list_candidates", _list_constant)
    rng = np.random.default_rng(1)
    actions = rng.integers(0, 2, 60)
    log = banditsrl.Log.from_arrays(
        contexts=rng.normal(size=(60, 1)),
        actions=actions,
        rewards=actions + 0.1 * rng.normal(size=60),
        action_names=["a", "b", "idle"],
    )
    found = examine(log)
    assert "The log shows nothing about idle, which was never played." in found.summary
    assert "No propensities are logged" in found.summary
    assert found.recommended == "constant"
    assert found.policy is not None
    assert found.policy.command == ""


def _list_constant(rounds: ColumnRounds) -> Iterator[ColumnCandidate]:
    yield FixedCandidate("constant", np.ones((len(rounds.rewards), 1)))
