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


def test_an_action_that_is_not_named_is_refused_with_its_row(table: Path, tmp_path: Path) -> None:
    lines = table.read_text().splitlines()
    age, member, _, *rest = lines[7].split(",")
    lines[7] = ",".join([age, member, "gren", *rest])
    broken = tmp_path / "typo.csv"
    broken.write_text("\n".join(lines) + "\n")
    named = ("--target", "uniform", "--actions", "red,green,blue")
    words = r"typo.csv: row 7: action must be one of red, green, blue, got 'gren'"
    with pytest.raises(InvalidArgument, match=words):
        run(broken, *named)
    assert run(broken, *named, "--skip-bad").exit_code == 0
    ways = ("--action", "offer", "--reward", "click", "--propensity", "p", "--actions")
    call = ["doctor", str(broken), *ways, "red,green,blue"]
    with pytest.raises(InvalidArgument, match=words):
        CliRunner().invoke(app, call, catch_exceptions=False)


def test_a_picture_in_a_folder_that_is_not_there_is_refused_before_any_work(
    tmp_path: Path,
) -> None:
    """The log does not exist either, and nobody has looked for it yet."""
    picture, log = str(tmp_path / "nowhere" / "values.png"), str(tmp_path / "none.csv")
    for call in (["evaluate", log, "--target", "uniform"], ["doctor", log]):
        with pytest.raises(InvalidArgument, match="--plot must be a file in a folder that exists"):
            CliRunner().invoke(app, [*call, "--plot", picture], catch_exceptions=False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--reward-range", "1", "0"), "reward range must be LOW HIGH with LOW < HIGH, got 1 0"),
        (("--reward-model", "net"), "^--reward-model must be one of ridge, portfolio, got 'net'"),
        (("--estimator", "best"), "^--estimator must be one of ips, "),
        (("--gate", "better:0"), "^--reward-range must be given for a gate"),
        (("--gate", "good"), "^--gate must be better:MARGIN"),
        (("--level", "2"), "^--level must lie strictly between 0 and 1"),
    ],
)
def test_errors_name_the_option_that_was_typed(
    table: Path, words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        run(table, "--target", "uniform", *words)


def test_a_version_needs_the_store_of_a_loop(table: Path) -> None:
    with pytest.raises(InvalidArgument, match="'version:3' must come with the store of a loop"):
        run(table, "--target", "version:3")


def test_a_gate_on_propensities_that_do_not_fit_exits_with_its_status(
    table: Path, tmp_path: Path
) -> None:
    lines = [line.rpartition(",")[0] for line in table.read_text().splitlines()[1:]]
    lied = tmp_path / "lied.csv"
    lied.write_text("\n".join(["age,member,offer,click,p", *(f"{one},0.9" for one in lines)]))
    words = ("--target", "always:green", "--reward-range", "0", "1", "--gate", "not-worse:1")
    result = run(lied, *words)
    assert result.exit_code == 3
    assert "The gate not-worse:1 stays shut: the weights of always:green average" in result.stdout


def test_a_target_that_learns_says_how_far_it_is(table: Path) -> None:
    columns = ("--action", "offer", "--reward", "click", "--propensity", "p")
    call = ["evaluate", str(table), *columns, "--estimator", "snips"]
    call += ["--target", "learned:linucb-disjoint"]
    result = CliRunner().invoke(app, call, catch_exceptions=False)
    assert "learned:linucb-disjoint: learning 4" in result.stderr
    assert "for fold 3 of 3" in result.stderr
    assert "fold" not in run(table, "--target", "learned:linucb-disjoint").stderr
