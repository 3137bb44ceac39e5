"""Are Vowpal Wabbit's dsjson and text read as their rounds, and are odd events named?"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from banditsrl import Log
from banditsrl.errors import InvalidArgument

# dsjson: three articles, the user is shared.

ARTICLES: list[dict[str, Any]] = [
    {"Action": {"article": "politics"}},
    {"Action": {"article": "sports"}},
    {"Action": {"article": "music"}},
]


def make_event(**change: Any) -> dict[str, Any]:
    """Return an event in which the second article was shown and liked."""
    event = {
        "_label_cost": -1.0,
        "_label_probability": 0.8,
        "_label_Action": 2,
        "_labelIndex": 1,
        "o": [{"v": 1.0, "EventId": "e1", "ActionTaken": False}],
        "Timestamp": "2024-05-01T10:00:00.0000000Z",
        "Version": "1",
        "EventId": "e1",
        "a": [2, 1, 3],
        "c": {"User": {"name": "Tom", "age": 31}, "hour": 9.5, "_multi": ARTICLES},
        "p": [0.8, 0.1, 0.1],
        "VWState": {"m": "model/1"},
        "_original_label_cost": -1.0,
    }
    return {name: value for name, value in {**event, **change}.items() if value is not ...}


def shared(**features: Any) -> dict[str, Any]:
    return {**features, "_multi": ARTICLES}


def write_events(path: Path, events: list[Any]) -> Path:
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.dsjson"


def test_events_are_read_by_their_fields(path: Path) -> None:
    other = make_event(
        _label_cost=0,
        _label_probability=0.25,
        _label_Action=1,
        _labelIndex=0,
        a=[1, 3, 2],
        p=[0.25, 0.25, 0.5],
        c=shared(User={"name": "Ann", "new": True}, hour=10),
    )
    log = Log.read(write_events(path, [make_event(), other]))
    rounds = log.collect()
    assert log.schema.actions == ("1", "2", "3")
    assert log.schema.columns == (
        *("User.name=Ann", "User.name=Tom", "User.name is missing"),
        *("User.age", "hour", "User.new"),
    )
    assert rounds.contexts.tolist() == [[0, 1, 0, 31, 9.5, 0], [1, 0, 0, 0, 10, 1]]
    assert rounds.actions.tolist() == [1, 0]
    assert rounds.rewards.tolist() == [1.0, 0.0]
    assert not np.signbit(rounds.rewards).any()
    assert rounds.propensities.tolist() == [0.8, 0.25]
    assert rounds.pmf is not None
    assert rounds.pmf.tolist() == [[0.1, 0.8, 0.1], [0.25, 0.5, 0.25]]
    assert rounds.available is None


def test_features_of_actions_that_differ_become_columns(path: Path) -> None:
    actions = [[{"A": {"price": 5, "kind": "x"}}, {"A": {"price": p, "kind": "y"}}] for p in (3, 4)]
    events = [
        make_event(a=[2, 1], p=[0.8, 0.2], c={"hour": k, "_multi": both})
        for k, both in enumerate(actions)
    ]
    log = Log.read(write_events(path, events))
    assert log.schema.columns == ("hour", "2: A.price")
    assert log.collect().contexts.tolist() == [[0, 3], [1, 4]]


def test_actions_with_tags_are_known_by_them(path: Path) -> None:
    red, green, blue = ({"_tag": tag, "a": {"x": 1}} for tag in ("red", "green", "blue"))
    events = [
        make_event(c={"hour": 1, "_multi": [red, green, blue]}),
        make_event(a=[2, 1], p=[0.8, 0.2], c={"hour": 2, "_multi": [blue, red]}),
    ]
    log = Log.read(write_events(path, events))
    rounds = log.collect()
    assert log.schema.actions == ("blue", "green", "red")
    assert rounds.actions.tolist() == [1, 2]
    assert rounds.pmf is not None
    assert rounds.pmf.tolist() == [[0.1, 0.8, 0.1], [0.2, 0.0, 0.8]]
    assert rounds.available is not None
    assert rounds.available.tolist() == [[True] * 3, [True, False, True]]


def test_fewer_actions_than_in_other_events_are_those_available(path: Path) -> None:
    small = make_event(a=[2, 1], p=[0.8, 0.2], c={"hour": 2, "_multi": ARTICLES[:2]})
    log = Log.read(write_events(path, [make_event(), small]), actions=["x", "y", "z"])
    rounds = log.collect()
    assert log.schema.actions == ("x", "y", "z")
    assert rounds.available is not None
    assert rounds.available.tolist() == [[True] * 3, [True, True, False]]


def test_lists_of_features_are_read(path: Path) -> None:
    context = shared(v=[0.5, 2], Geo=[{"land": "it"}, {"big": False}], tags=["a", "b"])
    log = Log.read(write_events(path, [make_event(c=context), make_event()]))
    columns = dict(zip(log.schema.columns, log.collect().contexts[0], strict=True))
    assert columns["v[0]"] == 0.5
    assert columns["v[1]"] == 2.0
    assert columns["Geo.land=it"] == 1.0
    assert columns["Geo.big"] == 0.0
    assert columns["tags=a"] == columns["tags=b"] == 1.0


def test_a_label_may_be_found_in_other_fields(path: Path) -> None:
    bare = make_event(_label_Action=..., _labelIndex=..., _label_probability=..., _label_cost=...)
    indexed = make_event(_label_Action=..., _label_cost=...)
    rounds = Log.read(write_events(path, [bare, indexed])).collect()
    assert rounds.actions.tolist() == [1, 1]
    assert rounds.rewards.tolist() == [1.0, 1.0]
    assert rounds.propensities.tolist() == [0.8, 0.8]


def test_events_that_say_so_are_left_out_and_counted(path: Path) -> None:
    log = Log.read(write_events(path, [make_event(), make_event(_skipLearn=True), make_event()]))
    assert log.collect().rows.tolist() == [1, 3]
    assert log.skipped.count == 1
    assert log.skipped.first == f"{path}: row 2: _skipLearn says to leave the event out."
    assert len(Log.read(write_events(path, [make_event(_skipLearn=False)])).collect().rows) == 1


def test_a_deferred_event_counts_once_it_is_activated(path: Path) -> None:
    taken = make_event(DeferredAction=True, o=[{"EventId": "e1", "ActionTaken": True}])
    assert len(Log.read(write_events(path, [taken])).collect().rows) == 1


def test_the_share_of_dropped_events_must_be_constant(path: Path) -> None:
    same = [make_event(pdrop=0.5), make_event(pdrop=0.5)]
    assert Log.read(write_events(path, same)).collect().propensities.tolist() == [0.8, 0.8]
    with pytest.raises(
        InvalidArgument, match=r"row 2: pdrop must be the same in all events, got 0"
    ):
        Log.read(write_events(path, [make_event(pdrop=0.5), make_event()])).collect()


SLOTS = {"User": {"name": "Tom"}, "_multi": ARTICLES, "_slots": [{"Slot": {"a": 1}}]}


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (make_event(_outcomes=[]), "an event must have one slot, got several (_outcomes)."),
        (make_event(c=SLOTS), "an event must have one slot, got several (_slots)."),
        (
            make_event(DeferredAction=True),
            "a deferred event must have been activated, got one that was not.",
        ),
        (
            {"RewardValue": 1.0, "EventId": "e9"},
            "an event must have a context `c`, got an outcome without its decision.",
        ),
        (make_event(_label_Action=4, _labelIndex=3), "_label_Action must be at most 3, got 4."),
        (make_event(_labelIndex=0), "_labelIndex must be 1, got 0."),
        (make_event(_label_Action=0), "_label_Action must be a number from 1, got 0."),
        (make_event(_label_cost="low"), "_label_cost must be a number, got 'low'."),
        (make_event(_label_cost=..., o=...), "reward must be a number, got none."),
        (
            make_event(_label_cost=..., o=[{"v": 1}, {"v": 2}]),
            "an event without _label_cost must have one outcome, got [1, 2].",
        ),
        (
            make_event(_label_probability=0.0),
            "propensity must be above 0 and at most 1, got 0.",
        ),
        (
            make_event(_label_probability=0.3),
            "propensity must agree with the pmf, got 0.3 and 0.8 for '2'.",
        ),
        (make_event(p=[0.8, 0.1, 0.2], _label_probability=...), "pmf must sum to 1, got 1.1."),
        (
            make_event(p=[0.8, 0.2]),
            "a and p must be lists of one length, got [2, 1, 3] and [0.8, 0.2].",
        ),
        (make_event(a=[2, 1, 1]), "a must hold different numbers from 1 to 3, got [2, 1, 1]."),
        (make_event(_label_cost=..., o=5), "o must be a list of objects, got 5."),
        (make_event(c={"a": 1, "_multi": [3]}), "_multi must be a list of objects, got [3]."),
        (make_event(pdrop=1.0), "pdrop must be at least 0 and below 1, got 1.0."),
        ('{"_label_cost": 1', "a line must be a JSON object, got text that is not JSON "),
    ],
)
def test_an_event_that_cannot_be_used_is_named_or_skipped(
    path: Path, event: Any, sentence: str
) -> None:
    write_events(path, [make_event(), event, make_event()])
    with pytest.raises(InvalidArgument) as caught:
        Log.read(path).collect()
    assert str(caught.value).startswith(f"{path}: row 2: {sentence}")
    log = Log.read(path, skip_bad=True)
    assert log.collect().rows.tolist() == [1, 3]
    assert log.skipped.count == 1
    assert log.skipped.first == str(caught.value)


# Text.


def test_lines_of_cb_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rounds.vw"
    path.write_text(
        "1:2:0.4 | a:0.5 c\n"
        "3:-0.5:0.2 'tag | b:2 d\n"
        "\n"
        "1 2:1:0.5 | a c\n"
        "2:0:1 |user:2 age:3 new |item price:1.5\n"
    )
    log = Log.read(path)
    rounds = log.collect()
    assert log.schema.actions == ("1", "2", "3")
    assert log.schema.columns == ("a", "c", "b", "d", "user.age", "user.new", "item.price")
    assert rounds.rows.tolist() == [1, 2, 4, 5]
    assert rounds.contexts.tolist() == [
        [0.5, 1, 0, 0, 0, 0, 0],
        [0, 0, 2, 1, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 6, 2, 1.5],
    ]
    assert rounds.actions.tolist() == [0, 2, 1, 1]
    assert rounds.rewards.tolist() == [-2.0, 0.5, -1.0, 0.0]
    assert rounds.propensities.tolist() == [0.4, 0.2, 0.5, 1.0]
    assert rounds.available is not None
    assert rounds.available.tolist() == [[True] * 3, [True] * 3, [True, True, False], [True] * 3]


def test_groups_of_lines_of_cb_adf_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rounds.vw"
    path.write_text(
        "shared | hour:9\n"
        "| kind=x price:5\n"
        "0:-1.0:0.75 | kind=y price:3\n"
        "\n"
        "shared | hour:10 late\n"
        "0:0.5:0.25 | kind=x price:5\n"
        "| kind=y price:4\n"
    )
    log = Log.read(path)
    rounds = log.collect()
    assert log.schema.actions == ("1", "2")
    assert log.schema.columns == ("hour", "2: price", "late")
    assert rounds.rows.tolist() == [1, 5]
    assert rounds.contexts.tolist() == [[9, 3, 0], [10, 4, 1]]
    assert rounds.actions.tolist() == [1, 0]
    assert rounds.rewards.tolist() == [1.0, -0.5]
    assert rounds.propensities.tolist() == [0.75, 0.25]
    assert rounds.available is None


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1:2 | a", "a label must be ACTION:COST:PROBABILITY, got '1:2'."),
        ("1 | a", "a line must have one label ACTION:COST:PROBABILITY, got 0."),
        ("0:1:0.5 | a", "an action must be a number from 1, got 0."),
        ("1:2:0.4", "a line must have features after |, got '1:2:0.4'."),
        ("1:2:0.4 | a:x", "a feature must be NAME:NUMBER, got 'a:x'."),
        ("1:2:0 | a", "propensity must be above 0 and at most 1, got 0."),
        ("1:2:nan | a", "propensity must be above 0 and at most 1, got nan."),
        ("1:nan:1 | a", "reward must be a number, got none."),
    ],
)
def test_a_wrong_line_of_text_is_named_or_skipped(tmp_path: Path, line: str, sentence: str) -> None:
    path = tmp_path / "rounds.vw"
    path.write_text(f"1:2:0.4 | a:0.5\n{line}\n2:1:0.5 | a\n")
    with pytest.raises(InvalidArgument) as caught:
        Log.read(path).collect()
    assert str(caught.value) == f"{path}: row 2: {sentence}"
    log = Log.read(path, skip_bad=True)
    assert log.collect().rows.tolist() == [1, 3]
    assert log.skipped.count == 1


def test_a_group_without_a_label_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rounds.vw"
    path.write_text("shared | a\n0:1:0.5 | b\n| c\n\nshared | a\n| b\n| c\n")
    with pytest.raises(
        InvalidArgument, match="row 5: a round must have one line with a label, got 0"
    ):
        Log.read(path).collect()
