"""Does every bad request get one fitting sentence, and change nothing?"""

import json
from collections.abc import Callable
from typing import Any

import pytest

GOOD = {"context": {"age": 0.3, "member": True, "country": "fr"}}
JSON = {"Content-Type": "application/json"}
LONG = "x" * 201


def post(path: str, body: Any, status: int) -> tuple[str, str, bytes, dict[str, str], int]:
    return "POST", path, json.dumps(body).encode(), JSON, status


def raw(
    body: bytes, status: int, headers: dict[str, str] | None = None, path: str = "/v1/decide"
) -> tuple[str, str, bytes, dict[str, str], int]:
    return "POST", path, body, JSON if headers is None else headers, status


def get(path: str, status: int, method: str = "GET") -> tuple[str, str, bytes, dict[str, str], int]:
    return method, path, b"", {}, status


MALFORMED = [
    raw(body, 400)
    for body in (
        b"", b"{", b"}", b'{"context": {}', b"nonsense", b'{"context": {},}', b"\xff\xfe",
        b'{"context": {"age": NaN}}', b'{"context": {"age": Infinity}}', b'{"context": {"a": 01}}',
        b'{"context": {"country": "\xff"}}', b'{"context": {"country": "\\ud800"}}',
        b"'single'", b"\x00", b'{"context": {} } trailing',
    )
]  # fmt: skip

WRONG_TYPES = [
    post("/v1/decide", body, 422)
    for body in (
        None, [], "text", 1, {}, {"context": None}, {"context": []}, {"context": "x"},
        {"context": {"age": []}}, {"context": {"age": {}}}, {**GOOD, "available": []},
        {**GOOD, "available": "red"}, {**GOOD, "available": [1]}, {**GOOD, "available": [""]},
        {**GOOD, "available": ["red", "red"]}, {**GOOD, "id": ""}, {**GOOD, "id": 7},
        {**GOOD, "id": LONG}, {**GOOD, "id": "a\n"}, {**GOOD, "id": "a\0"},
        {**GOOD, "id": "\u2028"},
        {**GOOD, "deferred": 1}, {**GOOD, "deferred": "yes"}, {**GOOD, "extra": 1},
        {**GOOD, "Available": ["red"]}, {**GOOD, "loop": 5}, {**GOOD, "loop": ""},
        {**GOOD, "actions": []}, {**GOOD, "actions": {"red": 1}}, {**GOOD, "baseline": 3},
    )
]  # fmt: skip

WRONG_VALUES = [
    raw(b'{"context": {"age": 1e999}}', 422),
    post("/v1/decide", {**GOOD, "available": ["purple"]}, 404),
    post("/v1/decide", {**GOOD, "loop": "other"}, 404),
    post("/v1/decide", {"context": {"age": "old"}}, 422),
    post("/v1/decide", {"context": {"member": 0.5}}, 422),
    post("/v1/decide", {"context": {"unknown": 1}}, 422),
    post("/v1/decide", {"context": {"age": 1e300}}, 422),
    post("/v1/decide", {"context": {"member": 10**400}}, 422),
    post("/v1/decide", {"context": {"age": 0.9}, "id": "taken"}, 409),
    post("/v1/decide/batch", {"decisions": []}, 422),
    post("/v1/decide/batch", {"decisions": [GOOD] * 1001}, 422),
    post("/v1/decide/batch", {"decisions": [GOOD, {"context": {"age": "old"}}]}, 422),
    post("/v1/decide/batch", {"decisions": GOOD}, 422),
    post("/v1/reward", {"id": "nobody", "value": 1}, 404),
    post("/v1/reward", {"id": "taken"}, 422),
    post("/v1/reward", {"value": 1}, 422),
    post("/v1/reward", {"id": "taken", "value": "1"}, 422),
    post("/v1/reward", {"id": "taken", "value": None}, 422),
    post("/v1/reward", {"id": "taken", "value": "yes"}, 422),
    post("/v1/reward", {"id": "taken", "value": 7}, 422),
    post("/v1/reward", {"id": "taken", "value": -0.01}, 422),
    post("/v1/reward", {"id": "taken", "value": 1, "key": ""}, 422),
    post("/v1/reward/batch", {"rewards": []}, 422),
    post("/v1/reward/batch", {"rewards": [{"id": "taken"}]}, 422),
    post("/v1/activate", {"id": "nobody"}, 404),
    post("/v1/activate", {}, 422),
    post("/v1/actions", {"name": "red"}, 409),
    post("/v1/actions", {"name": ""}, 422),
    post("/v1/actions", {"name": "new", "columns": {"price": 1}}, 422),
    post("/v1/actions/pause", {"name": "purple"}, 404),
    post("/v1/actions/retire", {"name": "purple"}, 404),
    post("/v1/mode", {"mode": "sleep"}, 422),
    post("/v1/mode", {}, 422),
    post("/v1/erase", {}, 422),
    post("/v1/erase", {"ids": []}, 422),
    post("/v1/erase", {"ids": "taken"}, 422),
    post("/v1/erase", {"ids": ["taken", "nobody"]}, 404),
    post("/v1/erase", {"ids": ["a\0"]}, 422),
    post("/v1/erase", {"column": "age"}, 422),
    post("/v1/erase", {"column": "height", "value": 1}, 404),
    post("/v1/erase", {"ids": ["taken"], "column": "age", "value": 1}, 422),
    post("/v1/models/99/promote", {}, 404),
    post("/v1/models/-1/promote", {}, 422),
    post("/v1/models/x/promote", {}, 422),
]

