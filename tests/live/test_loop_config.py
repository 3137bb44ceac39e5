"""Is a configuration read as it is meant, and refused in one sentence if it is wrong?"""

import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from banditsrl import Loop
from banditsrl.errors import InvalidArgument, InvalidType
from banditsrl.live import programs
from banditsrl.live.loop_config import find_differences, read_config
from banditsrl.live.programs import Programs, build_policy
from banditsrl.policies.watched import Watched

BASE: dict[str, Any] = {"name": "offers", "actions": ["a", "b"], "columns": {"age": "number"}}

YAML = """
name: offers
actions: {red: {price: 1}, green: {price: 2}}
action_columns: {price: number}
columns:
  age: {number: {default: 40, clip: [0, 120]}}
  member: flag
  country: {category: [fr, de, us]}
policy: linucb-disjoint
reward: {range: [0, 1], wait: 3600, default: 0, combine: last, clip: true}
seed: 5
"""


def test_a_yaml_file_is_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "offers.yaml"
    path.write_text(YAML)
    config = read_config(path)
    assert dict(config.actions) == {"red": {"price": 1}, "green": {"price": 2}}
    assert [column.name for column in config.columns] == ["age", "member", "country"]
    assert (config.columns[0].low, config.columns[0].high) == (0.0, 120.0)
    rule = config.reward
    assert (rule.low, rule.high, rule.wait, rule.default) == (0.0, 1.0, 3600.0, 0.0)
    assert (rule.combine, rule.check(7.0), config.seed, config.n_slots) == ("last", 1.0, 5, 6)


def test_the_default_policy_is_audited_and_watches_for_changes() -> None:
    config = read_config({**BASE, "reward": {"range": [0, 2]}})
    policy = build_policy(config)
    assert isinstance(policy, Watched)
    assert (config.policy, policy.audit, policy.reward_range) == (
        "banditsrl-auto",
        0.01,
        (0.0, 2.0),
    )
    assert policy.drift == 1e5
    quiet = build_policy(read_config({**BASE, "audit": 0, "drift": 0}))
    assert not isinstance(quiet, Watched)


def test_settings_of_a_later_release_are_named_and_ignored() -> None:
    with pytest.warns(UserWarning, match="does not know the setting 'colour' and ignores it"):
        config = read_config({**BASE, "colour": "red"})
    assert config.name == "offers"
    with pytest.warns(UserWarning, match="setting of reward 'colour'"):
        read_config({**BASE, "reward": {"colour": 1}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "name must be text, got None"),
        ({"name": ""}, "name must be 1 to 200 printable characters"),
        ({"actions": []}, "actions must be one or more different names"),
        ({"actions": ["a", "a"]}, "actions must be one or more different names"),
        ({"actions": "red"}, "actions must be a list of names or a mapping"),
        ({"actions": [1]}, "actions must be text, got 1"),
        ({"actions": {"a": {"price": 1}}}, "action_columns must declare every column"),
        ({"columns": {}}, "columns must name one or more columns"),
        ({"columns": ["age"]}, "columns must be a mapping of names to kinds"),
        ({"columns": {"age": "text"}}, "age must be one of number, category, flag, got 'text'"),
        ({"columns": {"city": "category"}}, "city must list the values of its category"),
        ({"columns": {"city": {"category": "fr"}}}, "city must list the values"),
        ({"columns": {"age": {"number": {"clip": [2, 1]}}}}, "clip of age must be two numbers in"),
        ({"columns": {"age": {"number": {"size": 1}}}}, "age must have default or clip"),
        ({"columns": {"age": {"flag": {"clip": [0, 1]}}}}, "clip of age must be two numbers, for"),
        ({"reward": 5}, "reward must be a mapping"),
        ({"reward": {"range": [1, 0]}}, "range must be two numbers, the smaller one first"),
        ({"reward": {"range": [0]}}, "range must be two numbers"),
        ({"reward": {"wait": 0}}, "wait must be greater than 0"),
        ({"reward": {"combine": "mean"}}, "combine must be one of first, last, sum, error"),
        ({"reward": {"combine": "sum"}}, "wait must be given if rewards combine by sum"),
        ({"reward": {"default": 0}}, "wait must be given with a default reward"),
        ({"reward": {"default": 2, "wait": 1, "range": [0, 1]}}, "reward must lie between 0 and 1"),
        ({"reward": {"clip": "yes"}}, "clip must be True or False"),
        ({"spare_actions": -1}, "spare_actions must be at least 0"),
        ({"mode": "off"}, "mode must be one of learn, shadow, frozen"),
        ({"baseline": "c"}, "baseline must be one of the actions, got 'c'"),
        ({"settings": []}, None),
        ({"settings": 3}, "settings must be a mapping"),
    ],
)
def test_a_wrong_setting_is_refused(change: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert read_config({**BASE, **change}).settings == {}
        return
    with pytest.raises((InvalidArgument, InvalidType), match=message):
        read_config({**BASE, **change})


@pytest.mark.parametrize("missing", ["name", "actions", "columns"])
def test_what_a_loop_cannot_do_without_must_be_given(missing: str) -> None:
    given = {name: value for name, value in BASE.items() if name != missing}
    with pytest.raises(InvalidArgument, match=f"{missing} must be given in the configuration"):
        read_config(given)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="cannot be read"):
        read_config(tmp_path / "nothing.yaml")
    (tmp_path / "odd.yaml").write_text("a: [1")
    with pytest.raises(InvalidArgument, match="is not valid YAML"):
        read_config(tmp_path / "odd.yaml")


