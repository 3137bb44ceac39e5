"""Does the service do what `/openapi.json` says? schemathesis tries what the description allows."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from banditsrl.web.server import HttpService
from banditsrl.web.tokens import SCOPES, make_token

schemathesis = pytest.importorskip("schemathesis", reason="no schemathesis: install the extra test")

# A description knows neither the columns of a loop nor its ids, so that a request which fits it may
# still be refused.
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

EXAMPLES = 10
"""Requests per operation: valid ones, and as many that are wrong in some way."""


@pytest.fixture(scope="module")
def guarded(service: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a service with tokens on the same loop, and a token that may do all."""
    file = tmp_path_factory.mktemp("tokens") / "tokens.json"
    token = make_token(file, SCOPES)
    with HttpService([lambda: service.loop], tokens=file).run_beside() as address:
        yield address, token


@pytest.fixture(scope="module")
def description(service: Any, guarded: tuple[str, str]) -> Any:
    for k in range(3):  # so that some reads find something
        made = service.loop.decide({"age": k / 3}, id=f"known-{k}")
        service.loop.reward(made.id, 0.5)
    return schemathesis.openapi.from_url(f"{guarded[0]}/openapi.json")


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_no_answer_departs_from_the_description(
    description: Any, guarded: tuple[str, str], mode: Any
) -> None:
    headers = {"Authorization": f"Bearer {guarded[1]}"}
    n_operations, departures = 0, []
    for found in description.get_all_operations():
        operation = found.ok()
        n_operations += 1

        @settings(
            max_examples=EXAMPLES,
            derandomize=True,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def try_out(case: Any) -> None:
            case.call_and_validate(
                timeout=30, headers=headers, excluded_checks=[positive_data_acceptance]
            )

        try:
            try_out()
        except Unsatisfiable:  # nothing can be wrong about a request that takes nothing
            assert mode == schemathesis.GenerationMode.NEGATIVE
        except schemathesis.core.failures.FailureGroup as group:
            departures.append(str(group))
    assert "\n".join(departures) == ""
    assert n_operations > 20


def test_the_description_lists_what_the_application_answers(service: Any) -> None:
    document = service.client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        filled = path.replace("{id}", "x").replace("{version}", "1").replace("{eventId}", "x")
        answer = service.client.request("PATCH", filled)
        assert answer.status_code == 405
        allowed = set(answer.headers["Allow"].split(", ")) - {"HEAD"}
        assert allowed == {method.upper() for method in methods}


def test_every_struct_of_a_body_refuses_unknown_fields(service: Any) -> None:
    document = service.client.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for operation in methods.values():
            if "requestBody" in operation and path.startswith("/v1/"):
                content = operation["requestBody"]["content"]["application/json"]
                name = content["schema"]["$ref"].rpartition("/")[2]
                assert schemas[name]["additionalProperties"] is False, name
