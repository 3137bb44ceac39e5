"""Can an application of Azure Personalizer use a loop with the requests that it has?"""

from typing import Any

import pytest

from banditsrl.errors import InvalidArgument
from banditsrl.web.personalizer import flatten

RANK = "/personalizer/v1.0/rank"
EVENTS = "/personalizer/v1.0/events"

REQUEST = {
    "contextFeatures": [{"age": 0.4}, {"member": True}],
    "actions": [{"id": "blue", "features": []}, {"id": "red"}, {"id": "green"}],
    "excludedActions": ["red"],
    "eventId": "75269AD0-BFEE-4598-8196-C57383D38E10",
    "deferActivation": False,
}


def test_rank_reward_and_activate_reach_the_loop(service: Any) -> None:
    client, loop = service.client, service.loop
    answer = client.post(RANK, json={**REQUEST, "deferActivation": True})
    assert answer.status_code == 201
    document = answer.json()
    assert set(document) == {"ranking", "eventId", "rewardActionId"}
    event = document["eventId"]
    assert event == REQUEST["eventId"]
    decision = loop.decision(event)
    assert decision.deferred
    assert dict(decision.context) == {"age": 0.4, "member": True}
    assert set(decision.available) == {"blue", "green"}

    assert client.post(f"{EVENTS}/{event}/activate").status_code == 204
    rewarded = client.post(f"{EVENTS}/{event}/reward", json={"value": 0.5})
    assert (rewarded.status_code, rewarded.content) == (204, b"")
    assert loop.outcome(event)["value"] == 0.5


def test_the_ranking_starts_with_the_action_to_show_and_ends_with_excluded_ones(
    service: Any,
) -> None:
    body = {key: value for key, value in REQUEST.items() if key != "eventId"}
    document = service.client.post(RANK, json=body).json()
    ranking = document["ranking"]
    assert ranking[0]["id"] == document["rewardActionId"]
    assert ranking[-1] == {"id": "red", "probability": 0.0}
    assert {entry["id"] for entry in ranking} == {"red", "green", "blue"}
    assert sum(entry["probability"] for entry in ranking) == pytest.approx(1.0)
    decision = service.loop.decision(document["eventId"])
    assert ranking[0]["probability"] == decision.pmf[decision.action]


def test_an_event_is_ranked_once(service: Any) -> None:
    first = service.client.post(RANK, json={**REQUEST, "eventId": "again"})
    assert service.client.post(RANK, json={**REQUEST, "eventId": "again"}).json() == first.json()
    other = {**REQUEST, "eventId": "again", "contextFeatures": [{"age": 0.5}]}
    assert service.client.post(RANK, json=other).status_code == 409


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"actions": []}, 422, "at `$.actions`"),
        ({"actions": [{"id": "red"}, {"id": "red"}]}, 422, "different ids"),
        ({"excludedActions": ["red", "green", "blue"]}, 422, "leave at least one action"),
        ({"actions": [{"id": "purple"}]}, 404, "purple"),
        ({"contextFeatures": [{"age": 1}, {"age": 2}]}, 422, "got two for 'age'"),
        ({"contextFeatures": {"age": 1}}, 422, "contextFeatures"),
    ],
)
def test_bad_requests_are_refused(
    service: Any, change: dict[str, Any], status: int, words: str
) -> None:
    body = {**REQUEST, "eventId": "bad", **change}
    answer = service.client.post(RANK, json=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"]
    assert service.client.get("/v1/decisions/bad").status_code == 404


def test_rewards_of_unknown_events_are_refused(service: Any) -> None:
    assert service.client.post(f"{EVENTS}/nobody/reward", json={"value": 1}).status_code == 404
    assert service.client.post(f"{EVENTS}/nobody/activate").status_code == 404


def test_nested_features_have_a_limit() -> None:
    nested: dict[str, Any] = {"a": 1}
    for _ in range(20):
        nested = {"n": nested}
    with pytest.raises(InvalidArgument, match="features must have at most 10 levels"):
        flatten([nested])
