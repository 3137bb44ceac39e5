"""Does everything that a loop knows come out of it, and into another one? And is it forgotten?"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from replays import verify_loop
from typer.testing import CliRunner

from banditsrl import Loop
from banditsrl.cli.commands import app
from banditsrl.errors import Conflict, InvalidArgument, InvalidType, NotFound

pytestmark = pytest.mark.usefixtures("without_training")

CONFIG: dict[str, Any] = {
    "name": "offers",
    "actions": ["red", "green"],
    "columns": {"age": "number", "user": {"category": ["ann", "bob"]}},
    "policy": "linucb-disjoint",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "offers.db"


@pytest.fixture
def loop(path: Path) -> Iterator[Loop]:
    rng = np.random.default_rng(0)
    with Loop.create(path, CONFIG, warm_up=False) as made:
        for i in range(12):
            user = "ann" if i % 3 else "bob"
            decision = made.decide({"age": float(rng.normal()), "user": user}, id=f"id {i}")
            if i < 9:
                made.reward(decision.id, i / 10)
        made.flush()
        yield made


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_an_export_has_one_row_per_decision(loop: Loop, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"log.{ending}"
    assert loop.export(out) == 12
    if ending == "jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        nested = ("pmf", "context", "certificate", "available")
        rows = [
            {k: json.loads(v) if k in nested else v for k, v in row.items()}
            for row in pl.read_parquet(out).to_dicts()
        ]
    for i, row in enumerate(rows):
        decision = loop.decision(f"id {i}")
        assert (row["id"], row["action"]) == (decision.id, decision.action)
        assert row["pmf"] == dict(decision.pmf)
        assert row["context"] == dict(decision.context)
        assert row["certificate"]["certified"] is False
        assert row["reward"] == (i / 10 if i < 9 else None)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_an_import_is_learned_from_once(loop: Loop, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"log.{ending}"
    loop.export(out)
    with Loop.create(tmp_path / "other.db", CONFIG, warm_up=False) as other:
        assert other.import_decisions(out) == 12
        assert other.import_decisions(out) == 0
        assert (other.status()["rounds"], other.status()["waiting"]) == (9, 3)
        assert other.outcome("id 3")["value"] == 0.3
        assert other.decision("id 3").pmf == loop.decision("id 3").pmf
        theirs, ours = other._engine.fold.state, loop._engine.fold.state
        context = loop._engine.encoder.encode({"age": 0.5}, [])
        assert other._engine.programs.predict(theirs, context) == pytest.approx(
            loop._engine.programs.predict(ours, context)
        )


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_paused_and_retired_actions_are_so_in_the_loop_that_imports(
    loop: Loop, tmp_path: Path, ending: str
) -> None:
    out = tmp_path / f"log.{ending}"
    loop.add_action("pink")
    loop.pause_action("green")
    loop.retire_action("red")
    loop.export(out)
    config = {**CONFIG, "actions": ["green", "red", "grey"]}
    with Loop.create(tmp_path / "other.db", config, warm_up=False) as other:
        assert other.import_decisions(out) == 12
        states = {"green": "paused", "red": "retired", "grey": "active"}
        assert {each["name"]: each["state"] for each in other.actions()} == states
        assert other.decide({"age": 0.5}).available == ("grey",)
        other.resume_action("green")
        assert other.import_decisions(out) == 0  # again: nothing is refused
    with Loop.create(tmp_path / "two.db", CONFIG, warm_up=False) as two:
        with pytest.raises(Conflict, match="'green' is the last active one, so it must stay"):
            two.import_decisions(out)
        assert two.status()["position"] == 1  # nothing was written


def test_a_wrong_import_is_refused_before_anything_is_written(loop: Loop, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    good = {"id": "new", "context": {}, "action": "red", "reward": 1.0}
    out.write_text(json.dumps({**good, "inactive": {"red": "gone"}}) + "\n")
    with pytest.raises(InvalidArgument, match="inactive must be one of paused, retired, got 'gon"):
        loop.import_decisions(out)
    out.write_text(json.dumps(good) + "\n" + json.dumps({**good, "action": "pink"}) + "\n")
    with pytest.raises(NotFound, match="no action named 'pink'; add it before"):
        loop.import_decisions(out)
    with pytest.raises(NotFound, match="no decision with the id 'new'"):
        loop.decision("new")
    with pytest.raises(InvalidArgument, match=r"must end in \.jsonl or \.parquet"):
        loop.export(tmp_path / "log.csv")


ROW = {"id": "one", "context": {"age": 1}, "action": "red", "reward": 0.5, "time": 1.7e9}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pmf": {"green": 1.0}}, "pmf must give the action 'red' a chance"),
        ({"pmf": {"red": 0.0, "green": 1.0}}, "pmf must give the action 'red' a chance"),
        ({"pmf": {"red": -0.5, "green": 1.5}}, "pmf must be probabilities that sum to 1"),
        ({"pmf": {"red": 0.5, "green": 0.4}}, "pmf must be probabilities that sum to 1"),
        ({"pmf": [1.0]}, "pmf must give probabilities by action"),
        ({"pmf": {"red": "all"}}, "pmf must be a real number"),
        ({"time": 1.7e12}, "time must be in seconds since 1970, at most 1e\\+11, got 17"),
        ({"rewarded": -1e300}, "rewarded must be in seconds since 1970"),
    ],
)
def test_a_row_that_cannot_have_happened_is_refused(
    loop: Loop, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    out, before = tmp_path / "log.jsonl", loop.log()
    out.write_text(json.dumps({**ROW, **change}) + "\n")
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        loop.import_decisions(out)
    assert loop.log() == before
    out.write_text(json.dumps({**ROW, "pmf": {"red": 0.667, "green": 0.333}}) + "\n")
    assert loop.import_decisions(out) == 1
    assert loop.decision("one").probability == 0.667


def test_a_file_of_another_kind_is_refused(loop: Loop, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(b"\xff\xfe\n")
    with pytest.raises(InvalidArgument, match="line 1 is not JSON"):
        loop.import_decisions(tmp_path / "log.jsonl")
    (tmp_path / "log.parquet").write_bytes(b"no table")
    with pytest.raises(InvalidArgument, match="is no Parquet file"):
        loop.import_decisions(tmp_path / "log.parquet")


def test_an_erased_context_is_gone_and_what_was_learned_stays(loop: Loop, path: Path) -> None:
    before, context = loop._engine.fold, loop._engine.encoder.encode({"age": 0.5}, [])
    predicted = loop._engine.programs.predict(before.state, context)
    assert loop.erase(column="user", value="bob") == 4
    assert loop.erase(["id 0"]) == 0
    assert loop.decision("id 0").context == {}
    assert loop.decision("id 1").context["user"] == "ann"
    assert b"bob" not in b"".join(read_contexts(loop))
    with pytest.raises(Conflict, match="The context of the decision 'id 0' was erased; use anoth"):
        loop.decide({"age": 0.5, "user": "bob"}, id="id 0")
    after = loop._engine.fold
    assert after.rounds == before.rounds
    again = loop._engine.programs.predict(after.state, context)
    assert np.array_equal(np.asarray(again), np.asarray(predicted))
    loop.reward(loop.decide({"age": 0.1}).id, 1.0)
    loop.flush()
    found = verify_loop(path)
    assert found.differences == []
    assert found.decisions == 1  # what was before the erasure cannot be computed again
    assert (found.passed, found.erased > 0, found.first > 0) == (True, True, True)
    assert (
        f"no difference in 1 decision, 0 trainings and 0 snapshots. {found.first} of {found.last} "
        f"positions could not be checked: contexts were erased up to position {found.erased}."
    ) in str(found)


def test_a_verification_that_checks_nothing_is_no_pass(loop: Loop, path: Path) -> None:
    loop.erase(["id 0"])
    found = verify_loop(path)
    assert (found.decisions, found.snapshots, found.n_differences) == (0, 0, 0)
    assert not found.passed
    assert str(found) == (
        f"No decision of 'offers' could be compared. {found.first} of {found.last} positions could "
        f"not be checked: contexts were erased up to position {found.erased}."
    )
    result = CliRunner().invoke(app, ["loop", "verify", str(path), "--quiet"])
    assert result.exit_code == 1
    assert "No decision of 'offers' could be compared." in result.stdout


def test_a_snapshot_alone_is_no_pass(loop: Loop, tmp_path: Path) -> None:
    out, other = tmp_path / "log.jsonl", tmp_path / "other.db"
    loop.export(out)
    with Loop.create(other, CONFIG, warm_up=False) as copy:
        copy.import_decisions(out)  # closing the loop keeps a snapshot
    found = verify_loop(other)
    assert (found.decisions, found.snapshots, found.n_differences) == (0, 1, 0)
    assert not found.passed
    assert str(found) == (
        f"No decision of 'offers' could be compared. Positions 2 to {found.last} of 'offers': no "
        "difference in 0 trainings and 1 snapshot. The loop has made none itself."
    )


def test_contexts_can_be_erased_after_the_first_model_was_put_back(loop: Loop) -> None:
    loop.promote(0)
    assert loop.erase(["id 1"]) == 1
    assert loop.decision("id 1").context == {}


def test_a_column_without_a_value_erases_nothing(loop: Loop) -> None:
    with pytest.raises(InvalidArgument, match="value must be given with a column, got only 'user'"):
        loop.erase(column="user")
    assert loop.decision("id 1").context["user"] == "ann"


def test_a_reward_of_a_decision_that_was_imported_without_one_does_not_count(
    loop: Loop, tmp_path: Path
) -> None:
    out = tmp_path / "log.jsonl"
    loop.export(out)
    rows = [{**json.loads(line), "status": "expired"} for line in out.read_text().splitlines()]
    out.write_text("\n".join(json.dumps(row) for row in rows))
    config = {**CONFIG, "reward": {"wait": 3600}}
    with Loop.create(tmp_path / "other.db", config, warm_up=False) as other:
        other.import_decisions(out)
        settled = other.reward("id 10", 1.0)
        assert (settled.counted, settled.reason) == (
            False,
            "The decision was closed without a reward.",
        )


def test_a_decision_that_waited_for_its_reward_waits_after_an_import_too(
    loop: Loop, tmp_path: Path
) -> None:
    out = tmp_path / "log.jsonl"
    shown = loop.decide({"age": 0.5}, id="later", deferred=True)
    loop.export(out)
    made = loop.decision("id 10").time
    for wait, deadline in ((None, None), (3600, made + 3600)):
        config = {**CONFIG, "reward": {"wait": wait}}
        with Loop.create(tmp_path / f"{wait}.db", config, warm_up=False) as other:
            assert other.import_decisions(out) == 13
            found = other.outcome("id 10")
            assert (found["status"], found["deadline"]) == ("waiting", deadline)
            assert other.reward("id 10", 1.0).reason == "The reward counts."
            other.flush()
            assert (other.status()["rounds"], other.status()["waiting"]) == (10, 2)
            assert other.outcome(shown.id)["status"] == "deferred"
            assert other.activate(shown.id).reason == "The decision is active."


def test_columns_of_actions_cannot_be_imported(loop: Loop, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    loop.export(out)
    config = {**CONFIG, "action_columns": {"price": "number"}}
    with (
        Loop.create(tmp_path / "other.db", config, warm_up=False) as other,
        pytest.raises(InvalidArgument, match="with action_columns cannot import decisions"),
    ):
        other.import_decisions(out)


def read_contexts(loop: Loop) -> list[bytes]:
    with loop._engine.store.read() as cursor:
        return [
            (text or "").encode() for (text,) in cursor.execute("SELECT context FROM decisions")
        ]


def test_the_state_of_an_erased_loop_survives_a_restart(loop: Loop, path: Path) -> None:
    loop.erase(["id 1", "id 2"])
    context = loop._engine.encoder.encode({"age": 0.5}, [])
    before = loop._engine.programs.predict(loop._engine.fold.state, context)
    loop.close()
    with Loop.open(path, warm_up=False) as again:
        after = again._engine.programs.predict(again._engine.fold.state, context)
        assert np.array_equal(np.asarray(before), np.asarray(after))


def test_a_backup_is_a_loop_and_never_replaces_a_file(loop: Loop, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    loop.backup(copy)
    with pytest.raises(Conflict, match="must be a new file"):
        loop.backup(copy)
    with Loop.open(copy, warm_up=False) as other:
        assert other.decisions(last=20) == loop.decisions(last=20)
