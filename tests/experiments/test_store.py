"""The store: whole files only, damage is named, nothing is deleted."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from sweeps import same_tables

import banditsrl
from banditsrl.errors import InvalidArgument
from banditsrl.experiments.run_spec import RunSpec
from banditsrl.experiments.run_tables import make_table
from banditsrl.experiments.store import Store

SPEC = RunSpec("vardim-realizable", "banditsrl-egreedy", 1_500, (0, 1), (10, 1_024, 1_025, 1_500))


@pytest.fixture
def store(tmp_path: Path, result: banditsrl.Result) -> Store:
    store = Store(tmp_path)
    store.begin(SPEC, command="banditsrl run")
    store.finish(SPEC, make_table(result))
    return store


def test_what_was_written_is_read_back(store: Store, result: banditsrl.Result) -> None:
    (run,) = store.runs()
    assert run.spec == SPEC
    assert run.finished
    assert same_tables(store.read_table(SPEC.hash), make_table(result))
    assert store.scan([SPEC.hash]).collect().height == 8
    assert store.read_tables([SPEC.hash], ["step"])["step"].to_list() == 2 * list(SPEC.steps)
    assert sorted(path.name for path in store.folder(SPEC.hash).iterdir()) == [
        "environment.json",
        "spec.json",
        "table.parquet",
    ]
    environment = json.loads((store.folder(SPEC.hash) / "environment.json").read_text())
    assert environment["command"] == "banditsrl run"
    assert set(environment["versions"]) >= {"banditsrl", "jax", "python", "numpy"}
    assert store.find_damage(SPEC.hash, deep=True) is None


def test_finishing_removes_the_leftovers_of_this_run_only(
    store: Store, result: banditsrl.Result
) -> None:
    folder = store.folder(SPEC.hash)
    for name in ("checkpoint.npz", "error.txt", "table.parquet.123.partial"):
        (folder / name).write_text("x")
    (folder / "notes.txt").write_text("mine")
    store.finish(SPEC, make_table(result))
    assert sorted(path.name for path in folder.iterdir())[1:3] == ["notes.txt", "spec.json"]
    assert not list(folder.glob("*.partial"))
    assert not (folder / "error.txt").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("spec.json", b"{", "is not valid JSON"),
        ("spec.json", b"[]", "must hold a JSON object"),
        ("spec.json", b"{}", "is not the specification of a run"),
        ("table.parquet", b"PAR1", "cannot be read, or is damaged"),
    ],
)
def test_damage_is_named_and_left_alone(
    store: Store, name: str, content: bytes, message: str
) -> None:
    path = store.folder(SPEC.hash) / name
    path.write_bytes(content)
    reason = store.find_damage(SPEC.hash, deep=True)
    assert reason is not None
    assert message in reason
    assert str(path) in reason
    assert path.read_bytes() == content


def test_a_damaged_table_among_others_is_named(store: Store) -> None:
    path = store.folder(SPEC.hash) / "table.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(InvalidArgument, match=f"{path}: cannot be read, or is damaged"):
        store.read_tables([SPEC.hash], ["step"])


def test_a_table_of_another_kind_or_size_is_damage(store: Store) -> None:
    path = store.folder(SPEC.hash) / "table.parquet"
    table = pl.read_parquet(path)
    table.drop("wrong").write_parquet(path)
    assert "columns wrong" in str(store.find_damage(SPEC.hash, deep=True))
    table.head(5).write_parquet(path)
    assert "must have 8 rows, got 5" in str(store.find_damage(SPEC.hash, deep=True))


def test_a_folder_with_another_name_is_not_ours(store: Store) -> None:
    store.folder(SPEC.hash).rename(store.directory / "runs" / ("0" * 16))
    (store.directory / "runs" / "holiday").mkdir()
    (store.directory / "runs" / "holiday" / "photo.jpg").write_text("sea")
    assert not list(store.runs())
    assert "must describe run 0000000000000000" in str(store.find_damage("0" * 16))
    assert "holiday" in str(store.find_damage("holiday"))


def test_a_folder_that_was_only_begun_is_not_damaged(tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = store.folder(SPEC.hash)
    folder.mkdir(parents=True)
    assert store.find_damage(SPEC.hash) is None
    (folder / "spec.json.17.partial").write_text("{")
    assert store.find_damage(SPEC.hash) is None
    (folder / "spec.json").touch()  # what a power cut may leave
    assert store.find_damage(SPEC.hash) is None
    store.begin(SPEC)
    assert store.read_spec(SPEC.hash) == SPEC


def test_an_unfinished_run_is_found_but_not_finished(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.begin(replace(SPEC, seeds=(9,)))
    store.fail(replace(SPEC, seeds=(9,)), "Traceback ...")
    (run,) = store.runs()
    assert not run.finished
    assert (store.folder(run.hash) / "error.txt").read_text() == "Traceback ..."
