"""What is shown of a policy: a sentence and the settings that it really takes."""

from functools import partial
from typing import Any

import pytest

import banditsrl
from banditsrl.policies import policy_catalogue as catalogue
from banditsrl.policies.policy_settings import describe_policy, list_policy_settings


@pytest.mark.parametrize("name", list(catalogue.POLICIES))
def test_every_policy_has_one_line_that_fits(name: str) -> None:
    sentence = describe_policy(name)
    assert sentence.endswith(".")
    assert sentence[0].isupper()
    assert len(sentence) <= 56


@pytest.mark.parametrize("name", list(catalogue.POLICIES))
def test_the_settings_shown_are_those_that_the_maker_knows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: set[str] = set()
    share_out = catalogue.share_out

    def record(settings: Any, parts: Any, task: Any, preset: Any = None, fixed: Any = None) -> Any:
        known.update(n for part in parts for n in catalogue.setting_names(part))
        known.difference_update(fixed or {})
        return share_out(settings, parts, task, preset, fixed)

    monkeypatch.setattr(catalogue, "share_out", record)
    banditsrl.make_policy(name, banditsrl.Stream(n_columns=3, n_actions=2))
    rows = list_policy_settings(name)
    own = {"representation", "rff_dim", "rff_seed", "n_features", "feature_seed"}
    shown = {row.name for row in rows}
    assert shown - own == known - {"eliminate"}
    assert all(row.help for row in rows)


def test_the_defaults_shown_are_those_of_a_policy_that_is_built() -> None:
    stream = banditsrl.Stream(n_columns=3, n_actions=2)
    for preset in ("default", "paper"):
        shown = {r.name: r.default for r in list_policy_settings("nn-banditsrl-linucb", preset)}
        policy: Any = banditsrl.make_policy("nn-banditsrl-linucb", stream, preset=preset)
        assert shown["batch"] == policy.training.batch
        assert shown["passes"] == policy.training.passes
        assert shown["glrt_scale"] == policy.glrt_scale
        assert shown["layers"] == policy.network.layers
        assert shown["ucb_scale"] == policy.base.ucb_scale
    auto: Any = banditsrl.make_policy("banditsrl-auto", stream, drift=None)
    found = {row.name: row.default for row in list_policy_settings("banditsrl-auto")}
    assert found["delta"] == auto.delta


def test_a_new_policy_is_described_by_its_maker_and_shows_its_settings() -> None:
    def make_other(task: Any, preset: Any, **settings: Any) -> banditsrl.Leader:
        """Return a copy of LEADER."""
        del preset
        return banditsrl.Leader(task.representations, **settings)

    with catalogue.POLICIES.temporary("other", make_other):
        assert describe_policy("other") == "Return a copy of LEADER."
        shown = {row.name for row in list_policy_settings("other")}
    assert {"ucb_scale", "gamma", "lam"} <= shown


def test_a_new_base_is_described_by_its_class() -> None:
    class Other(banditsrl.Greedy):
        """Play the best estimate."""

    maker = partial(catalogue.make_alone, Other)
    with catalogue.POLICIES.temporary("other", maker):
        assert describe_policy("other") == "Play the best estimate."
