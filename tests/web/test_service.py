"""Does the service do over HTTP what the loop does in Python?"""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_loop import FakeLoop

from banditsrl.errors import InvalidArgument, StoreUnavailable
from banditsrl.live_store.sqlite_store import SqliteCursor
from banditsrl.web.loops import Loops
from banditsrl.web.server import HttpService

CONTEXT = {"age": 0.5, "member": False, "country": "de"}


def test_a_decision_over_http_is_the_decision_in_the_log(service: Any) -> None:
    answer = service.client.post("/v1/decide", json={"context": CONTEXT}).json()
    decision = service.loop.decision(answer["id"])
    assert answer["action"] == decision.action
    assert answer["probability"] == decision.probability
    assert answer["pmf"] == dict(decision.pmf)
    assert answer["position"] == decision.position
    assert answer["model"] == decision.model
    assert answer["certificate"]["certified"] == decision.certificate.certified
    assert "context" not in answer
    assert dict(decision.context) == CONTEXT


def test_the_same_id_gets_the_same_answer(service: Any) -> None:
    body = {"context": CONTEXT, "id": "same", "available": ["red", "blue"]}
    first = service.client.post("/v1/decide", json=body).json()
    assert set(first["pmf"]) == {"red", "blue"}
    before = read_requests(service.loop)
    assert service.client.post("/v1/decide", json=body).json() == first
    assert read_requests(service.loop) == before


ODD_IDS = ("ann smith 7", "shop/7/a", "a%2Fb", "é ✓", "?x=1#y", "x/reward", "a\"b'c\\d")


@pytest.mark.parametrize("name", ODD_IDS)
def test_every_id_that_python_takes_works_over_http(service: Any, name: str) -> None:
    made = service.loop.decide(CONTEXT, id=name, deferred=True)
    client, quoted = service.client, "".join(f"%{byte:02X}" for byte in name.encode())
    body = {"context": CONTEXT, "id": name, "deferred": True}
    assert client.post("/v1/decide", json=body).json()["position"] == made.position
    for path in ("decisions", "explain"):
        assert client.get(f"/v1/{path}/{quoted}").json()["decision"]["id"] == name
    assert client.post(f"/personalizer/v1.0/events/{quoted}/activate").status_code == 204
    reward = {"id": name, "value": 1, "key": name}
    assert client.post("/v1/reward", json=reward).json()["counted"] is True
    again = client.post(f"/personalizer/v1.0/events/{quoted}/reward", json={"value": 1})
    assert again.status_code == 204
    assert service.loop.outcome(name)["value"] == 1.0
    assert client.post("/v1/erase", json={"ids": [name]}).json()["erased"] == 1


def test_a_reward_counts_once(service: Any) -> None:
    made = service.client.post("/v1/decide", json={"context": CONTEXT}).json()
    first = service.client.post("/v1/reward", json={"id": made["id"], "value": 1})
    assert first.json() == {"id": made["id"], "counted": True, "reason": "The reward counts."}
    second = service.client.post("/v1/reward", json={"id": made["id"], "value": 0})
    assert second.status_code == 200
    assert second.json()["counted"] is False
    assert service.loop.outcome(made["id"])["value"] == 1.0


def test_a_deferred_decision_counts_after_its_activation(service: Any) -> None:
    body = {"context": CONTEXT, "deferred": True, "id": "later"}
    assert service.client.post("/v1/decide", json=body).json()["deferred"] is True
    rounds = service.loop.status()["rounds"]
    service.client.post("/v1/reward", json={"id": "later", "value": 1})
    service.loop.flush()
    assert service.loop.status()["rounds"] == rounds
    assert service.client.post("/v1/activate", json={"id": "later"}).json()["counted"] is True
    service.loop.flush()
    assert service.loop.status()["rounds"] == rounds + 1


