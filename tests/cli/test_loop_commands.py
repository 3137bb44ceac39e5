"""Do the commands that look after a loop say and do what a person would expect?"""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from banditsrl import Loop
from banditsrl.cli.commands import app
from banditsrl.errors import NotFound

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG = """
name: offers
actions: [red, green]
columns: {age: number}
policy: linucb-disjoint
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loop")
    (folder / "offers.yaml").write_text(CONFIG)
    url = folder / "offers.db"
    run("create", str(url), str(folder / "offers.yaml"))
    with Loop.open(url) as loop:
        for age in range(5):
            loop.reward(loop.decide({"age": age / 5}).id, 0.5)
        loop.decide({})
    return url


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["loop", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_show_says_where_the_loop_stands(store: Path) -> None:
    (found,) = json.loads(run("show", str(store), "--json"))
    assert (found["position"], found["waiting"], found["mode"]) == (12, 1, "learn")
    assert found["counts"]["rewards"] == 5
    assert found["actions"] == {"red": "active", "green": "active"}
    assert "waiting      1" in run("show", str(store))


def test_names_with_brackets_are_printed_as_they_are(tmp_path: Path) -> None:
    config = CONFIG.replace("[red, green]", "['[bold]', '[/red]']")
    (tmp_path / "odd.yaml").write_text(config)
    run("create", str(tmp_path / "odd.db"), str(tmp_path / "odd.yaml"))
    assert "[bold] active, [/red] active" in run("show", str(tmp_path / "odd.db"))


def test_replay_and_verify_agree_with_the_log(store: Path) -> None:
    found = json.loads(run("replay", str(store), "--json"))
    assert (found["position"], found["rounds"]) == (12, 5)
    assert "rounds 5" in run("replay", str(store))
    assert "no difference in 6 decisions" in run("verify", str(store))
    assert json.loads(run("verify", str(store), "--json"))["passed"]


def test_an_export_is_imported_by_another_loop(store: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "log.jsonl", tmp_path / "other.db"
    assert "6 decisions are in" in run("export", str(store), "--out", str(out))
    run("create", str(other), str(store.parent / "offers.yaml"))
    assert "6 decisions were imported" in run("import", str(other), str(out))
    assert "0 decisions were imported" in run("import", str(other), str(out))
    (found,) = json.loads(run("show", str(other), "--json"))
    assert found["counts"]["rewards"] == 5


def test_a_backup_is_a_whole_store(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    run("backup", str(store), "--out", str(copy))
    assert run("show", str(copy), "--json") == run("show", str(store), "--json")


def test_contexts_are_erased_by_value_or_by_id(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    run("backup", str(store), "--out", str(copy))
    assert run("erase", str(copy), "--column", "age", "--value", "0.4") == "Erased contexts: 1.\n"
    with Loop.open(copy, warm_up=False) as loop:
        ids = [loop.decide({"age": 0.9}).id for _ in range(2)]
    assert run("erase", str(copy), *ids) == "Erased contexts: 2.\n"


def test_a_version_that_is_not_there_is_not_put_back(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    run("backup", str(store), "--out", str(copy))
    with pytest.raises(NotFound, match="no model version 7"):
        run("promote", str(copy), "7")
    assert "Version 0 decides now" in run("promote", str(copy), "0")
    assert "The loop trains again" in run("resume", str(copy))
    assert "The mode is frozen now" in run("mode", str(copy), "frozen")
    assert "frozen" in run("show", str(copy))


def test_a_store_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no store at"):
        run("show", str(tmp_path / "nothing.db"))