WRONG_FORM = [
    raw(json.dumps(GOOD).encode(), 415, {}),
    raw(json.dumps(GOOD).encode(), 415, {"Content-Type": "text/plain"}),
    raw(b"context=1", 415, {"Content-Type": "application/x-www-form-urlencoded"}),
    raw(b" " * (2 << 20), 413),
    raw(json.dumps(GOOD).encode(), 422, path="/v1/decide?loop=a&loop=b"),
    raw(json.dumps(GOOD).encode(), 422, path="/v1/decide?x=1"),
    raw(json.dumps(GOOD).encode(), 404, path="/v1/Decide"),
    raw(json.dumps(GOOD).encode(), 404, path="/v1/decide/"),
    raw(json.dumps(GOOD).encode(), 405, path="/v1/status"),
    raw(json.dumps(GOOD).encode(), 403, {**JSON, "Origin": "https://elsewhere.example"}),
    raw(json.dumps(GOOD).encode(), 403, {**JSON, "Origin": "http://["}),
    raw(json.dumps(GOOD).encode(), 403, {**JSON, "Origin": "null"}),
    raw(json.dumps(GOOD).encode(), 403, {**JSON, "Host": "["}),
    raw(json.dumps(GOOD).encode(), 403, {**JSON, "Host": "elsewhere.example"}),
    get("/v1/decide", 405),
    get("/v1/decide", 405, "DELETE"),
    get("/v1/decide", 405, "OPTIONS"),
    get("/v1/decisions/nobody", 404),
    get("/v1/decisions/taken%0A", 422),
    get("/v1/decisions/", 404),
    get("/v1/explain/nobody", 404),
    get("/v1/explain/no%20body%2Fhere", 404),
    get("/v1/decisions?last=0", 422),
    get("/v1/decisions?last=many", 422),
    get("/v1/history?bins=-5", 422),
    get("/v1/log?after=-1", 422),
    get("/v1/status?loop=other", 404),
    get("/nothing", 404),
    get("/", 405, "POST"),
]

BAD = MALFORMED + WRONG_TYPES + WRONG_VALUES + WRONG_FORM


@pytest.fixture(scope="module")
def taken(service: Any) -> Any:
    """The client of a service whose loop has one decision."""
    answer = service.client.post("/v1/decide", json={**GOOD, "id": "taken"})
    assert answer.status_code == 200
    return service


def test_a_hundred_bad_requests_get_a_hundred_refusals_and_change_nothing(taken: Any) -> None:
    assert len(BAD) >= 100
    before = taken.loop.log(), taken.loop.status()["position"]
    wrong = []
    for method, path, body, headers, status in BAD:
        answer = taken.client.request(method, path, content=body, headers=headers)
        where = f"{method} {path} {body[:80]!r} {headers}: {answer.status_code} {answer.text[:200]}"
        if answer.status_code != status:
            wrong.append(f"{where}, not {status}")
            continue
        assert answer.headers["Content-Type"] == "application/json", where
        document = answer.json()
        assert set(document) == {"error"}, where
        assert set(document["error"]) == {"code", "message"}, where
        sentence = document["error"]["message"]
        assert sentence.endswith("."), where
        assert "\n" not in sentence, where
        assert ("Allow" in answer.headers) == (status == 405), where
    assert "\n".join(wrong) == ""
    assert (taken.loop.log(), taken.loop.status()["position"]) == before


def test_a_good_request_is_still_answered(taken: Any) -> None:
    answer = taken.client.post("/v1/decide", json=GOOD)
    assert answer.status_code == 200
    assert sum(answer.json()["pmf"].values()) == pytest.approx(1.0)


def test_a_fault_of_the_store_is_an_unavailable_service(
    start: Callable[..., Any], loop: Any
) -> None:
    from banditsrl.errors import StoreUnavailable

    loop.fault = StoreUnavailable("The store could not be written")
    answer = start(loop).post("/v1/decide", json={"context": {}})
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "1"
    assert answer.json()["error"]["message"] == "The store could not be written."


def test_a_fault_of_the_service_says_nothing_about_its_inside(
    start: Callable[..., Any], loop: Any
) -> None:
    loop.fault = KeyError("password=hunter2")
    answer = start(loop).post("/v1/decide", json={"context": {}})
    assert answer.status_code == 500
    assert "hunter2" not in answer.text


def test_the_refusal_of_an_unknown_field_names_the_known_ones(taken: Any) -> None:
    answer = taken.client.post("/v1/reward", json={"id": "taken", "reward": 1})
    message = answer.json()["error"]["message"]
    assert "unknown field `reward` (known: id, value, key, loop)." in message


def test_the_refusal_of_an_id_is_not_a_pattern(taken: Any) -> None:
    answer = taken.client.post("/v1/reward", json={"id": "a\n", "value": 1})
    message = answer.json()["error"]["message"]
    assert message == "The body does not fit: expected printable characters - at `$.id`."
    answer = taken.client.get("/v1/decisions/a%0Ab")
    message = answer.json()["error"]["message"]
    assert message == "The id in the path does not fit: expected printable characters."
