"""Is a policy called what the catalogue calls it, and told apart from what it is not?"""

from typing import Any

import pytest

import banditsrl
from banditsrl.policies import POLICIES
from banditsrl.policies.catalogue_names import find_name


@pytest.fixture(scope="module")
def stream() -> banditsrl.Stream:
    return banditsrl.Stream(n_columns=3, n_actions=2)


@pytest.mark.parametrize("name", list(POLICIES))
def test_a_policy_has_the_name_that_built_it(name: str, stream: banditsrl.Stream) -> None:
    unwatched = {"drift": None} if name == "banditsrl-auto" else {}
    assert find_name(banditsrl.make_policy(name, stream, **unwatched)) == name


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"audit": 0.01}, "glrt-linucb, audited"),
        ({"drift": 1e5}, "glrt-linucb, watched for changes"),
        ({"audit": 0.01, "drift": 1e5}, "glrt-linucb, audited and watched for changes"),
        ({"sigma": 1.0}, "glrt-linucb"),
    ],
)
def test_what_watches_a_policy_is_said_after_its_name(
    settings: dict[str, Any], said: str, stream: banditsrl.Stream
) -> None:
    policy = banditsrl.make_policy("glrt-linucb", stream, **settings)
    assert find_name(policy) == said
    assert policy.display_name == said.replace("glrt-linucb", "GLRT")


def test_the_default_policy_for_live_use_is_watched(stream: banditsrl.Stream) -> None:
    agent = banditsrl.Agent(banditsrl.make_policy("banditsrl-auto", stream))
    assert repr(agent) == "Agent(banditsrl-auto, watched for changes, 0 rounds learned)"


def test_a_policy_from_outside_has_the_name_of_its_class(stream: banditsrl.Stream) -> None:
    class Mine(banditsrl.LinUCB):
        """My own optimism."""

    mine = Mine(stream.representations[0])
    assert find_name(mine) == "Mine"
    assert find_name(banditsrl.GLRT(base=mine)) == "glrt-Mine"
