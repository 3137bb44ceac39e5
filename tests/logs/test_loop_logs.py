"""Is a loop's store, and what it exports, read as the rounds that the loop has had?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from banditsrl import Log, Loop
from banditsrl.errors import InvalidArgument, NotFound

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green", "blue"],
    "columns": {"age": "number", "city": {"category": ["rome", "oslo"]}},
    "policy": "linucb-disjoint",
    "spare_actions": 1,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Loop]]:
    """A loop with settled and waiting decisions, one of them of two actions only."""
    path = tmp_path_factory.mktemp("loops") / "offers.db"
    rng = np.random.default_rng(0)
    with Loop.create(path, CONFIG, warm_up=False) as loop:
        for k in range(12):
            context = {"age": float(rng.normal()), "city": ["rome", "oslo", "lima"][k % 3]}
            available = ["red", "blue"] if k == 5 else None
            decision = loop.decide(context, id=f"id {k}", available=available)
            if k % 4 != 3:
                loop.reward(decision.id, k / 8)
        loop.flush()
        yield path, loop


SETTLED = [k for k in range(12) if k % 4 != 3]


def list_settled(loop: Loop) -> list[Any]:
    return [loop.decision(f"id {k}") for k in SETTLED]


def test_a_store_is_read_as_its_settled_decisions(store: tuple[Path, Loop]) -> None:
    path, loop = store
    log = Log.read(path)
    rounds, decisions = log.collect(), list_settled(loop)
    assert log.schema.actions == ("red", "green", "blue")
    assert log.schema.columns == (
        *("age", "age is missing", "city=rome", "city=oslo", "city is missing", "constant"),
    )
    assert rounds.rows.tolist() == [decision.position for decision in decisions]
    for at, decision in enumerate(decisions):
        age, city = decision.context["age"], decision.context["city"]
        expected = [age, 0.0, float(city == "rome"), float(city == "oslo"), 0.0, 1.0]
        assert rounds.contexts[at].tolist() == expected
    assert [log.schema.actions[k] for k in rounds.actions] == [d.action for d in decisions]
    assert rounds.rewards.tolist() == [k / 8 for k in SETTLED]
    assert rounds.propensities.tolist() == [decision.probability for decision in decisions]
    assert rounds.pmf is not None
    assert rounds.available is not None
    for at, decision in enumerate(decisions):
        law = [decision.pmf.get(name, 0.0) for name in log.schema.actions]
        assert rounds.pmf[at].tolist() == law
        mask = [name in decision.available for name in log.schema.actions]
        assert rounds.available[at].tolist() == mask
    assert rounds.certified is not None
    assert rounds.audited is not None
    assert not rounds.audited.any()


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_an_exported_file_has_the_same_rounds(
    store: tuple[Path, Loop], tmp_path: Path, ending: str
) -> None:
    path, loop = store
    loop.export(tmp_path / f"log.{ending}")
    stored, declared = Log.read(path).collect(), {"columns": CONFIG["columns"]}
    log = Log.read(tmp_path / f"log.{ending}", actions=CONFIG["actions"], **declared)
    rounds = log.collect()
    assert log.schema.columns == (
        "age",
        "age is missing",
        "city=rome",
        "city=oslo",
        "city is missing",
    )
    np.testing.assert_array_equal(rounds.contexts, stored.contexts[:, :-1])  # without the constant
    for name in ("actions", "rewards", "propensities", "pmf", "available", "certified", "audited"):
        np.testing.assert_array_equal(getattr(rounds, name), getattr(stored, name))
    assert rounds.rows.tolist() == [k + 1 for k in SETTLED]


def test_kinds_of_an_exported_file_are_found(store: tuple[Path, Loop], tmp_path: Path) -> None:
    _, loop = store
    loop.export(tmp_path / "log.jsonl")
    log = Log.read(tmp_path / "log.jsonl")
    assert log.schema.actions == ("blue", "green", "red")
    assert log.schema.columns == ("age", "city=lima", "city=oslo", "city=rome", "city is missing")


@pytest.fixture
def shadow(tmp_path: Path) -> Path:
    """A loop in shadow mode, with decisions that were imported before."""
    imported = tmp_path / "old.jsonl"
    imported.write_text(
        '{"id": "o1", "context": {"age": 1.0}, "action": "red", "reward": 0.5}\n'
        '{"id": "o2", "context": {"age": 2.0}, "action": "green", "reward": 1.0, '
        '"pmf": {"red": 0.25, "green": 0.75}}\n'
    )
    path = tmp_path / "shadow.db"
    config = {**CONFIG, "mode": "shadow", "baseline": "green"}
    with Loop.create(path, config, warm_up=False) as loop:
        loop.import_decisions(imported)
        decision = loop.decide({"age": 3.0}, id="s1")
        loop.reward(decision.id, 0.25)
        loop.flush()
        loop.export(tmp_path / "shadow.jsonl")
    return path


@pytest.mark.parametrize("ending", ["db", "jsonl"])
def test_imported_and_shadow_decisions_say_what_is_known_of_them(shadow: Path, ending: str) -> None:
    log = Log.read(shadow.with_suffix(f".{ending}"))
    rounds = log.collect()
    assert [log.schema.actions[k] for k in rounds.actions] == ["red", "green", "green"]
    assert rounds.rewards.tolist() == [0.5, 1.0, 0.25]
    assert np.isnan(rounds.propensities[0])  # nobody knows how it was chosen
    assert rounds.propensities[1:].tolist() == [0.75, 1.0]  # the baseline plays for certain
    assert rounds.contexts[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_an_erased_round_is_named_or_skipped(tmp_path: Path) -> None:
    path = tmp_path / "offers.db"
    with Loop.create(path, CONFIG, warm_up=False) as loop:
        for k in range(3):
            loop.reward(loop.decide({"age": 1.0}, id=f"id {k}").id, 1.0)
        loop.flush()
        assert loop.erase(["id 1"]) == 1
        position = loop.decision("id 1").position
        loop.export(tmp_path / "log.jsonl")
    for source, row in ((path, position), (tmp_path / "log.jsonl", 2)):
        with pytest.raises(
            InvalidArgument, match=f"row {row}: a round must have a context, got one"
        ):
            Log.read(source).collect()
        log = Log.read(source, skip_bad=True)
        assert len(log.collect().rows) == 2
        assert log.skipped.count == 1


def test_a_loop_is_chosen_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "two.db"
    for name in ("first", "second"):
        with Loop.create(path, {**CONFIG, "name": name}, warm_up=False) as loop:
            loop.reward(loop.decide({"age": 1.0}).id, float(len(name)))
            loop.flush()
    with pytest.raises(
        InvalidArgument, match="loop must be given unless the store has exactly one"
    ):
        Log.read(path).collect()
    log = Log.read(path, loop="second")
    assert log.name == f"{path}, loop second"
    assert log.collect().rewards.tolist() == [6.0]
    with pytest.raises(NotFound, match="There is no loop named 'third'"):
        Log.read(path, loop="third").collect()
    with pytest.raises(InvalidArgument, match="columns and actions must not be given for a store"):
        Log.read(path, loop="second", columns=["age"])
    with pytest.raises(NotFound, match="There is no store at"):
        Log.read(tmp_path / "none.db", format="loop").collect()


def test_a_password_is_not_shown() -> None:
    log = Log.read("postgresql://ann:secret@db.example/offers?x=1", loop="offers")
    assert log.name == "db.example/offers, loop offers"


def test_a_loop_in_postgresql_is_read_by_its_url() -> None:
    pytest.importorskip("psycopg", reason="The package psycopg is not installed.")
    from postgres_server import MISSING, find_programs, run_postgres

    if find_programs() is None:
        pytest.skip(MISSING)
    with run_postgres(syncs=False) as server:
        url = server.new_database()
        with Loop.create(url, CONFIG, warm_up=False) as loop:
            for k in range(3):
                loop.reward(loop.decide({"age": float(k)}).id, k / 2)
            loop.flush()
        rounds = Log.read(url, loop="offers").collect()
    assert rounds.contexts[:, 0].tolist() == [0.0, 1.0, 2.0]
    assert rounds.rewards.tolist() == [0.0, 0.5, 1.0]
