"""Do tokens let in whom they should, and nobody else?"""

import hashlib
import logging
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_loop import FakeLoop

from banditsrl.errors import InvalidArgument
from banditsrl.web import tokens
from banditsrl.web.server import HttpService
from banditsrl.web.tokens import make_token, remove_token

DECIDE = ("POST", "/v1/decide", {"context": {"age": 31}})
REWARD = ("POST", "/v1/reward", {"id": "nobody", "value": 1.0})
READ = [
    ("GET", path, None)
    for path in (
        "/v1/loops", "/v1/status", "/v1/decisions", "/v1/decisions/d1", "/v1/explain/d1",
        "/v1/trust", "/v1/models", "/v1/actions", "/v1/history", "/v1/log", "/metrics",
    )
]  # fmt: skip
ADMIN = [
    ("POST", "/v1/actions", {"name": "blue"}),
    ("POST", "/v1/actions/pause", {"name": "red"}),
    ("POST", "/v1/actions/resume", {"name": "red"}),
    ("POST", "/v1/actions/retire", {"name": "red"}),
    ("POST", "/v1/models/0/promote", None),
    ("POST", "/v1/models/resume", None),
    ("POST", "/v1/mode", {"mode": "frozen"}),
    ("POST", "/v1/erase", {"ids": ["nobody"]}),
]
ALL = {"decide": [DECIDE], "reward": [REWARD], "read": READ, "admin": ADMIN}


def send(client: Any, request: tuple[str, str, Any], token: str | None) -> Any:
    method, path, body = request
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return client.request(method, path, json=body, headers=headers)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_the_file_holds_hashes_and_is_private(file: Path) -> None:
    token = make_token(file, ["decide", "reward"])
    text = file.read_text()
    assert token not in text
    assert hashlib.sha256(token.encode()).hexdigest() in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(token) > 40


def test_every_request_needs_its_scope_and_nothing_else(
    start: Callable[..., Any], loop: FakeLoop, file: Path
) -> None:
    made = {scope: make_token(file, [scope]) for scope in ALL}
    client = start(loop, tokens=file)
    for scope, requests in ALL.items():
        for request in requests:
            for other, token in made.items():
                answer = send(client, request, token)
                if other == scope:
                    assert answer.status_code not in (401, 403), (request, other)
                else:
                    assert answer.status_code == 403, (request, other)
                    sentence = f"The token lacks the scope {scope}."
                    assert answer.json()["error"]["message"] == sentence


def test_nothing_is_written_without_a_token(
    start: Callable[..., Any], loop: FakeLoop, file: Path
) -> None:
    make_token(file, ["decide"])
    client = start(loop, tokens=file)
    for requests in ALL.values():
        for request in requests:
            for token in (None, "banditsrl_wrong", "", "é" * 10):
                headers = {"Authorization": f"Bearer {token}".encode()} if token else {}
                method, path, body = request
                answer = client.request(method, path, json=body, headers=headers)
                assert answer.status_code == 401, (request, token)
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert loop.records == []


def test_a_decide_only_token_sees_no_context(
    start: Callable[..., Any], loop: FakeLoop, file: Path
) -> None:
    token = make_token(file, ["decide"])
    client = start(loop, tokens=file)
    body = {"context": {"name": "a secret"}, "id": "one"}
    answer = send(client, ("POST", "/v1/decide", body), token)
    assert answer.status_code == 200
    assert "secret" not in answer.text
    other = {"context": {"name": "guess"}, "id": "one"}
    refused = send(client, ("POST", "/v1/decide", other), token)
    assert refused.status_code == 409
    assert "secret" not in refused.text
    assert send(client, ("GET", "/v1/decisions/one", None), token).status_code == 403


def test_a_key_of_personalizer_is_a_token(
    start: Callable[..., Any], loop: FakeLoop, file: Path
) -> None:
    token = make_token(file, ["decide"])
    client = start(loop, tokens=file, headers={"Ocp-Apim-Subscription-Key": token})
    body = {"actions": [{"id": "red"}]}
    assert client.post("/personalizer/v1.0/rank", json=body).status_code == 201


def test_tokens_are_added_and_removed_without_a_restart(
    start: Callable[..., Any], loop: FakeLoop, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "CHECK_SECONDS", 0.0)
    first = make_token(file, ["decide"], name="first")
    client = start(loop, tokens=file)
    second = make_token(file, ["decide"], name="second")
    assert send(client, DECIDE, second).status_code == 200
    remove_token(file, "first")
    assert send(client, DECIDE, first).status_code == 401
    assert send(client, DECIDE, second).status_code == 200
    file.write_text("{")
    assert send(client, DECIDE, second).status_code == 401


def test_tokens_never_reach_the_log(
    start: Callable[..., Any], loop: FakeLoop, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = make_token(file, ["decide"])
    client = start(loop, tokens=file)
    loop.fault = RuntimeError("a fault of the loop")
    assert send(client, DECIDE, token).status_code == 500
    send(client, REWARD, token)
    send(client, DECIDE, "banditsrl_unknown-token")
    ours = [r for r in caplog.records if not r.name.startswith(("httpx", "httpcore"))]
    text = "\n".join(f"{record.getMessage()} {record.exc_text or ''}" for record in ours)
    assert "A request failed." in text
    assert token not in text
    assert "unknown-token" not in text


def test_without_tokens_only_this_machine_is_served() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "shop.example"):  # noqa: S104
        with pytest.raises(InvalidArgument, match="host must be a loopback address without tokens"):
            HttpService([], host=host)


def test_without_tokens_other_names_and_pages_are_refused(
    start: Callable[..., Any], loop: FakeLoop
) -> None:
    client = start(loop)
    method, path, body = DECIDE
    rebound = client.request(method, path, json=body, headers={"Host": "evil.example"})
    assert rebound.status_code == 403
    foreign = client.request(method, path, json=body, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    own = client.request(
        method, path, json=body, headers={"Origin": str(client.base_url).rstrip("/")}
    )
    assert own.status_code == 200
    assert len(loop.records) == 1


@pytest.mark.parametrize("scopes", [[], ["decide", "write"]])
def test_scopes_must_be_known(file: Path, scopes: list[str]) -> None:
    with pytest.raises(InvalidArgument, match="scopes must be some of decide, reward, read, admin"):
        make_token(file, scopes)
    assert not file.exists()


def test_names_are_unique(file: Path) -> None:
    make_token(file, ["read"], name="shop")
    with pytest.raises(InvalidArgument, match=r"name must be new in tokens.json, got 'shop'"):
        make_token(file, ["read"], name="shop")
    with pytest.raises(InvalidArgument, match="name must be one of shop, got 'other'"):
        remove_token(file, "other")


@pytest.mark.parametrize("content", ["", "[]", '{"tokens": [{"name": 1}]}'])
def test_a_damaged_file_is_refused(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(InvalidArgument, match="tokens must be a readable file of tokens"):
        HttpService([], tokens=file)


def test_a_missing_file_is_refused(file: Path) -> None:
    with pytest.raises(InvalidArgument, match="tokens must be an existing file"):
        HttpService([], tokens=file)