def test_a_batch_settles_each_reward_for_itself(service: Any) -> None:
    contexts = [{"context": {"age": k / 5}, "id": f"batch-{k}"} for k in range(5)]
    made = service.client.post("/v1/decide/batch", json={"decisions": contexts}).json()
    assert [each["id"] for each in made["decisions"]] == [f"batch-{k}" for k in range(5)]
    rewards = [
        {"id": "batch-0", "value": 1.0},
        {"id": "nobody", "value": 1.0},
        {"id": "batch-1", "value": 9.0},
        {"id": "batch-2", "value": 0.5},
        {"id": "batch-0", "value": 0.0},
    ]
    answer = service.client.post("/v1/reward/batch", json={"rewards": rewards}).json()["rewards"]
    assert [each["status"] for each in answer] == [200, 404, 422, 200, 200]
    assert [each["counted"] for each in answer] == [True, False, False, True, False]
    assert [each["id"] for each in answer] == [each["id"] for each in rewards]
    assert service.loop.outcome("batch-0")["value"] == 1.0
    assert service.loop.outcome("batch-1")["value"] is None


def test_a_batch_of_decisions_is_refused_as_a_whole(service: Any) -> None:
    before = read_requests(service.loop)
    wanted = [{"context": CONTEXT}, {"context": CONTEXT, "available": ["purple"]}]
    assert service.client.post("/v1/decide/batch", json={"decisions": wanted}).status_code == 404
    assert read_requests(service.loop) == before


def read_requests(loop: Any) -> list[dict[str, Any]]:
    """Return the log without what the learner writes into it by itself."""
    own = ("training", "unchanged", "abandoned", "published", "alarm")
    return [record for record in loop.log() if record["kind"] not in own]


def test_what_is_read_is_what_the_loop_says(service: Any) -> None:
    made = service.loop.decide(CONTEXT)
    service.loop.reward(made.id, 0.25)
    service.loop.flush()
    client = service.client
    detail = client.get(f"/v1/decisions/{made.id}").json()
    assert detail["decision"]["context"] == CONTEXT
    assert detail["outcome"]["value"] == 0.25
    latest = client.get("/v1/decisions", params={"last": 3}).json()["decisions"]
    expected = [each.id for each in service.loop.decisions(last=3)]
    assert [each["decision"]["id"] for each in latest] == expected
    assert client.get("/v1/explain/" + made.id).json()["sentences"]
    assert client.get("/v1/trust").json()["sentence"] == str(service.loop.trust())
    assert client.get("/v1/status").json()["rounds"] == service.loop.status()["rounds"]
    assert client.get("/v1/log", params={"limit": 2}).json()["records"] == service.loop.log(0, 2)
    bins = client.get("/v1/history").json()["bins"]
    assert sum(each["decisions"] for each in bins) == service.loop.trust().counts["decisions"]
    versions = [each["version"] for each in client.get("/v1/models").json()["models"]]
    assert versions == [each["version"] for each in service.loop.models()]


def test_an_administrator_changes_actions_and_the_mode(service: Any) -> None:
    client = service.client
    assert client.post("/v1/actions", json={"name": "white"}).status_code == 200
    assert client.post("/v1/actions/pause", json={"name": "white"}).status_code == 200
    states = {each["name"]: each["state"] for each in client.get("/v1/actions").json()["actions"]}
    assert states["white"] == "paused"
    assert client.post("/v1/actions/resume", json={"name": "white"}).status_code == 200
    only = client.post("/v1/decide", json={"context": CONTEXT, "available": ["white"]}).json()
    assert only["pmf"] == {"white": 1.0}
    assert client.post("/v1/actions/retire", json={"name": "white"}).status_code == 200
    assert client.post("/v1/actions", json={"name": "white"}).status_code == 409
    assert client.post("/v1/mode", json={"mode": "frozen"}).status_code == 200
    assert service.loop.mode == "frozen"
    assert client.post("/v1/mode", json={"mode": "learn"}).status_code == 200
    assert client.post("/v1/models/0/promote").status_code == 200
    assert client.get("/v1/status").json()["pinned"] is True
    assert client.post("/v1/models/resume").status_code == 200
    assert client.get("/v1/status").json()["pinned"] is False