def test_a_wrong_setting_in_a_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "offers.yaml"
    path.write_text("name: a\nactions: [x, y]\ncolums: {age: number}\n")
    with pytest.raises(InvalidArgument, match=r"offers\.yaml, line 3: There is no setting named"):
        read_config(path, strict=True)
    path.write_text("name: a\nactions: [x, y]\npolicy: linucbb\ncolumns: {age: number}\n")
    with pytest.raises(InvalidArgument, match=r"line 3: There is no policy named 'linucbb'"):
        Loop.create(tmp_path / "a.db", path)
    path.write_text("name: a\nactions: [x, y]\ncolumns: {age: number}\nspare_actions: -1\n")
    with pytest.raises(InvalidArgument, match=r"offers\.yaml, line 4: spare_actions must be at"):
        read_config(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colums": {}}, "There is no setting named 'colums'; did you mean 'columns'?"),
        ({"reward": {"waitt": 3}}, "no setting of reward named 'waitt'; did you mean 'wait'?"),
        ({"mode": "lern"}, "got 'lern'; did you mean 'learn'?"),
        ({"zzz": 1}, "There is no setting named 'zzz'."),
        (
            {"actions": {"a": {}, "b": {"price": "low"}}, "action_columns": {"price": "number"}},
            "action 'b': price must be a number, got 'low'.",
        ),
        (
            {"columns": {"age": {"number": {"default": 10**30}}}},
            "default of age must be at most 1e+19 in size, got 1e+30.",
        ),
        (
            {"columns": {"age": {"number": {"default": -2e19, "clip": [0, 1]}}}},
            "default of age must be at most 1e+19 in size, got -2e+19.",
        ),
    ],
)
def test_a_new_loop_refuses_what_it_does_not_know(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises((InvalidArgument, InvalidType), match=re.escape(message)):
        Loop.create(tmp_path / "offers.db", {**BASE, **change})
    assert not (tmp_path / "offers.db").exists()


@pytest.mark.parametrize("policy", ["linucb-disjoint", "glrt-linucb", "banditsrl-auto"])
@pytest.mark.parametrize("spare", [10**9, 9 * 10**18])
def test_more_spare_actions_than_memory_are_refused(
    tmp_path: Path, policy: str, spare: int
) -> None:
    message = (
        f"spare_actions, columns and settings must give '{policy}' a state of at most .* GB on "
        f"this machine, got .* GB for {spare + 2:,} slots of actions and .* encoded columns"
    )
    wanted = {**BASE, "policy": policy, "spare_actions": spare}
    with pytest.raises(InvalidArgument, match=message):
        Loop.create(tmp_path / "offers.db", wanted)
    assert not (tmp_path / "offers.db").exists()


def test_a_loop_is_refused_just_where_its_states_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = read_config({**BASE, "policy": "linucb-disjoint", "spare_actions": 100})
    start = Programs(config).start()
    size = sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(start))
    monkeypatch.setattr(programs, "read_memory", lambda: 3.0 * size)
    Programs(config)
    monkeypatch.setattr(programs, "read_memory", lambda: 3.0 * size - 1.0)
    with pytest.raises(InvalidArgument, match="for 102 slots of actions and 3 encoded columns"):
        Programs(config)


def test_a_misspelt_name_of_a_setting_is_told_before_its_absence(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="did you mean 'columns'"):
        Loop.create(tmp_path / "o.db", {"name": "o", "actions": ["a"], "colums": {}})


def test_what_differs_between_two_configurations_is_named() -> None:
    one = read_config(BASE)
    other = {**BASE, "actions": ["a", "c"], "reward": {"wait": 3, "range": [0, 1]}, "seed": 1}
    assert find_differences(one, read_config(dict(reversed(BASE.items())))) == []
    assert find_differences(one, read_config(other)) == [
        *("actions", "seed", "reward.range", "reward.wait")
    ]
