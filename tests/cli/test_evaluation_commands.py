"""Does `banditsrl evaluate` judge a log as a person would expect, also a broken one?"""

import json
from pathlib import Path

import pytest
from logged_offers import make_offers
from typer.testing import CliRunner, Result

from banditsrl.cli.commands import app
from banditsrl.errors import InvalidArgument

FAST = ("--estimator", "snips", "--quiet")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "rounds.csv"
    rounds = make_offers().collect()
    lines = ["age,member,offer,click,p"]
    names = ("red", "green", "blue")
    for (age, member), action, reward, p in zip(
        rounds.contexts, rounds.actions, rounds.rewards, rounds.propensities, strict=True
    ):
        lines.append(f"{age},{int(member)},{names[action]},{reward:g},{p}")
    path.write_text("\n".join(lines) + "\n")
    return path


def run(path: Path, *words: str) -> Result:
    columns = ("--action", "offer", "--reward", "click", "--propensity", "p")
    return CliRunner().invoke(
        app, ["evaluate", str(path), *columns, *FAST, *words], catch_exceptions=False
    )


def test_a_table_is_judged_in_words(table: Path) -> None:
    result = run(table, "--target", "always:green", "--target", "uniform")
    assert result.exit_code == 0
    assert "600 rounds, 3 actions" in result.stdout
    assert "always:green minus logged" in result.stdout


def test_json_has_the_numbers(table: Path) -> None:
    result = run(table, "--target", "always:green", "--json")
    found = json.loads(result.stdout)
    rounds = make_offers().collect()
    green = rounds.actions == 1
    weights = 1.0 / rounds.propensities[green]
    ratio = (weights * rounds.rewards[green]).sum() / weights.sum()
    assert found["targets"][0]["estimates"]["snips"]["value"] == pytest.approx(ratio)
    assert found["gate"] is None


def test_a_gate_sets_the_exit_status(table: Path) -> None:
    words = ("--target", "always:green", "--reward-range", "0", "1")
    shut = run(table, *words, "--gate", "better:0.3")
    assert (shut.exit_code, "The gate better:0.3 stays shut" in shut.stdout) == (3, True)
    opened = run(table, *words, "--gate", "not-worse:0.1")
    assert (opened.exit_code, "The gate not-worse:0.1 is open" in opened.stdout) == (0, True)


def test_a_picture_is_drawn(table: Path, tmp_path: Path) -> None:
    run(table, "--target", "uniform", "--plot", str(tmp_path / "values.png"))
    assert (tmp_path / "values.png").stat().st_size > 10_000


def test_a_broken_row_is_named_or_skipped(table: Path, tmp_path: Path) -> None:
    lines = table.read_text().splitlines()
    lines[300] = "0.5,1,green,1,1.7"
    broken = tmp_path / "broken.csv"
    broken.write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidArgument, match="300"):
        run(broken, "--target", "uniform")
    result = run(broken, "--target", "uniform", "--skip-bad")
    assert result.exit_code == 0
    assert "(1 row skipped)" in result.stdout
    assert "1 row was skipped" in result.stderr