def test_an_administrator_erases_contexts(service: Any) -> None:
    client, loop = service.client, service.loop
    made = [loop.decide({"age": 77.5, "country": "fr"}).id for _ in range(2)]
    other = loop.decide({"age": 33.0}).id
    assert client.post("/v1/erase", json={"ids": made[:1]}).json() == {
        "loop": "offers",
        "done": "Erased contexts: 1.",
        "erased": 1,
    }
    assert client.post("/v1/erase", json={"column": "age", "value": 77.5}).json()["erased"] == 1
    assert [dict(loop.decision(each).context) for each in (*made, other)] == [{}, {}, {"age": 33.0}]
    empty = loop.decide({"age": 33.0, "country": None}).id
    answer = client.post("/v1/erase", json={"column": "country", "value": None}).json()
    assert answer["erased"] >= 1  # a context without the column has no value in it, either
    assert loop.decision(empty).context == {}


def read_metrics(client: Any) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    pairs = [line.rpartition(" ") for line in lines if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in pairs}


def test_metrics_count_what_happens(service: Any) -> None:
    before = read_metrics(service.client)
    made = service.client.post("/v1/decide", json={"context": CONTEXT}).json()
    service.client.post("/v1/decide/batch", json={"decisions": [{"context": CONTEXT}] * 4})
    service.client.post("/v1/reward", json={"id": made["id"], "value": 1})
    service.client.post("/v1/reward", json={"id": "nobody", "value": 1})
    service.client.get("/nothing")
    after = read_metrics(service.client)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0.0)

    assert grown('banditsrl_decisions_total{kind="all",loop="offers"}') == 5
    assert grown('banditsrl_requests_total{operation="decide",status="200"}') == 1
    assert grown('banditsrl_requests_total{operation="reward",status="404"}') == 1
    assert grown('banditsrl_refusals_total{status="404"}') == 2
    assert grown('banditsrl_request_seconds_count{operation="reward"}') == 2
    assert grown('banditsrl_loop_position{loop="offers"}') >= 6  # the learner writes as well
    assert after['banditsrl_loop_model{loop="offers"}'] == service.loop.status()["model"]
    assert after['banditsrl_loop_n_alarms{loop="offers"}'] == 0
    assert after["banditsrl_ready"] == 1


def test_several_loops_are_told_apart_by_name(start: Callable[..., Any]) -> None:
    first, second = FakeLoop("one"), FakeLoop("two")
    client = start(first, second)
    assert client.post("/v1/decide", json={"context": {}, "loop": "two"}).json()["loop"] == "two"
    assert (len(first.records), len(second.records)) == (0, 1)
    unnamed = client.post("/v1/decide", json={"context": {}})
    assert unnamed.status_code == 422
    assert unnamed.json()["error"]["message"] == "loop must be one of one, two, got none."
    names = [each["loop"] for each in client.get("/v1/loops").json()["loops"]]
    assert names == ["one", "two"]
    rank = {"actions": [{"id": "red"}]}
    assert client.post("/personalizer/v1.0/rank?loop=one", json=rank).status_code == 201
    assert len(first.records) == 1


def test_it_is_alive_before_it_is_ready() -> None:
    import httpx

    may_open = threading.Event()

    def open_slowly() -> Any:
        may_open.wait()
        return FakeLoop()

    service = HttpService([open_slowly])
    with httpx.Client(base_url=service.address, trust_env=False, timeout=30) as client:
        running = threading.Thread(target=service._server.run, args=([service._socket],))
        running.start()
        assert client.get("/health").status_code == 200
        early = client.get("/ready")
        assert early.status_code == 503
        assert "0 of 1 loops are ready" in early.json()["error"]["message"]
        refused = client.post("/v1/decide", json={"context": {}})
        assert refused.status_code == 503
        assert refused.headers["Retry-After"] == "2"
        may_open.set()
        service.loops.wait()
        assert client.get("/ready").status_code == 200
        assert client.post("/v1/decide", json={"context": {}}).status_code == 200
        service.stop()
        running.join()


def test_a_loop_that_cannot_be_opened_ends_the_service() -> None:
    def fail() -> Any:
        raise InvalidArgument("columns must name one or more columns, got none")

    with pytest.raises(InvalidArgument, match="every loop must open, got columns must name"):
        HttpService([fail]).run()


def test_two_loops_of_one_name_are_refused() -> None:
    loops = Loops([lambda: FakeLoop("one"), lambda: FakeLoop("one")])
    loops.start()
    loops.wait()
    assert loops.failure == "names of loops must differ, got 'one' twice."
    loops.close()


def test_a_port_that_is_taken_is_refused() -> None:
    first = HttpService([])
    port = int(first.address.rpartition(":")[2])
    with pytest.raises(InvalidArgument, match=f"host and port must be free .*{port}"):
        HttpService([], port=port)
    first._socket.close()


def test_small_answers_are_sent_at_once() -> None:
    """Without this an answer takes 40 ms on an idle machine."""
    service = HttpService([])
    assert service._socket.proto == socket.IPPROTO_TCP
    service._socket.close()


def test_pages_have_a_strict_policy(start: Callable[..., Any], loop: FakeLoop) -> None:
    client = start(loop)
    for path in ("/", "/dashboard.css", "/charts.js", "/dashboard.js"):
        answer = client.get(path)
        assert answer.status_code == 200
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        for word in ("http://", "https://", "style="):
            found = [line for line in answer.text.splitlines() if word in line]
            assert [line for line in found if "http://www.w3.org/2000/svg" not in line] == []


def test_files_of_the_dashboard_are_in_the_package() -> None:
    import banditsrl.web

    folder = Path(banditsrl.web.__file__).parent
    for name in ("dashboard.html", "dashboard.css", "dashboard.js", "charts.js"):
        assert (folder / name).stat().st_size > 1000


def test_it_is_not_ready_while_a_store_is_down(start: Callable[..., Any], loop: FakeLoop) -> None:
    client, known = start(loop), loop.status

    def fail() -> dict[str, Any]:
        raise StoreUnavailable("The store could not be read.")

    assert client.get("/ready").status_code == 200
    loop.status = fail  # type: ignore[method-assign]
    answer = client.get("/ready")
    assert (answer.status_code, client.get("/health").status_code) == (503, 200)
    assert answer.json()["error"]["message"] == (
        "The store of the loop 'offers' does not answer: The store could not be read."
    )
    loop.status = known  # type: ignore[method-assign]
    assert client.get("/ready").status_code == 200


def test_a_flag_is_a_reward_and_a_slip_is_told(service: Any) -> None:
    made = service.client.post("/v1/decide", json={"context": {}}).json()
    body = {"id": made["id"], "value": True}
    assert service.client.post("/v1/reward", json=body).json()["counted"]
    assert service.loop.outcome(made["id"])["value"] == 1.0
    wrong = {"context": {}, "available": ["gren"]}
    answer = service.client.post("/v1/decide", json=wrong)
    assert answer.json()["error"]["message"].endswith("named 'gren'; did you mean 'green'?")
    answer = service.client.post("/v1/decide", json={"context": {}, "loop": "ofers"})
    assert answer.json()["error"]["message"].endswith("got 'ofers'; did you mean 'offers'?")


def test_no_certificate_is_no_warning(service: Any) -> None:
    assert service.client.get("/v1/trust").json()["sentence"] == (
        "No decision has been certified so far."
    )


def test_metrics_do_not_add_up_the_past(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop has a row of counts for each minute and action, and is asked every few seconds."""
    statements: list[str] = []
    real = SqliteCursor.execute

    def execute(self: SqliteCursor, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        statements.append(sql)
        return real(self, sql, parameters)

    monkeypatch.setattr(SqliteCursor, "execute", execute)
    assert read_metrics(service.client)["banditsrl_ready"] == 1
    assert any("FROM loops" in sql for sql in statements)
    assert not any("tallies" in sql and sql.startswith("SELECT") for sql in statements)
